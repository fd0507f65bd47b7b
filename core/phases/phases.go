// Package phases is what a gateway's stop ends, phase by phase: the items of core/shutdown's twelve standard phases.
//
// What it promises: the plan that it builds is all that a stop does. An item ends within its context or is abandoned. Nothing here
// starts a stop: core/shutdown executes the plan, and everyone else reads it.
package phases

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/agent"
	"gatewaytui/core/approval"
	"gatewaytui/core/background"
	"gatewaytui/core/bound"
	"gatewaytui/core/config"
	"gatewaytui/core/conversation"
	"gatewaytui/core/delivery"
	"gatewaytui/core/environment"
	"gatewaytui/core/events"
	"gatewaytui/core/health"
	"gatewaytui/core/held"
	"gatewaytui/core/instance"
	"gatewaytui/core/lives"
	"gatewaytui/core/notices"
	"gatewaytui/core/operator"
	"gatewaytui/core/ops"
	"gatewaytui/core/reap"
	"gatewaytui/core/recovery"
	"gatewaytui/core/search"
	"gatewaytui/core/session"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/store"
)

// Gateway is what the phases ask of the gateway itself. Its methods do not wait, but for CloseProcesses, which ctx bounds.
type Gateway interface {
	// Mark writes the clean-shutdown marker.
	Mark(instance.Marker) error
	// Stopping lets the service manager know that a stop begins, and why.
	Stopping(reason string)
	// Stopped is the request that began the stop.
	Stopped() operator.StopRequest
	// StopWatchers ends what watches the gateway.
	StopWatchers()
	// Refuse starts no process from now on. CloseProcesses closes their registry.
	Refuse()
	CloseProcesses(ctx context.Context) error
}

// Options are the parts that a stop ends. Stores and Surrender may be empty; every other field is needed.
type Options struct {
	// Config is the config in force.
	Config  func() config.Config
	Log     *slog.Logger
	Gateway Gateway

	Table         *session.Table
	Cache         *agent.Cache
	Trees         *reap.Trees
	Environments  *environment.Set
	Held          *held.Set
	Conversations *conversation.Conversations
	Notices       *notices.Notices
	Approvals     *approval.Book
	Outbox        *delivery.Outbox
	Adapters      *adapter.Supervisor
	Background    *background.Group
	Events        *events.Hub
	Health        *health.Health
	Recovery      *recovery.Recovery
	Search        *search.Index
	// SearchFile is the file of the search index; empty: nothing is indexed.
	SearchFile string
	// Stores are what its owner made and the stop closes with the store; Surrender is closed in its order, last of all.
	Stores, Surrender []shutdown.Item
}

// Phases are the phases of one gateway's stop. Its methods may be called from any goroutine.
type Phases struct {
	o Options
	// turnsLeft says that the drain left turns, and cutOff has the ids of the turns that were interrupted.
	turnsLeft atomic.Bool
	cutOff    sync.Map
	// eventsFlushed is closed when every event of the phases before the last one is emitted.
	eventsFlushed chan struct{}
}

// New returns the phases of one stop.
func New(o Options) *Phases { return &Phases{o: o, eventsFlushed: make(chan struct{})} }

// Plan builds the shutdown plan of this gateway: the standard phases of core/shutdown, each with the items that it has
// when it begins. It does nothing by itself; shutdown.Start runs it and everything else reads it.
func (f *Phases) Plan() shutdown.Plan {
	p := shutdown.Standard(f.o.Config().StopBudgets())
	attach := func(name string, when func(*shutdown.Run) (bool, string), list func(context.Context, *shutdown.Run) []shutdown.Item) {
		ph := p.Phase(name)
		ph.When, ph.List = when, list
	}
	attach(shutdown.PhaseMark, nil, f.markItems)
	attach(shutdown.PhaseNotify, f.whenNotify, f.notifyItems)
	attach(shutdown.PhaseDrain, nil, f.drainItems)
	attach(shutdown.PhaseInterrupt, f.whenTurnsLeft, f.interruptItems)
	attach(shutdown.PhaseReap, f.whenReap, f.o.Trees.Reap)
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

func one(kind, id string, run func(ctx context.Context) error) []shutdown.Item {
	return []shutdown.Item{{Kind: kind, ID: id, Run: run}}
}

// markItems put on disk, before anything that can wait, that this stop was meant and what was running when it began (S18,
// D2). They run side by side: a store that hangs does not keep the marker from being written.
func (f *Phases) markItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	rep := r.Report()
	f.o.Gateway.Stopping(rep.Reason)
	f.o.Conversations.RefuseWaiting(session.ErrStopping)
	now := time.Now()
	damaged := f.o.Health.Damage() != ""
	items := one("file", ".clean_shutdown", func(context.Context) error {
		return f.o.Gateway.Mark(instance.Marker{Life: rep.Life, At: ops.At(now), Reason: rep.Reason, By: rep.By, Damaged: damaged})
	})
	if f.o.Recovery.Store() == nil || damaged { // a stop of a start, in which nothing has run yet, or a store that takes nothing
		return items
	}
	// One commit, so that a disk that takes 500 ms for each fsync has time for it.
	return append(items, shutdown.Item{Kind: "store", ID: "life and running turns", Run: func(ctx context.Context) error {
		return f.o.Recovery.RecordStop(ctx, rep, now, f.o.Gateway.Stopped().Audit)
	}}, shutdown.Item{Kind: "approvals", ID: "what waits for a person", Run: f.o.Approvals.Stop})
}

func (f *Phases) whenNotify(*shutdown.Run) (bool, string) {
	if !f.o.Config().Shutdown.NotifyUsers {
		return false, "shutdown.notify_users is off"
	}
	if f.o.Table.Counts().Turns == 0 && !f.o.Notices.HasHomes() {
		return false, "no turn runs"
	}
	return true, ""
}

// notifyItems tell each chat with a running turn and the home chats (S6, A2).
func (f *Phases) notifyItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	items := f.o.Notices.StopItems(f.o.Table.Turns(), r.Report().Restart, func(ctx context.Context, key, target, text string) error {
		return f.o.Outbox.Send(ctx, key, session.Platform(key), adapter.Outgoing{Target: target, Text: text})
	})
	if f.o.Approvals.Withdrew() > 0 {
		items = append(items, shutdown.Item{Kind: "approvals", ID: "withdrawn requests", Run: f.o.Approvals.Tell})
	}
	return items
}

// drainItems are the running turns, without the one that asked for the stop (A5) and without those that stalled already
// (A6), and without those that wait for a person (TR5): all are named as not awaited.
func (f *Phases) drainItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	var items []shutdown.Item
	var out []ops.Item
	asker, warn := f.o.Gateway.Stopped().Asker, f.o.Config().Agent.StallWarn.Duration
	for _, v := range f.o.Table.Turns() {
		key := v.Session.Key
		switch {
		case key == asker:
			out = append(out, ops.Item{Kind: "turn", ID: key, State: ops.StepSkipped, Detail: "it asked for this stop"})
		case v.Approval != "":
			out = append(out, ops.Item{Kind: "turn", ID: key, State: ops.StepSkipped, Detail: "it waited for a person; its request " + v.Approval + " is withdrawn"})
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
func (f *Phases) turnProgress(t *session.Turn) func() (string, time.Time) {
	return func() (string, time.Time) {
		if v, running := f.o.Table.Running(t.Session.Key); running && v.Turn == t {
			return ops.Step(v.Doing, time.Since(v.Since)), v.Progress
		}
		return "ended", time.Time{}
	}
}

func (f *Phases) whenTurnsLeft(*shutdown.Run) (bool, string) {
	if f.o.Table.Counts().Turns == 0 {
		return false, "no turn is left"
	}
	return true, ""
}

// interruptItems cancel the turns that are left and wait for their workers. One that does not take its cancellation is
// left to the next phases: its processes are killed, its slot is freed, and what it writes later is dropped.
func (f *Phases) interruptItems(_ context.Context, _ *shutdown.Run) []shutdown.Item {
	f.turnsLeft.Store(true)
	var items []shutdown.Item
	for _, v := range f.o.Table.Turns() {
		f.cutOff.Store(v.ID, nil)
		items = append(items, shutdown.Item{Kind: "turn", ID: v.Session.Key, Progress: f.turnProgress(v.Turn), Run: func(ctx context.Context) error {
			f.o.Table.Interrupt(v.Session.Key, v.ID, session.ErrStopping)
			select {
			case <-v.Released():
				return nil
			case <-ctx.Done():
				f.o.Conversations.ReleaseWedged(v.Turn, session.ErrStopping)
				return context.Cause(ctx)
			}
		}})
	}
	return items
}

// whenReap: the trees go right after the interrupt where turns were left, and at once in the faster modes (S1). A
// graceful stop that drained leaves them to the sweep.
func (f *Phases) whenReap(r *shutdown.Run) (bool, string) {
	if r.Mode() != ops.ModeGraceful {
		return true, ""
	}
	if !f.turnsLeft.Load() {
		return false, "every turn has ended; the sweep ends what is left"
	}
	return true, ""
}

// agentItems close every agent, idle and busy: what is unsaved is flushed, then all that it holds is let go (S10, S15).
func (f *Phases) agentItems(context.Context, *shutdown.Run) []shutdown.Item {
	// A graceful stop that drained comes here without the interrupt phase, and a turn that is left after it, because it
	// began in the same moment, is cut off here.
	for _, v := range f.o.Table.Turns() {
		f.cutOff.Store(v.ID, nil)
		f.o.Table.Interrupt(v.Session.Key, v.ID, session.ErrStopping)
	}
	items := f.o.Trees.Sessions()
	closes := new(sync.WaitGroup)
	for _, a := range f.o.Cache.All() {
		closes.Add(1)
		items = append(items, shutdown.Item{Kind: "agent", ID: a.Session(), Run: func(ctx context.Context) error {
			defer closes.Done()
			err := a.Close(ctx)
			f.o.Cache.Remove(a)
			return err
		}})
	}
	return slices.Concat(items, f.environmentItems(), f.holdings(closes))
}

// adapterItems take every platform down, side by side: the phase costs the slowest, not the sum (S5, A1).
func (f *Phases) adapterItems(context.Context, *shutdown.Run) []shutdown.Item {
	var items []shutdown.Item
	for _, name := range f.o.Adapters.Names() {
		items = append(items, shutdown.Item{Kind: "adapter", ID: name, Run: func(ctx context.Context) error { return f.o.Adapters.Stop(ctx, name) }})
	}
	return items
}

// backgroundItems cancel every tracked task and wait for it (S3).
func (f *Phases) backgroundItems(context.Context, *shutdown.Run) []shutdown.Item {
	f.o.Gateway.StopWatchers()
	var items []shutdown.Item
	for _, t := range f.o.Background.Close() {
		items = append(items, shutdown.Item{Kind: "task", ID: t.ID, Progress: f.o.Background.Describe(t), Run: t.Stop})
	}
	return items
}

// releaseItems drop what the gateway knows of sessions and turns, in one place (S16).
func (f *Phases) releaseItems(context.Context, *shutdown.Run) []shutdown.Item {
	return one("sessions", "all", func(context.Context) error {
		f.o.Table.Clear()
		return nil
	})
}

// sweepItems are the catch-all: any tree that is still there, also of an unknown owner, and nothing is started
// after it (S1, A16).
func (f *Phases) sweepItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	swept := make(chan struct{})
	items, ended := f.heldItems(swept)
	return append(items, shutdown.Item{Kind: "processes", ID: "everything of this life", Run: func(ctx context.Context) error {
		f.o.Gateway.Refuse()
		f.o.Trees.Join(ctx)
		err := f.o.Trees.All(ctx, r)
		close(swept)
		if err != nil {
			return err
		}
		held := bound.Run(ctx, half(ctx), func(ctx context.Context) error {
			ended.Wait()
			return errors.Join(f.o.Environments.CloseAll(ctx), f.o.Held.CloseAll(ctx))
		})
		if len(items) > 0 {
			held = nil // their own items have it
		}
		return errors.Join(held, f.o.Gateway.CloseProcesses(ctx)) // its journal is written before the store is closed
	}})
}

// leftBehind counts what this stop leaves to the next life.
func (f *Phases) leftBehind() ops.LeftBehind {
	for _, v := range f.o.Table.Turns() { // those of an immediate stop, which interrupts none
		f.cutOff.Store(v.ID, nil)
	}
	b := ops.LeftBehind{Processes: f.o.Trees.Left(), Replies: f.o.Outbox.Waiting()}
	f.cutOff.Range(func(any, any) bool {
		b.Turns++
		return true
	})
	return b
}

// storeItems close what is on disk, each by itself, so that one that fails does not keep the next open (S17). The report
// goes into the store first: a store that takes nothing more is still closed.
func (f *Phases) storeItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	r.LeavesBehind(f.leftBehind())
	var items []shutdown.Item
	if f.o.Recovery.Store() != nil {
		items = one("store", "gateway.db", func(ctx context.Context) error {
			var saveErr error
			if f.o.Health.Damage() == "" {
				saveErr = f.o.Recovery.RecordEnd(ctx, r.Report())
				f.recordOwed(ctx)
			}
			if err := f.o.Recovery.Store().Close(ctx); err != nil {
				return err
			}
			return saveErr
		})
		items = append(items, shutdown.Item{Kind: "file", ID: lives.File, Run: func(context.Context) error {
			f.o.Recovery.ListEnd(r.Report()) // a failure is logged and leaves the stores' result alone
			return nil
		}})
	}
	if f.o.SearchFile != "" && f.o.Recovery.Store() != nil {
		items = append(items, shutdown.Item{Kind: "index", ID: filepath.Base(f.o.SearchFile), Run: func(ctx context.Context) error {
			if err := f.o.Search.Close(ctx); err != nil { // it can be made again: the stores' result is left alone
				f.o.Log.Warn("search index not closed", "error", err.Error())
			}
			return nil
		}})
	}
	return append(items, f.o.Stores...)
}

// recordOwed has the outbox try once more what the store refused, within half of the time that is left.
func (f *Phases) recordOwed(ctx context.Context) {
	// A failure is logged, and the next life works on the messages again.
	_ = bound.Run(ctx, half(ctx), func(ctx context.Context) error {
		f.o.Outbox.Record(ctx)
		return nil
	})
}

// surrenderItems let go of what says that a gateway lives here, in its order: the control socket, which must be gone
// before the lock is, and the pid file and the lock. Those who follow the events hear the outcome first.
func (f *Phases) surrenderItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	return one("home", "control socket, pid file, lock", func(ctx context.Context) error {
		rep := r.Report()
		outcome := r.Outlook()
		flush, cancel := context.WithTimeout(ctx, flushBound)
		defer cancel()
		select {
		case <-f.eventsFlushed:
		case <-flush.Done():
		}
		f.o.Events.Emit(ops.EventShutdownEnded, rep.ID, "shutdown "+outcome, ops.ShutdownEnd{ElapsedMS: rep.ElapsedMS, ExitCode: rep.ExitCode, Outcome: outcome})
		f.o.Events.Close()
		var errs []error
		for _, c := range f.o.Surrender {
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

// Observe passes the transitions of the shutdown on to those who follow events.
func (f *Phases) Observe(e shutdown.Event) {
	switch e.Type {
	case ops.EventShutdownPhase:
		f.o.Events.Emit(e.Type, e.Phase.Name, "phase "+e.Phase.Name+" "+string(e.Phase.State), ops.PhaseChange{Blockers: e.Blockers, Phase: e.Phase})
		if e.Phase.Name == shutdown.PhaseSurrender && e.Phase.State == ops.StepRunning {
			close(f.eventsFlushed)
		}
	case ops.EventShutdownItem:
		f.o.Events.Emit(e.Type, e.Phase.Name, e.Item.Kind+" "+e.Item.ID+" "+string(e.Item.State), ops.ItemChange{Item: e.Item, Phase: e.Phase.Name})
	}
}
