package agent

import (
	"hash/maphash"
	"strings"

	"gatewaytui/core/model"
)

const (
	// repeatsFrom is how many equal calls of a tool in one turn are reported.
	repeatsFrom = 10
	// maxRepeats bounds how many different calls of a turn are counted.
	maxRepeats = 1000
)

// repeat is a call of a tool that a turn has made, how many times, and what the tool said of its work first: "terminal: ls".
type repeat struct {
	times int
	what  string
}

var repeatSeed = maphash.MakeSeed()

// again counts a call that is about to be made, and reports it if the turn has made it too many times.
func (r *run) again(c model.ToolCall) *repeat {
	key := maphash.String(repeatSeed, c.Name+"\x00"+c.Arguments)
	seen := r.repeats[key]
	if seen == nil {
		seen = &repeat{what: c.Name}
		if r.repeats == nil {
			r.repeats = map[uint64]*repeat{}
		}
		if len(r.repeats) < maxRepeats {
			r.repeats[key] = seen
		}
	}
	if seen.times++; seen.times >= repeatsFrom && r.turn.Repeats != nil && r.ctx.Err() == nil {
		r.turn.Repeats(seen.what, seen.times)
	}
	return seen
}

// names passes progress on, and remembers the first text that says more than the tool's name.
func (s *repeat) names(progress func(string)) func(string) {
	return func(doing string) {
		if len(doing) > len(s.what) && strings.HasPrefix(doing, s.what+":") {
			s.what = doing
		}
		progress(doing)
	}
}
