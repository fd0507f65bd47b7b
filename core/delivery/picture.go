package delivery

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

// Progress is how much a chat sees of a turn that takes long.
type Progress string

// The values of Progress: nothing, the running step, and the steps before it too.
const (
	ProgressOff   Progress = "off"
	ProgressShort Progress = "short"
	progressFull  Progress = "full"
)

// Manner is how a chat is treated: what it sees of a running turn, what becomes of its messages meanwhile, and the rules of a group.
type Manner struct {
	Progress Progress
	// Stream shows the answer as it is written, in a message that becomes the answer. Draft shows it, and the progress, in a draft of
	// a chat that has drafts, and else nothing.
	Stream, Draft bool
	// Busy is what becomes of a message while a turn runs; empty: the turn reads it in a direct message, and it waits elsewhere.
	Busy session.Busy
	// Join is how long a long message waits for more of it; 0: not at all.
	Join time.Duration
	// Sign begins a chat command as people write it there; empty: a slash.
	Sign string
	// Rules are those of a group.
	Rules
}

const (
	// progressAfter is how long a turn runs before its progress is shown.
	progressAfter = 10 * time.Second
	// draftAfter is how long the answer is written before its draft is shown: most answers are whole by then.
	draftAfter = 1500 * time.Millisecond
	// leastGap is the least time between two changes of a message.
	leastGap = 1500 * time.Millisecond
	// stepGap is the time between a change and the next one that only tells of a new step; clockGap is the least time between
	// two that only tell the time. The latter grows with the turn.
	stepGap  = 5 * time.Second
	clockGap = 15 * time.Second
	// stepsShown is how many of the last steps are shown in full.
	stepsShown = 8
	// usualMost is the longest draft in UTF-16 units where the platform's bound is not known.
	usualMost = 2000
)

// picture is what a chat should see of one turn, as far as it depends on the turn and the time alone: the state machine
// behind drafts and progress. It has no lock and does no I/O.
type picture struct {
	manner Manner
	most   int           // the longest message in UTF-16 units
	gap    time.Duration // the least time between two changes
	renew  time.Duration // after how long what is shown is shown again; 0: it stays

	began time.Time
	doing string
	since time.Time // when doing began
	past  []string  // the steps before doing, last ones last
	text  strings.Builder
	// first is when the first text came; fresh means that the next text begins a new one, because a step came between.
	first time.Time
	fresh bool

	shown   string // what the chat sees; empty: no message yet
	told    string // the step in it
	changed time.Time
	dirty   bool // there is text that the chat does not see
	over    bool // nothing is shown any more
}

// step notes what the turn does.
func (p *picture) step(now time.Time, doing string) {
	if doing == p.doing {
		return
	}
	if tool(p.doing) && !strings.HasSuffix(p.doing, ": ended") {
		p.past = append(p.past, fmt.Sprintf("%s (%s)", ops.StepWords(p.doing), ops.Clock(now.Sub(p.since))))
		p.past = p.past[max(len(p.past)-stepsShown, 0):]
	}
	p.doing, p.since = doing, now
	p.fresh = p.fresh || tool(doing)
}

// tool reports whether a step is one of a tool.
func tool(doing string) bool {
	return doing != "" && doing != ops.DoingModelCall && doing != ops.DoingModelAnswer && doing != ops.DoingModelSlot
}

// wrote adds text of the answer.
func (p *picture) wrote(now time.Time, text string) {
	if !p.manner.Stream || text == "" {
		return
	}
	if p.fresh {
		p.text.Reset()
		p.fresh = false
	}
	if p.first.IsZero() {
		p.first = now
	}
	p.text.WriteString(text)
	p.dirty = true
}

// becomes reports whether the message that is shown becomes the answer.
func (p *picture) becomes() bool { return p.manner.Stream }

// due is when the chat should see something new; the zero time: not before something changes.
func (p *picture) due() (at time.Time) {
	renewed := p.renew > 0 && p.shown != ""
	switch {
	case p.over:
		return time.Time{}
	case p.dirty:
		at = p.first.Add(draftAfter)
	case p.manner.Progress == ProgressOff && !renewed:
		return time.Time{}
	case p.manner.Progress == ProgressOff:
		at = p.changed.Add(p.renew)
	case p.shown == "":
		at = p.began.Add(progressAfter)
	case p.told != p.doing:
		at = p.changed.Add(stepGap)
	default:
		at = p.changed.Add(max(clockGap, p.changed.Sub(p.began)/8))
	}
	if again := p.changed.Add(p.renew); renewed && again.Before(at) {
		at = again
	}
	if first := p.began.Add(progressAfter); !p.dirty && at.Before(first) {
		at = first
	}
	if next := p.changed.Add(p.gap); p.shown != "" && at.Before(next) {
		at = next
	}
	return at
}

// next is what the chat should see at now; empty: nothing new.
func (p *picture) next(now time.Time) string {
	if at := p.due(); at.IsZero() || now.Before(at) {
		return ""
	}
	return p.draw(now)
}

// drawn notes that the chat sees text since now, or that it never will, which is a change like any other.
func (p *picture) drawn(now time.Time, text string) {
	p.shown, p.changed, p.told = text, now, p.doing
	p.dirty = false
}

// draw is the message at now.
func (p *picture) draw(now time.Time) string {
	if p.text.Len() == 0 {
		return p.line(now)
	}
	if !tool(p.doing) || p.manner.Progress == ProgressOff {
		return tail(p.text.String(), p.most-len(" …")) + " …"
	}
	line := p.line(now)
	return tail(p.text.String(), p.most-len(line)-len("\n\n")) + "\n\n" + line
}

// line is the progress.
func (p *picture) line(now time.Time) string {
	words := ops.StepWords(p.doing)
	line := fmt.Sprintf("%s%s (%s)", strings.ToUpper(words[:1]), words[1:], ops.Clock(now.Sub(p.since)))
	if p.manner.Progress == ProgressShort {
		return line
	}
	all := fmt.Sprintf("%s\n%s in all", line, ops.Clock(now.Sub(p.began)))
	for i := len(p.past) - 1; i >= 0 && len(all)+len(p.past[i]) < p.most/2; i-- {
		all = p.past[i] + "\n" + all
	}
	return all
}

// tail is the end of s in at most most UTF-16 units.
func tail(s string, most int) string {
	const cut = "… "
	if len(s) <= most { // a byte is at most one unit
		return s
	}
	runes := []rune(s)
	units := len([]rune(cut))
	for i := len(runes) - 1; i >= 0; i-- {
		if units += max(utf16.RuneLen(runes[i]), 1); units > most {
			return cut + string(runes[i+1:])
		}
	}
	return s
}
