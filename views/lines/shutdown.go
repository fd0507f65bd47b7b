package lines

import (
	"cmp"
	"fmt"

	"gatewaytui/core/follow"
	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Blocker is what is waited for: how long, for how long yet, and what happens then.
func Blocker(s ops.Shutdown, b ops.Item) string {
	pace := ""
	if phase, _ := s.Running(); s.Wait(phase, b).Pace() == ops.PaceStuck {
		pace = "stuck, "
	}
	line := fmt.Sprintf("%s %s, %s%s of %s: %s", b.Kind, b.ID, pace, text.Millis(b.ElapsedMS), text.Millis(b.BudgetMS), cmp.Or(b.Detail, "no status reported"))
	if b.Next != "" {
		line += fmt.Sprintf("; %s in %s", b.Next, text.Millis(b.NextInMS))
	}
	return line
}

// Phase is a phase that began or ended.
func Phase(ph ops.Phase) string {
	if ph.State == ops.StepRunning {
		return fmt.Sprintf("%-11s running, at most %s", ph.Name, text.Millis(ph.BudgetMS))
	}
	return fmt.Sprintf("%-11s %s", ph.Name, stepEnd(ph.State, ph.ElapsedMS, ph.BudgetMS, ph.Detail))
}

// Item is an item that began or ended.
func Item(phase string, it ops.Item) string {
	name := fmt.Sprintf("%-11s %s %s ", phase, it.Kind, it.ID)
	if !it.State.Over() {
		return name + text.Words(it.State)
	}
	return name + stepEnd(it.State, it.ElapsedMS, it.BudgetMS, it.Detail)
}

func stepEnd(state ops.StepState, elapsed, budget int64, detail string) string {
	line := text.Words(state)
	if state != ops.StepSkipped || elapsed > 0 {
		line += fmt.Sprintf(" after %s of %s", text.Millis(elapsed), text.Millis(budget))
	}
	if detail != "" {
		line += ": " + detail
	}
	return line
}

// ShutdownEvent is an event of a shutdown for people; ok is false for any other, and for one of a form that is not known.
func ShutdownEvent(ev ops.Event) (line string, ok bool) {
	switch ev.Type {
	case ops.EventShutdownPhase:
		if change, ok := ops.PayloadOf[ops.PhaseChange](ev); ok && change.Phase.Name != "" {
			return Phase(change.Phase), true
		}
	case ops.EventShutdownItem:
		if change, ok := ops.PayloadOf[ops.ItemChange](ev); ok && change.Item.Kind != "" {
			return Item(ev.Subject, change.Item), true
		}
	}
	return "", false
}

// Stopped says how a stop ended: "clean after 3.1s, exit code 0", and of one that became stronger how.
func Stopped(s ops.Shutdown, exit int) string {
	text := fmt.Sprintf("%s after %s, exit code %d", text.Words(s.Outcome), text.Millis(s.ElapsedMS), exit)
	if len(s.Escalations) > 0 {
		text += "; " + s.ModeText()
	}
	return text
}

// EndedBadly reports whether an item has ended, and not as it should.
func EndedBadly(it ops.Item) bool { return it.State.Over() && it.State != ops.StepDone }

// Waits prints what a running stop waits for.
func (p Printer) Waits(w follow.Waits) {
	for _, b := range w.Items {
		p.Say("%-11s waits for %s", w.Phase, Blocker(w.Shutdown, b))
	}
	if w.More > 0 {
		p.Say("%-11s and for %d more", w.Phase, w.More)
	}
}
