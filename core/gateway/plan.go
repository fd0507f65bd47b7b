package gateway

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/bound"
	"gatewaytui/core/instance"
	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
	"gatewaytui/core/reap"
	"gatewaytui/core/session"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// phases are the twelve phases of this gateway's stop: what each of them has to end, and how.
type phases struct {
	*lifecycle
	g     *Gateway
	trees *reap.Trees
	// turnsLeft says that the drain left turns.
	turnsLeft atomic.Bool
	// eventsFlushed is closed when every event of the phases before the last one is emitted.
	eventsFlushed chan struct{}
}

// Plan builds the shutdown plan of this gateway: the standard phases of core/shutdown, each with the items that it has
// when it begins. It does nothing by itself; Start runs it and everything else reads it.
func (f *phases) Plan() shutdown.Plan {
	p := shutdown.Standard(f.g.opts.Config.StopBudgets())
	attach := func(name string, when func(*shutdown.Run) (bool, string), list func(context.Context, *shutdown.Run) []shutdown.Item) {
		ph := p.Phase(name)
		ph.When, ph.List = when, list
	}
	attach(shutdown.PhaseMark, nil, f.markItems)
	attach(shutdown.PhaseNotify, f.whenNotify, f.notifyItems)
	attach(shutdown.PhaseDrain, nil, f.drainItems)
	attach(shutdown.PhaseInterrupt, f.whenTurnsLeft, f.interruptItems)
	attach(shutdown.PhaseReap, f.whenReap, f.trees.Reap)
	attach(shutdown.PhaseAgents, nil, f.agentItems)
	attach(shutdown.PhaseAdapters, nil, f.adapterItems)
	attach(shutdown.PhaseBackground, nil, f.backgroundItems)
	attach(shutdown.PhaseRelease, nil, f.releaseItems)
	attach(shutdown.PhaseSweep, nil, f.sweepItems)
	attach(shutdown.PhaseStores, nil, f.storeItems)
	p.Phase(shutdown.PhaseStores).Tolerated = store.CausedByHost
	attach(shutdown.PhaseSurrender, nil, f.surrenderItems)
	return p
}

// Budget is what the service manager allows a stop; 0 is unknown.
func (f *phases) Budget() time.Duration { return f.g.opts.Supervisor.Budget }

// Extended asks the service manager for more time, because an operator extended the stop.
func (f *phases) Extended(by time.Duration) {
	f.g.tell(func(n Notifier) error { return n.Extend(by) })
}

func one(kind, id string, run func(ctx context.Context) error) []shutdown.Item {
	return []shutdown.Item{{Kind: kind, ID: id, Run: run}}
}

// markItems put on disk, before anything that can wait, that this stop was meant and what was running when it began (S18,
// D2). They run side by side: a store that hangs does not keep the marker from being written.
func (f *phases) markItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	rep := r.Report()
	f.g.tell(func(n Notifier) error { return n.Stopping("stopping: " + term.Clean(rep.Reason, 120)) })
	f.g.conversations.RefuseWaiting(session.ErrStopping)
	now := time.Now()
	damaged := f.g.health.Damage() != ""
	items := one("file", ".clean_shutdown", func(context.Context) error {
		return f.g.opts.Host.Mark(instance.Marker{Life: rep.Life, At: ops.At(now), Reason: rep.Reason, By: rep.By, Damaged: damaged})
	})
	if f.g.recovery.Store() == nil || damaged { // a stop of a start, in which nothing has run yet, or a store that takes nothing
		return items
	}
	// One commit, so that a disk that takes 500 ms for each fsync has time for it.
	return append(items, shutdown.Item{Kind: "store", ID: "life and running turns", Run: func(ctx context.Context) error {
		return f.g.recovery.RecordStop(ctx, rep, now, f.Stopped().Audit)
	}})
}

func (f *phases) whenNotify(*shutdown.Run) (bool, string) {
	if !f.g.opts.Config.Shutdown.NotifyUsers {
		return false, "shutdown.notify_users is off"
	}
	if f.g.table.Counts().Turns == 0 && !f.g.notices.HasHomes() {
		return false, "no turn runs"
	}
	return true, ""
}

// notifyItems tell each chat with a running turn and the home chats (S6, A2).
func (f *phases) notifyItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	return f.g.notices.StopItems(f.g.table.Turns(), r.Report().Restart, func(ctx context.Context, key, target, text string) error {
		return f.g.outbox.Send(ctx, key, session.Platform(key), adapter.Outgoing{Target: target, Text: text})
	})
}

// drainItems are the running turns, without the one that asked for the stop (A5) and without those that stalled already
// (A6): both are named as not awaited.
func (f *phases) drainItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	var items []shutdown.Item
	var out []ops.Item
	asker, warn := f.Stopped().Asker, f.g.opts.Config.Agent.StallWarn.Duration
	for _, v := range f.g.table.Turns() {
		key := v.Session.Key
		switch {
		case key == asker:
			out = append(out, ops.Item{Kind: "turn", ID: key, State: ops.StepSkipped, Detail: "it asked for this stop"})
		case !v.StalledAt.IsZero() || warn > 0 && time.Since(v.Progress) >= warn: // the watcher would find it stalled
			out = append(out, ops.Item{Kind: "turn", ID: key, State: ops.StepSkipped, Detail: fmt.Sprintf("stalled: no output for %s: %s", ops.Clock(time.Since(v.Progress)), ops.StepWords(v.Doing))})
		default:
			items = append(items, shutdown.Item{Kind: "turn", ID: key, Progress: f.turnProgress(v.Turn), Run: func(ctx context.Context) error {
				select {
				case <-v.Released():
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}})
		}
	}
	r.NotAwaited(out)
	return items
}

// turnProgress is what a turn's item shows while it is waited for.
func (f *phases) turnProgress(t *session.Turn) func() (string, time.Time) {
	return func() (string, time.Time) {
		if v, running := f.g.table.Running(t.Session.Key); running && v.Turn == t {
			return ops.Step(v.Doing, time.Since(v.Since)), v.Progress
		}
		return "ended", time.Time{}
	}
}

func (f *phases) whenTurnsLeft(*shutdown.Run) (bool, string) {
	if f.g.table.Counts().Turns == 0 {
		return false, "no turn is left"
	}
	return true, ""
}

// interruptItems cancel the turns that are left and wait for their workers. One that does not take its cancellation is
// left to the next phases: its processes are killed, its slot is freed, and what it writes later is dropped.
func (f *phases) interruptItems(_ context.Context, _ *shutdown.Run) []shutdown.Item {
	f.turnsLeft.Store(true)
	var items []shutdown.Item
	for _, v := range f.g.table.Turns() {
		items = append(items, shutdown.Item{Kind: "turn", ID: v.Session.Key, Progress: f.turnProgress(v.Turn), Run: func(ctx context.Context) error {
			f.g.table.Interrupt(v.Session.Key, v.ID, session.ErrStopping)
			select {
			case <-v.Released():
				return nil
			case <-ctx.Done():
				f.g.conversations.ReleaseWedged(v.Turn, session.ErrStopping)
				return context.Cause(ctx)
			}
		}})
	}
	return items
}

// whenReap: the trees go right after the interrupt where turns were left, and at once in the faster modes (S1). A
// graceful stop that drained leaves them to the sweep.
func (f *phases) whenReap(r *shutdown.Run) (bool, string) {
	if r.Mode() != ops.ModeGraceful {
		return true, ""
	}
	if !f.turnsLeft.Load() {
		return false, "every turn has ended; the sweep ends what is left"
	}
	return true, ""
}

// agentItems close every agent, idle and busy: what is unsaved is flushed, then all that it holds is let go (S10, S15).
func (f *phases) agentItems(context.Context, *shutdown.Run) []shutdown.Item {
	// A graceful stop that drained comes here without the interrupt phase, and a turn that is left after it, because it
	// began in the same moment, is cut off here.
	for _, v := range f.g.table.Turns() {
		f.g.table.Interrupt(v.Session.Key, v.ID, session.ErrStopping)
	}
	items := f.trees.Sessions()
	for _, a := range f.g.cache.All() {
		items = append(items, shutdown.Item{Kind: "agent", ID: a.Session(), Run: func(ctx context.Context) error {
			err := a.Close(ctx)
			f.g.cache.Remove(a)
			return err
		}})
	}
	return items
}

// adapterItems take every platform down, side by side: the phase costs the slowest, not the sum (S5, A1).
func (f *phases) adapterItems(context.Context, *shutdown.Run) []shutdown.Item {
	var items []shutdown.Item
	for _, name := range f.g.adapters.Names() {
		items = append(items, shutdown.Item{Kind: "adapter", ID: name, Run: func(ctx context.Context) error { return f.g.adapters.Stop(ctx, name) }})
	}
	return items
}

// backgroundItems cancel every tracked task and wait for it (S3).
func (f *phases) backgroundItems(context.Context, *shutdown.Run) []shutdown.Item {
	f.g.watchers.stop()
	var items []shutdown.Item
	for _, t := range f.g.background.Close() {
		items = append(items, shutdown.Item{Kind: "task", ID: t.ID, Progress: f.g.background.Describe(t), Run: t.Stop})
	}
	return items
}

// releaseItems drop what the gateway knows of sessions and turns, in one place (S16).
func (f *phases) releaseItems(context.Context, *shutdown.Run) []shutdown.Item {
	return one("sessions", "all", func(context.Context) error {
		f.g.table.Clear()
		return nil
	})
}

// sweepItems are the catch-all: any tree that is still there, also of an unknown owner, and nothing is started
// after it (S1, A16).
func (f *phases) sweepItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	return one("processes", "everything of this life", func(ctx context.Context) error {
		f.g.procs.Refuse()
		f.trees.Join(ctx)
		if err := f.trees.All(ctx, r); err != nil {
			return err
		}
		return f.g.closeProcesses(ctx) // its journal is written before the store is closed
	})
}

// storeItems close what is on disk, each by itself, so that one that fails does not keep the next open (S17). The report
// goes into the store first: a store that takes nothing more is still closed.
func (f *phases) storeItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	var items []shutdown.Item
	if f.g.recovery.Store() != nil {
		items = one("store", "gateway.db", func(ctx context.Context) error {
			var saveErr error
			if f.g.health.Damage() == "" {
				saveErr = f.g.recovery.RecordEnd(ctx, r.Report())
			}
			if err := f.g.recovery.Store().Close(ctx); err != nil {
				return err
			}
			return saveErr
		})
		items = append(items, shutdown.Item{Kind: "file", ID: lives.File, Run: func(context.Context) error {
			f.g.recovery.ListEnd(r.Report()) // a failure is logged and leaves the stores' result alone
			return nil
		}})
	}
	if f.g.opts.Home.Search != "" && f.g.recovery.Store() != nil {
		items = append(items, shutdown.Item{Kind: "index", ID: filepath.Base(f.g.opts.Home.Search), Run: func(ctx context.Context) error {
			if err := f.g.search.Close(ctx); err != nil { // it can be made again: the stores' result is left alone
				f.g.opts.Log.Warn("search index not closed", "error", err.Error())
			}
			return nil
		}})
	}
	return append(items, f.g.opts.Stores...)
}

// surrenderItems let go of what says that a gateway lives here, in its order: the control socket, which must be gone
// before the lock is, and the pid file and the lock. Those who follow the events hear the outcome first.
func (f *phases) surrenderItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	return one("home", "control socket, pid file, lock", func(ctx context.Context) error {
		rep := r.Report()
		outcome := r.Outlook()
		flush, cancel := context.WithTimeout(ctx, flushBound)
		defer cancel()
		select {
		case <-f.eventsFlushed:
		case <-flush.Done():
		}
		f.g.events.Emit(ops.EventShutdownEnded, rep.ID, "shutdown "+outcome, ops.ShutdownEnd{ElapsedMS: rep.ElapsedMS, ExitCode: rep.ExitCode, Outcome: outcome})
		f.g.events.Close()
		var errs []error
		for _, c := range f.g.opts.Surrender {
			var limit time.Duration // half of the time that is left, so that one that hangs leaves some to the next
			if deadline, ok := ctx.Deadline(); ok {
				limit = time.Until(deadline) / 2
			}
			if err := bound.Run(ctx, limit, c.Run); err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w", c.Kind, c.ID, err))
			}
		}
		return errors.Join(errs...)
	})
}

// flushBound is what the phases' events may take to reach those who follow them; a log that hangs may hold them up.
const flushBound = 100 * time.Millisecond

// observe passes the transitions of the shutdown on to who follows events, and to the service manager.
func (f *phases) observe(e shutdown.Event) {
	f.g.tellPhase(e)
	switch e.Type {
	case ops.EventShutdownPhase:
		f.g.events.Emit(e.Type, e.Phase.Name, "phase "+e.Phase.Name+" "+string(e.Phase.State), ops.PhaseChange{Blockers: e.Blockers, Phase: e.Phase})
		if e.Phase.Name == shutdown.PhaseSurrender && e.Phase.State == ops.StepRunning {
			close(f.eventsFlushed)
		}
	case ops.EventShutdownItem:
		f.g.events.Emit(e.Type, e.Phase.Name, e.Item.Kind+" "+e.Item.ID+" "+string(e.Item.State), ops.ItemChange{Item: e.Item, Phase: e.Phase.Name})
	}
}
