package control

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"gatewaytui/core/ops"
)

// decodeEvent decodes the data of one event, as encoding/json does. A console reads some thousand events a second, and
// the gateway writes their fields in one order and most of them with nothing escaped: plainEvent takes such a line apart
// in a tenth of the time. Every other line is left to encoding/json.
func decodeEvent(line string) (ops.Event, error) {
	if ev, ok := plainEvent(line); ok {
		return ev, nil
	}
	var ev ops.Event
	if err := json.Unmarshal([]byte(line), &ev); err != nil {
		return ops.Event{}, fmt.Errorf("decode an event: %w", err)
	}
	return ev, nil
}

// plainEvent reports false for a line that it cannot read; that says nothing about whether the line is valid.
func plainEvent(line string) (ops.Event, bool) {
	if !utf8.ValidString(line) { // encoding/json replaces what is not valid
		return ops.Event{}, false
	}
	var ev ops.Event
	p := compact{rest: line}
	p.literal(`{"seq":`)
	ev.Seq = p.number()
	p.literal(`,"at":`)
	at := p.rest
	p.text()
	at = at[:len(at)-len(p.rest)]
	p.literal(`,"type":`)
	ev.Type = ops.EventType(p.text())
	p.literal(`,"subject":`)
	ev.Subject = p.text()
	p.literal(`,"text":`)
	ev.Text = p.text()
	if data, has := strings.CutPrefix(p.rest, `,"data":`); has && p.next(`,"data":{`) {
		p.members()
		ev.Data = ops.Raw(data[:len(data)-len(p.rest)])
	}
	p.literal(`}`)
	if p.failed || p.rest != "" || ev.At.UnmarshalJSON([]byte(at)) != nil {
		return ops.Event{}, false
	}
	return ev, true
}

// compact reads compact JSON from the front of rest. After something that it does not know it has failed and reads nothing.
type compact struct {
	rest   string
	failed bool
}

// next passes over s if rest begins with it.
func (p *compact) next(s string) bool {
	rest, ok := strings.CutPrefix(p.rest, s)
	if ok = ok && !p.failed; ok {
		p.rest = rest
	}
	return ok
}

func (p *compact) literal(s string) { p.failed = !p.next(s) }

// text reads a string with nothing escaped in it.
func (p *compact) text() string {
	if p.literal(`"`); p.failed {
		return ""
	}
	for i := range len(p.rest) {
		switch c := p.rest[i]; {
		case c == '"':
			s := p.rest[:i]
			p.rest = p.rest[i+1:]
			return s
		case c == '\\' || c < ' ':
			p.failed = true
			return ""
		}
	}
	p.failed = true
	return ""
}

// number reads a whole number of at most 15 digits, which a float64 holds exactly.
func (p *compact) number() uint64 {
	n := 0
	for n < len(p.rest) && '0' <= p.rest[n] && p.rest[n] <= '9' {
		n++
	}
	if p.failed || n == 0 || n > 15 || n > 1 && p.rest[0] == '0' {
		p.failed = true
		return 0
	}
	v, err := strconv.ParseUint(p.rest[:n], 10, 64)
	p.failed = err != nil
	p.rest = p.rest[n:]
	return v
}

// members reads an object without objects or arrays in it; its first brace is read already.
func (p *compact) members() {
	if p.next(`}`) {
		return
	}
	for !p.failed {
		p.text()
		p.literal(`:`)
		switch {
		case p.rest != "" && p.rest[0] == '"':
			p.text()
		case p.next("true"), p.next("false"):
		default:
			p.number()
		}
		if !p.next(`,`) {
			p.literal(`}`)
			return
		}
	}
}
