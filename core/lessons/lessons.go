// Package lessons reads the report of a stop that is over: where its time went, what to change in the config and what that
// would have saved, and what it left behind. It is pure: reports in, sentences out. The console, the verbs and the last
// lines after an exit show the same sentences.
//
// What it promises: an advice names a key of the config, and the saving is what the executor of core/shutdown takes less
// when the same stop runs with that value (OP9). An advice that can cost work or a delivery says so.
package lessons

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/text"
)

// Earlier is how many stops, with the one that is read, the counts of an advice cover.
const Earlier = 5

// Lessons are what one stop teaches.
type Lessons struct {
	// Spent is where the time went, the longest phase first; phases that took less than worthNaming are summed in Rest.
	Spent []Spent
	Rest  time.Duration
	// Advice is what would have made this stop shorter, the greatest saving first.
	Advice []Advice
	// Note says why there is no advice, or what the advice does not change; it may be empty.
	Note string
	// Left is what the stop left behind, in words.
	Left string
}

// Spent is the time of one phase.
type Spent struct {
	Phase string
	Took  time.Duration
	// Why names the items that took it, and what they waited for.
	Why string
}

// String is s as one part of a line: "adapters 5.0s (feishu: websocket close sent, no answer)".
func (s Spent) String() string {
	line := s.Phase + " " + tenths(s.Took)
	if s.Why != "" {
		line += " (" + s.Why + ")"
	}
	return line
}

// Advice is one value of the config that would have made the stop shorter, or kept it from being killed.
type Advice struct {
	Key, Value string
	// Saves is how much shorter the stop would have been, and Ends how long it would have taken; 0: nothing is promised.
	Saves, Ends time.Duration
	// Why is what was seen, and Cost what the change may lose.
	Why, Cost string
}

// Setting is the line of the config: `shutdown.adapter_timeout = "2s"`.
func (a Advice) Setting() string { return a.Key + " = " + strconv.Quote(a.Value) }

// String is the advice in one sentence.
func (a Advice) String() string {
	line := a.Promise()
	if a.Why != "" {
		line += "; " + a.Why
	}
	if a.Cost != "" {
		line += "; but " + a.Cost
	}
	return line
}

// Promise is the setting with what it saves.
func (a Advice) Promise() string {
	if a.Saves <= 0 {
		return a.Setting()
	}
	return a.Setting() + " would have ended this stop in " + tenths(a.Ends) + " instead of " + tenths(a.Ends+a.Saves)
}

// worthNaming is the least time of a phase that is named, and of a saving that is advised.
const worthNaming = 100 * time.Millisecond

// Of reads the report of a stop that is over. earlier are the reports of the stops before it, newest first; of these only the
// first ones count (Earlier).
func Of(r ops.Shutdown, earlier ...ops.Shutdown) Lessons {
	stops := append([]ops.Shutdown{r}, earlier[:min(len(earlier), Earlier-1)]...)
	l := Lessons{Left: left(r)}
	l.Spent, l.Rest = spent(r)
	m := modelOf(r)
	for _, rule := range rules {
		if a, ok := rule(m, stops); ok {
			l.Advice = append(l.Advice, a)
		}
	}
	slices.SortStableFunc(l.Advice, func(a, b Advice) int { return cmp.Compare(b.Saves, a.Saves) })
	l.Note = note(m, l)
	return l
}

// Before are the reports of the stops before that of a life, as many as Of counts. lives are newest first; one that is not
// among them is newer than all.
func Before(life string, lives []ops.Life) (out []ops.Shutdown) {
	at := slices.IndexFunc(lives, func(l ops.Life) bool { return l.Life == life })
	for _, l := range lives[at+1:] {
		if l.Shutdown != nil && len(out) < Earlier-1 {
			out = append(out, *l.Shutdown)
		}
	}
	return out
}

// Went is Spent in one line, of which it names at most the first ones.
func (l Lessons) Went(most int) string {
	var parts []string
	rest := l.Rest
	for i, s := range l.Spent {
		if i < most {
			parts = append(parts, s.String())
		} else {
			rest += s.Took
		}
	}
	switch {
	case len(parts) == 0:
		return tenths(rest) + " in all, and no phase over " + tenths(worthNaming)
	case rest > 0:
		parts = append(parts, "rest "+tenths(rest))
	}
	return strings.Join(parts, ", ")
}

// spent is the time of each phase, the longest first, and the sum of those that are not worth a name.
func spent(r ops.Shutdown) (list []Spent, rest time.Duration) {
	for _, p := range r.Phases {
		took := ops.Span(p.ElapsedMS)
		if took < worthNaming {
			rest += took
			continue
		}
		list = append(list, Spent{Phase: p.Name, Took: took, Why: why(p)})
	}
	slices.SortStableFunc(list, func(a, b Spent) int { return cmp.Compare(b.Took, a.Took) })
	return list, rest
}

// mostNamed is how many items a sentence names.
const mostNamed = 3

// why names the items that p waited for, with their last word: those that did not end in time, else the slowest.
func why(p ops.Phase) string {
	late := overdue(p)
	if len(late) == 0 {
		slow, found := slowest(p)
		if !found || p.Detail != "" {
			return p.Detail
		}
		return itemName(slow) + " took it"
	}
	var parts []string
	for _, it := range late[:min(len(late), mostNamed)] {
		parts = append(parts, itemName(it)+lastWord(it))
	}
	if more := len(late) - len(parts); more > 0 {
		parts = append(parts, "and "+strconv.Itoa(more)+" more")
	}
	return strings.Join(parts, ", ")
}

// itemName is an item by its id, with its kind where the id alone says little.
func itemName(it ops.Item) string {
	switch it.Kind {
	case "turn", "agent", "task", "notice":
		return it.Kind + " " + it.ID
	}
	return it.ID
}

// lastWord is what an item waited for when its time was over: ": websocket close sent, no answer".
func lastWord(it ops.Item) string {
	_, last, found := strings.Cut(it.Detail, "; last: ")
	switch {
	case found:
		return ": " + last
	case strings.HasPrefix(it.Detail, "did not return within"):
		return ": did not return"
	case it.Detail != "":
		return ": " + it.Detail
	}
	return ""
}

func overdue(p ops.Phase) (late []ops.Item) {
	for _, it := range p.Items {
		if it.State == ops.StepTimedOut || it.State == ops.StepRunning {
			late = append(late, it)
		}
	}
	return late
}

// slowest is the item of p that took longest. It is the kill where an agent only waited for it.
func slowest(p ops.Phase) (slow ops.Item, found bool) {
	kill := killTook(p)
	for _, it := range p.Items {
		if !waited(it, kill) && (!found || it.ElapsedMS > slow.ElapsedMS) {
			slow, found = it, true
		}
	}
	return slow, found
}

// left is what a stop left behind, in words. What its report does not count is unknown.
func left(r ops.Shutdown) string {
	b := r.LeftBehind
	if b == nil {
		return "not counted: the stop ended before its last count"
	}
	words := text.Count(b.Processes, "process") + ", " + text.Count(b.Turns, "interrupted turn") + ", " + text.Count(b.Replies, "unsent reply")
	switch {
	case *b == ops.LeftBehind{}:
		return "nothing: " + words
	case b.Turns+b.Replies > 0:
		return words + "; the next life goes on with the turns and sends the replies"
	}
	return words
}

// tenths is a duration to a tenth of a second.
func tenths(d time.Duration) string {
	return strconv.FormatFloat(max(d, 0).Seconds(), 'f', 1, 64) + "s"
}

// gaveUp names what the stop did not wait for any longer.
func gaveUp(r ops.Shutdown) (out []string) {
	for _, p := range r.Phases {
		for _, it := range overdue(p) {
			out = append(out, itemName(it))
		}
	}
	return out
}

// phaseOf is the phase of r called name.
func phaseOf(r ops.Shutdown, name string) (ops.Phase, bool) {
	for _, p := range r.Phases {
		if p.Name == name {
			return p, true
		}
	}
	return ops.Phase{}, false
}

// note says why nothing is advised, or what an advice leaves as it is.
func note(m model, l Lessons) string {
	drain, _ := phaseOf(m.report, shutdown.PhaseDrain)
	switch {
	case m.full && slices.ContainsFunc(m.report.Phases, func(p ops.Phase) bool { return len(overdue(p)) > 0 }):
		return "the plan was shortened to the service manager's limit of " + tenths(m.limit) + ": a shorter phase gives its time to the others"
	case len(l.Advice) > 0:
		return ""
	case len(gaveUp(m.report)) > 0:
		return "nothing: " + text.Some(gaveUp(m.report), mostNamed) + " did not end, and what the stop gives it is as short as is advised"
	case len(drain.Items) > 0 && len(overdue(drain)) == 0 && ops.Span(drain.ElapsedMS) >= time.Second:
		return "nothing: the drain waited for turns that ended, and a shorter one would have interrupted them"
	}
	if at := slices.MaxFunc(append(l.Spent, Spent{}), func(a, b Spent) int { return cmp.Compare(a.Took, b.Took) }); at.Took >= time.Second/2 {
		switch at.Phase {
		case shutdown.PhaseMark, shutdown.PhaseStores:
			return "no key: the phase " + at.Phase + " waited for the disk of the home; a faster disk is what helps"
		}
		return "nothing: what the stop waited for ended by itself"
	}
	return "nothing: no phase took long"
}
