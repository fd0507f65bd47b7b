package lines

import (
	"gatewaytui/core/lessons"
	"gatewaytui/core/ops"
)

// Lessons prints what a stop that is over teaches: where its time went, what would help, and what it left behind. earlier are
// the reports of the stops before it, newest first.
func (p Printer) Lessons(s ops.Shutdown, earlier ...ops.Shutdown) {
	l := lessons.Of(s, earlier...)
	p.Say("time went   %s", l.Went(MaxShown))
	label := "would help"
	for _, a := range l.Advice {
		p.Say("%-11s %s", label, a.String())
		label = ""
	}
	if l.Note != "" {
		p.Say("%-11s %s", label, l.Note)
	}
	p.Say("left behind %s", l.Left)
}
