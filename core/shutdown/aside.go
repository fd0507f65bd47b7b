package shutdown

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// What runs beside the executor: the report's file, the log and the observer. Each may hang on a dead disk or a frozen
// terminal, so each has a goroutine of its own that the executor waits for a bounded time only.

// Of a phase with more than manyItems the end of an item waits saveLater to be written, for those of others to be written
// with it: a report of a thousand items that end one by one is not encoded a thousand times.
const (
	manyItems = 64
	saveLater = 100 * time.Millisecond
)

// saver writes the report after every transition, but see manyItems; where writing is slow it skips to the latest.
type saver struct {
	r          *Run
	kick       chan struct{} // holds one token
	later      chan struct{} // holds one token
	quit, gone chan struct{}

	mu             sync.Mutex // guards what follows; may be taken while Run.mu is held, never the other way round
	asked, written uint64
	changed        chan struct{} // closed and replaced when written grows
}

func newSaver(r *Run) *saver {
	s := &saver{
		r: r, kick: make(chan struct{}, 1), later: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{}),
		changed: make(chan struct{}),
	}
	if r.o.Save == nil {
		close(s.gone)
		return s
	}
	go s.run()
	return s
}

// ask wants the report as it is now on disk and returns the number to wait for.
func (s *saver) ask() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	nudge(s.kick)
	return s.asked
}

// soon wants the report on disk within saveLater.
func (s *saver) soon() { nudge(s.later) }

func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (s *saver) run() {
	defer close(s.gone)
	told := false
	write := func() {
		s.mu.Lock()
		n := s.asked
		s.mu.Unlock()
		guard(func() error { return s.r.o.Save(s.r.report()) }, func(f failure) {
			if f.bad && !told {
				told = true
				s.r.news.add(Event{At: time.Now(), Type: ops.EventWarning, fault: f.text, stack: f.stack})
			}
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.written = n
		close(s.changed)
		s.changed = make(chan struct{})
	}
	// Nobody is asked for progress before a transition is on disk. What they then say is written as well, and one that does
	// not answer holds up nothing.
	var asked <-chan struct{}
	pause := time.NewTimer(0)
	defer pause.Stop()
	pause.Stop()
	waits := false // for pause
	for {
		select {
		case <-s.kick:
			write()
			asked = s.r.probe()
		case <-s.later:
			if !waits {
				waits = true
				pause.Reset(saveLater)
			}
		case <-pause.C:
			waits = false
			write()
			asked = s.r.probe()
		case <-asked:
			asked = nil
			write()
		case <-s.quit: // the end of the stop was asked for, and with it what waits
			select {
			case <-s.kick:
				write()
			default:
			}
			return
		}
	}
}

// wait returns when save number n is written, or after d.
func (s *saver) wait(n uint64, d time.Duration) {
	var timer *time.Timer
	for {
		s.mu.Lock()
		done, changed := s.written >= n, s.changed
		s.mu.Unlock()
		if done {
			break
		}
		if timer == nil {
			timer = time.NewTimer(d)
			defer timer.Stop()
		}
		select {
		case <-changed:
		case <-s.gone:
			return
		case <-timer.C:
			return
		}
	}
}

// close writes what was asked for last and ends the goroutine; one that hangs is left behind at until.
func (s *saver) close(until time.Time) {
	close(s.quit)
	waitUntil(s.gone, until)
}

// Event is one transition of a stop, for the log and the gateway's events.
type Event struct {
	At time.Time
	// Type is ops.EventShutdownPhase, ops.EventShutdownItem or ops.EventShutdownEnded.
	Type ops.EventType
	// Phase is the phase's row without its items, and for ops.EventShutdownPhase with their counts; empty when the stop has ended.
	Phase ops.Phase
	// Item is the item's row, for ops.EventShutdownItem.
	Item ops.Item
	// Blockers names ("kind:id") what a phase that begins waits for, and what one that ends left unfinished: at most
	// maxBlockers, the last then says how many more.
	Blockers []string

	save  uint64 // the save to wait for, saveWait at most, before it is told; 0 is none
	fault string // why the report could not be saved, for the log alone
	stack []byte // of a panic, for the log alone
}

// announcer hands events, in order, to the log and to Options.Observe.
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

// tell hands over one event; a panic of the log does not keep it from the observer.
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

// log writes the lines of CONTRACT.md, 8, and one for each item that did not end well.
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

// close hands over what is left and ends the goroutine; one that hangs is left behind at until.
func (a *announcer) close(until time.Time) {
	close(a.quit)
	waitUntil(a.gone, until)
}

// waitUntil returns when c is closed, or at until.
func waitUntil(c <-chan struct{}, until time.Time) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-c:
	case <-timer.C:
	}
}
