package shutdown

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// helper is a goroutine of the executor, for the report's file or for the log and the observer. Each may hang on a dead
// disk or a frozen terminal, so the executor waits for it only for a bounded time.
type helper struct {
	kick       chan struct{} // holds one token: there is work
	quit, gone chan struct{}
}

func newHelper() helper {
	return helper{make(chan struct{}, 1), make(chan struct{}), make(chan struct{})}
}

// close lets the goroutine do the work that is left, and end. One that hangs is abandoned at until.
func (h *helper) close(until time.Time) {
	close(h.quit)
	waitUntil(h.gone, until)
}

// In a phase with more than manyItems the write of an item's end is delayed by saveLater, to be combined with others. So
// a report of a thousand items that end one by one is not encoded a thousand times.
const (
	manyItems = 64
	saveLater = 100 * time.Millisecond
)

// saver writes the report after every transition, but see manyItems. Where writing is slow it skips to the latest.
type saver struct {
	helper
	r     *Run
	later chan struct{} // holds one token

	mu      sync.Mutex    // guards what follows; may be taken while Run.mu is held, never the other way round
	next    chan struct{} // closed by the next write, when it is done
	writing time.Time     // when the write under way began; zero: there is none
}

func newSaver(r *Run) *saver {
	s := &saver{helper: newHelper(), r: r, later: make(chan struct{}, 1), next: make(chan struct{})}
	if r.o.Save == nil {
		close(s.gone)
		return s
	}
	go s.run()
	return s
}

// ask requests the current report on disk, and returns a channel that is closed when it is there.
func (s *saver) ask() (saved <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	nudge(s.kick)
	return s.next
}

// soon requests the report on disk within saveLater.
func (s *saver) soon() { nudge(s.later) }

func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (s *saver) run() {
	defer close(s.gone)
	faulty := false
	write := func() {
		s.mu.Lock()
		saved := s.next
		s.next, s.writing = make(chan struct{}), time.Now()
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.writing = time.Time{}
			s.mu.Unlock()
			close(saved)
		}()
		guard(func() error { return s.r.o.Save(s.r.report()) }, func(f failure) {
			if f.bad && !faulty {
				faulty = true
				s.r.news.add(Event{Type: ops.EventWarning, fault: f.text, stack: f.stack})
			}
		})
	}
	// No item is asked for progress before a transition is on disk. Their answers are written as well, and an item that
	// does not answer delays nothing.
	var asked <-chan struct{}
	var due <-chan time.Time // of the delayed write; nil: there is none
	for {
		select {
		case <-s.kick:
			write()
			asked = s.r.probe()
		case <-s.later:
			if due == nil {
				due = time.After(saveLater)
			}
		case <-due:
			due = nil
			write()
			asked = s.r.probe()
		case <-asked:
			asked = nil
			write()
		case <-s.quit: // the end of the stop was requested, and with it the delayed write
			select {
			case <-s.kick:
				write()
			default:
			}
			return
		}
	}
}

// hangs reports whether a write has been under way for d.
func (s *saver) hangs(d time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.writing.IsZero() && time.Since(s.writing) >= d
}

// wait returns when the report is on disk, or after d.
func (s *saver) wait(saved <-chan struct{}, d time.Duration) {
	select {
	case <-saved:
	case <-s.gone:
	case <-time.After(d):
	}
}

// waitUntil returns when c is closed, or at until.
func waitUntil(c <-chan struct{}, until time.Time) {
	select {
	case <-c:
	case <-time.After(time.Until(until)):
	}
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

// announce says that p begins or has ended. A reader of its begin finds it in the report on disk too, unless the disk is
// slow. r.mu is held.
func (r *Run) announce(p *phase, state ops.StepState) {
	e := Event{Type: ops.EventShutdownPhase, Phase: p.row(time.Now())}
	e.Phase.ItemsTotal, e.Phase.ItemsDone = len(p.items), p.count(ops.StepDone)
	if state == ops.StepRunning {
		e.Blockers, e.saved = p.blockers(ops.StepRunning), r.saves.ask()
	} else {
		e.Blockers, e.stack = p.blockers(ops.StepTimedOut, ops.StepSkipped), p.stack
	}
	r.news.add(e)
}
