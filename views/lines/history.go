package lines

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/lessons"
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// ended marks the last sign of a life that was killed, which is not its end.
func ended(l ops.Life) string {
	at, known := l.End()
	if known || at.IsZero() {
		return text.Moment(at.Time)
	}
	return "~" + text.Moment(at.Time)
}

// lasted is how long a life has lasted; that of one whose clock was set back meanwhile is unknown.
func lasted(l ops.Life) string {
	at, _ := l.End()
	if l.Outcome == ops.OutcomeRunning {
		at = ops.At(time.Now())
	}
	switch {
	case at.IsZero():
		return ""
	case at.Before(l.StartedAt.Time):
		return "unknown"
	}
	return text.Duration(at.Sub(l.StartedAt.Time))
}

// stopSummary is the stop of a life in a few words: how far it came in which time, and how strong it was.
func stopSummary(l ops.Life) string {
	s := l.Shutdown
	if s == nil {
		return ""
	}
	reached := 0
	for i, ph := range s.Phases {
		if ph.State != ops.StepPending {
			reached = i + 1
		}
	}
	text := fmt.Sprintf("%s, %d of %d phases in %s", s.ModeText(), reached, len(s.Phases), text.Millis(s.ElapsedMS))
	if s.Outcome == ops.ShutdownIncomplete || s.Outcome == ops.ShutdownForced {
		text += ", " + s.Outcome
	}
	return text
}

// Overran is what ops.Life.Overran names, with its figures.
func Overran(l ops.Life) string {
	const most = 3 // --shutdowns has all of them
	var list []string
	for _, ph := range l.Overran() {
		var items []string
		for i, it := range ph.Items {
			if i == most {
				items = append(items, fmt.Sprintf("%d more", len(ph.Items)-i))
				break
			}
			items = append(items, it.Kind+" "+it.ID+" "+text.Millis(it.ElapsedMS))
		}
		text := fmt.Sprintf("%s %s of %s", ph.Name, text.Millis(ph.ElapsedMS), text.Millis(ph.BudgetMS))
		if ph.State == ops.StepFailed {
			text += " failed"
		}
		if len(items) > 0 {
			text += " (" + strings.Join(items, ", ") + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// Shutdowns prints lives with their shutdowns.
func (p Printer) Shutdowns(all []ops.Life) {
	for i, l := range all {
		if i > 0 {
			p.Say("")
		}
		p.Life(l, lessons.Before(l.Life, all)...)
	}
}

// Life prints a life and its shutdown, as far as one was recorded, with what it teaches. earlier are the reports of the stops
// before it, newest first.
func (p Printer) Life(l ops.Life, earlier ...ops.Shutdown) {
	how := text.Words(l.Outcome)
	if l.Phase != "" {
		how += " in " + l.Phase
	}
	till := "to " + text.Moment(l.EndedAt.Time)
	switch at, known := l.End(); {
	case known:
	case l.Outcome == ops.OutcomeRunning:
		till = "to now"
	case at.IsZero():
		till = "to an unknown end"
	default:
		till = "last seen " + text.Moment(at.Time)
	}
	p.Say("life        %s, %s, from %s %s, pid %d", l.Life, how, text.Moment(l.StartedAt.Time), till, l.PID)
	switch {
	case l.Shutdown != nil:
		p.Shutdown(lastReport(l))
		if l.Outcome != ops.OutcomeRunning {
			p.Lessons(*l.Shutdown, earlier...)
		}
	case l.Outcome == ops.OutcomeRunning:
		p.Say("shutdown    none yet")
	default:
		p.Say("shutdown    no report: it never began one, or was ended before the first phase")
	}
}

// lastReport is the report of a life's stop. One that still ran when the life was killed runs no more: it was cut short, and
// nothing comes next.
func lastReport(l ops.Life) ops.Shutdown {
	s := *l.Shutdown
	if s.Outcome != ops.ShutdownRunning || l.Outcome == ops.OutcomeRunning {
		return s
	}
	s.Outcome = string(ops.OutcomeCutShort)
	s.Phases = slices.Clone(s.Phases)
	for i := range s.Phases {
		items := slices.Clone(s.Phases[i].Items)
		for j := range items {
			items[j].Next = ""
		}
		s.Phases[i].Items = items
	}
	return s
}
