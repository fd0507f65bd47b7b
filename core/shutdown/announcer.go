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

	save  uint64 // the save to wait for, at most saveWait, before the event is sent; 0: none
	fault string // why the report could not be saved, for the log alone
	stack []byte // of a panic, for the log alone
}

// announcer sends events, in order, to the log and to Options.Observe.
type announcer struct {
	o          Options
	saves      *saver
	kick       chan struct{} // holds one token
	quit, gone chan struct{}

	mu    sync.Mutex // guards queue; may be taken while Run.mu is held, never the other way round
	queue []Event    // bounded by the transitions of the plan
}

func newAnnouncer(o Options, saves *saver) *announcer {
	a := &announcer{o: o, saves: saves, kick: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{})}
	go a.run()
	return a
}

func (a *announcer) add(e Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(a.queue, e)
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

func (a *announcer) run() {
	defer close(a.gone)
	for {
		quit := false
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
			a.tell(e)
		}
		if quit {
			return
		}
	}
}

// tell sends one event. A panic of the log does not keep it from the observer.
func (a *announcer) tell(e Event) {
	ignore := func(failure) {}
	if e.save > 0 {
		a.saves.wait(e.save, saveWait)
	}
	guard(func() error { a.log(e); return nil }, ignore)
	if a.o.Observe != nil && e.fault == "" {
		guard(func() error { a.o.Observe(e); return nil }, func(f failure) {
			if f.bad {
				guard(func() error { a.o.Log.Error("shutdown.observe", "error", f.text, "stack", string(f.stack)); return nil }, ignore)
			}
		})
	}
}

// log writes the lines of CONTRACT.md, 8, and one for each item with a problem.
func (a *announcer) log(e Event) {
	log := a.o.Log
	switch e.Type {
	case ops.EventShutdownPhase:
		level := slog.LevelInfo
		if e.Phase.State == ops.StepTimedOut || e.Phase.State == ops.StepFailed {
			level = slog.LevelWarn
		}
		args := []any{
			"phase", e.Phase.Name, "state", e.Phase.State, "elapsed_ms", e.Phase.ElapsedMS, "budget_ms", e.Phase.BudgetMS,
			"blockers", e.Blockers,
		}
		if e.Phase.Detail != "" {
			args = append(args, "detail", e.Phase.Detail)
		}
		if e.stack != nil {
			level = slog.LevelError
			args = append(args, "stack", string(e.stack))
		}
		log.Log(context.Background(), level, "shutdown.phase", args...)
	case ops.EventShutdownItem:
		if e.Item.State == ops.StepDone {
			return
		}
		args := []any{
			"phase", e.Phase.Name, "kind", clean(e.Item.Kind), "id", clean(e.Item.ID), "state", e.Item.State,
			"elapsed_ms", e.Item.ElapsedMS, "budget_ms", e.Item.BudgetMS, "detail", e.Item.Detail,
		}
		level := slog.LevelWarn
		if e.stack != nil {
			level = slog.LevelError
			args = append(args, "stack", string(e.stack))
		}
		log.Log(context.Background(), level, "shutdown.item", args...)
	case ops.EventWarning:
		log.Warn("shutdown.save", "error", e.fault)
	}
}

// close sends the remaining events and ends the goroutine. One that hangs is abandoned at until.
func (a *announcer) close(until time.Time) {
	close(a.quit)
	waitUntil(a.gone, until)
}
