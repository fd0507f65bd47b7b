package shutdown

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// Event is one transition of a stop, for the log and the gateway's events.
type Event struct {
	At time.Time
	// Type is ops.EventShutdownPhase, ops.EventShutdownItem or ops.EventShutdownEnded.
	Type ops.EventType
	// Phase is the phase's row without its items, and for ops.EventShutdownPhase with their counts; empty when the stop has ended.
	Phase ops.Phase
	// Item is the item's row, for ops.EventShutdownItem.
	Item ops.Item
	// Blockers name ("kind:id") what a phase that begins waits for, and what a phase that ends left unfinished: at most
	// maxBlockers, and the last one then says how many more.
	Blockers []string

	saved <-chan struct{} // the save to wait for, at most saveWait, before the event is sent; nil: none
	fault string          // why the report could not be saved, for the log alone
	stack []byte          // of a panic, for the log alone
}

// announcer sends events, in order, to the log and to Options.Observe.
type announcer struct {
	helper
	o     Options
	saves *saver

	mu    sync.Mutex // guards queue; may be taken while Run.mu is held, never the other way round
	queue []Event    // bounded by the transitions of the plan
}

func newAnnouncer(o Options, saves *saver) *announcer {
	a := &announcer{helper: newHelper(), o: o, saves: saves}
	go a.run()
	return a
}

func (a *announcer) add(e Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(a.queue, e)
	nudge(a.kick)
}

// run sends the events, and those that are left when the helper ends.
func (a *announcer) run() {
	defer close(a.gone)
	for quit := false; !quit; {
		select {
		case <-a.kick:
		case <-a.quit:
			quit = true
		}
		a.mu.Lock()
		queue := a.queue
		a.queue = nil
		a.mu.Unlock()
		for _, e := range queue {
			a.send(e)
		}
	}
}

// send sends one event. A panic of the log does not keep it from the observer.
func (a *announcer) send(e Event) {
	if e.saved != nil {
		a.saves.wait(e.saved, saveWait)
	}
	attempt(func() { a.log(e) })
	if a.o.Observe == nil || e.fault != "" {
		return
	}
	if f := attempt(func() { a.o.Observe(e) }); f.bad {
		attempt(func() { a.o.Log.Error(ops.LogShutdownObserve, "error", f.text, "stack", string(f.stack)) })
	}
}

// log writes the lines of CONTRACT.md, 8, and one for each item with a problem.
func (a *announcer) log(e Event) {
	level := slog.LevelInfo
	args := []any{"phase", e.Phase.Name}
	switch {
	case e.Type == ops.EventShutdownPhase:
		if e.Phase.State == ops.StepTimedOut || e.Phase.State == ops.StepFailed {
			level = slog.LevelWarn
		}
		args = append(args, "state", e.Phase.State, "elapsed_ms", e.Phase.ElapsedMS, "budget_ms", e.Phase.BudgetMS, "blockers", e.Blockers)
		if e.Phase.Detail != "" {
			args = append(args, "detail", e.Phase.Detail)
		}
	case e.Type == ops.EventShutdownItem && e.Item.State != ops.StepDone:
		level = slog.LevelWarn
		args = append(args, "kind", clean(e.Item.Kind), "id", clean(e.Item.ID), "state", e.Item.State,
			"elapsed_ms", e.Item.ElapsedMS, "budget_ms", e.Item.BudgetMS, "detail", e.Item.Detail)
	case e.Type == ops.EventWarning:
		a.o.Log.Warn(ops.LogShutdownSave, "error", e.fault)
		return
	default:
		return
	}
	if e.stack != nil {
		level = slog.LevelError
		args = append(args, "stack", string(e.stack))
	}
	a.o.Log.Log(context.Background(), level, string(e.Type), args...)
}
