package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// plan builds the shutdown plan of this gateway: the standard phases of core/shutdown, each with the items that it has
// when it begins. It does nothing by itself; Start runs it and everything else reads it.
func (g *Gateway) plan() shutdown.Plan {
	s := g.cfg.Shutdown
	p := shutdown.Standard(shutdown.Budgets{
		Drain: s.DrainTimeout.Duration, Notify: s.NotifyTimeout.Duration, InterruptGrace: s.InterruptGrace.Duration,
		KillGrace: g.cfg.Process.KillGrace.Duration, Agent: s.AgentTimeout.Duration, Adapter: s.AdapterTimeout.Duration,
		Background: s.BackgroundTimeout.Duration, Store: s.StoreTimeout.Duration,
	})
	attach := func(name string, when func(*shutdown.Run) (bool, string), list func(context.Context, *shutdown.Run) []shutdown.Item) {
		ph := p.Phase(name)
		ph.When, ph.List = when, list
	}
	attach(shutdown.PhaseMark, nil, g.markItems)
	attach(shutdown.PhaseNotify, g.whenNotify, g.notifyItems)
	attach(shutdown.PhaseDrain, nil, g.drainItems)
	attach(shutdown.PhaseInterrupt, g.whenTurnsLeft, g.interruptItems)
	attach(shutdown.PhaseReap, g.whenReap, g.trees.reap)
	attach(shutdown.PhaseAgents, nil, g.agentItems)
	attach(shutdown.PhaseAdapters, nil, g.adapterItems)
	attach(shutdown.PhaseBackground, nil, g.backgroundItems)
	attach(shutdown.PhaseRelease, nil, g.releaseItems)
	attach(shutdown.PhaseSweep, nil, g.sweepItems)
	attach(shutdown.PhaseStores, nil, g.storeItems)
	p.Phase(shutdown.PhaseStores).Excused = store.OutOfOurHands
	attach(shutdown.PhaseSurrender, nil, g.surrenderItems)
	return p
}

// limit is what the service manager allows a stop; 0 is unknown.
func (g *Gateway) limit() time.Duration { return g.opts.SupervisorBudget }

// tightBudget says what the service manager's limit takes from the stop that the config asks for (A3).
func (g *Gateway) tightBudget() (ops.Warning, bool) {
	rows := g.plan().Rows(g.limit())
	if len(rows.Shrunk) == 0 {
		return ops.Warning{}, false
	}
	var cuts []string
	for _, s := range rows.Shrunk {
		cuts = append(cuts, fmt.Sprintf("%s %s instead of %s", s.Name, time.Duration(s.GotMS)*time.Millisecond, time.Duration(s.WantedMS)*time.Millisecond))
	}
	text := fmt.Sprintf("the service manager allows a stop %s and the config asks for %s: %s. Allow it %s, or ask for less",
		g.limit(), g.plan().WorstCase().Round(time.Millisecond), strings.Join(cuts, ", "), g.plan().TimeoutStopSec())
	return ops.Warning{Code: "shutdown.budget", Message: text, Since: ops.At(g.health.Started())}, true
}

func one(kind, id string, run func(ctx context.Context) error) []shutdown.Item {
	return []shutdown.Item{{Kind: kind, ID: id, Run: run}}
}

// markItems put on disk, before anything that can wait, that this stop was meant and what was running when it began (S18,
// D2). They run side by side: a store that hangs does not keep the marker from being written.
func (g *Gateway) markItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	rep := r.Report()
	g.notify(func(n Notifier) error { return n.Stopping("stopping: " + term.Clean(rep.Reason, 120)) })
	g.RefuseWaiting(session.ErrStopping)
	now := time.Now()
	damaged := g.health.Damage() != ""
	items := one("file", ".clean_shutdown", func(context.Context) error {
		return g.opts.Mark(Mark{Reason: rep.Reason, By: rep.By, At: now, Damaged: damaged})
	})
	if !g.opened() || damaged { // a stop of a start, in which nothing has run yet, or a store that takes nothing
		return items
	}
	// One commit, so that a disk that takes 500 ms for each fsync has time for it.
	return append(items, shutdown.Item{Kind: "store", ID: "life and running turns", Run: func(ctx context.Context) error {
		return g.recovery.RecordStop(ctx, rep, now, g.stopAudit())
	}})
}

func (g *Gateway) whenNotify(*shutdown.Run) (bool, string) {
	if !g.cfg.Shutdown.NotifyUsers {
		return false, "shutdown.notify_users is off"
	}
	if _, turns := g.table.Len(); turns == 0 {
		return false, "no turn runs"
	}
	return true, ""
}

// notifyItems tell each chat with a running turn, once. A notice that fails or hangs counts as told: nobody is told
// twice, and nobody waits for it (S6, A2).
func (g *Gateway) notifyItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	text := "The gateway is stopping. Your running turn may still finish; new messages are not taken until it is back."
	if r.Report().Restart {
		text = "The gateway is restarting. Your running turn may still finish; new messages are not taken until it is back."
	}
	var items []shutdown.Item
	told := map[string]bool{}
	for _, v := range g.table.Turns() {
		key, target := v.Session.Key, v.Message.Target
		name := session.Platform(key)
		at := name + " " + target
		if v.Message.Instant || told[at] { // who waits for an answer gets that
			continue
		}
		told[at] = true
		items = append(items, shutdown.Item{Kind: "notice", ID: key, Run: func(ctx context.Context) error {
			return g.outbox.Send(ctx, key, name, adapter.Outgoing{Target: target, Text: text})
		}})
	}
	return items
}

// drainItems are the running turns, without the one that asked for the stop (A5) and without those that stalled already
// (A6): both are named as not awaited.
func (g *Gateway) drainItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	var items []shutdown.Item
	var out []ops.Item
	asker := g.stopAsker()
	for _, v := range g.table.Turns() {
		key := v.Session.Key
		switch {
		case key == asker:
			out = append(out, ops.Item{Kind: "turn", ID: key, State: ops.StepSkipped, Detail: "it asked for this stop"})
		case !v.StalledAt.IsZero() || g.stalledNow(v):
			out = append(out, ops.Item{Kind: "turn", ID: key, State: ops.StepSkipped, Detail: fmt.Sprintf("stalled: no output for %s: %s", ops.Clock(time.Since(v.Progress)), ops.StepWords(v.Doing))})
		default:
			items = append(items, shutdown.Item{Kind: "turn", ID: key, Progress: g.turnProgress(v.Turn), Run: func(ctx context.Context) error {
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

// stalledNow is whether a turn would be found stalled by the next look of the watcher.
func (g *Gateway) stalledNow(v session.TurnView) bool {
	warn := g.cfg.Agent.StallWarn.Duration
	return warn > 0 && time.Since(v.Progress) >= warn
}

// turnProgress is what a turn's item shows while it is waited for.
func (g *Gateway) turnProgress(t *session.Turn) func() (string, time.Time) {
	return func() (string, time.Time) {
		if v, running := g.table.Running(t.Session.Key); running && v.Turn == t {
			return ops.Step(v.Doing, time.Since(v.Since)), v.Progress
		}
		return "ended", time.Time{}
	}
}

func (g *Gateway) whenTurnsLeft(*shutdown.Run) (bool, string) {
	if _, turns := g.table.Len(); turns == 0 {
		return false, "no turn is left"
	}
	return true, ""
}

// interruptItems cancel the turns that are left and wait for their workers. One that does not take its cancellation is
// left to the next phases: its processes are killed, its slot is freed, and what it writes later is dropped.
func (g *Gateway) interruptItems(_ context.Context, _ *shutdown.Run) []shutdown.Item {
	g.mu.Lock()
	g.turnsLeft = true
	g.mu.Unlock()
	var items []shutdown.Item
	for _, v := range g.table.Turns() {
		items = append(items, shutdown.Item{Kind: "turn", ID: v.Session.Key, Progress: g.turnProgress(v.Turn), Run: func(ctx context.Context) error {
			g.table.Interrupt(v.Session.Key, v.ID, session.ErrStopping)
			select {
			case <-v.Released():
				return nil
			case <-ctx.Done():
				g.releaseWedged(v.Turn, session.ErrStopping)
				return context.Cause(ctx)
			}
		}})
	}
	return items
}

// whenReap: the trees go right after the interrupt where turns were left, and at once in the faster modes (S1). A
// graceful stop that drained leaves them to the sweep.
func (g *Gateway) whenReap(r *shutdown.Run) (bool, string) {
	if r.Mode() != ops.ModeGraceful {
		return true, ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.turnsLeft {
		return false, "every turn has ended; the sweep ends what is left"
	}
	return true, ""
}

// agentItems close every agent, idle and busy: what is unsaved is flushed, then all that it holds is let go (S10, S15).
func (g *Gateway) agentItems(context.Context, *shutdown.Run) []shutdown.Item {
	// A graceful stop that drained comes here without the interrupt phase, and whoever is left after it (a turn that began
	// in the same moment) is cut off here.
	for _, v := range g.table.Turns() {
		g.table.Interrupt(v.Session.Key, v.ID, session.ErrStopping)
	}
	items := g.trees.sessions()
	for _, a := range g.cache.All() {
		items = append(items, shutdown.Item{Kind: "agent", ID: a.Session(), Run: func(ctx context.Context) error {
			err := a.Close(ctx)
			g.cache.Remove(a)
			return err
		}})
	}
	return items
}

// adapterItems take every platform down, side by side: the phase costs the slowest, not the sum (S5, A1).
func (g *Gateway) adapterItems(context.Context, *shutdown.Run) []shutdown.Item {
	var items []shutdown.Item
	for _, name := range g.adapters.Names() {
		items = append(items, shutdown.Item{Kind: "adapter", ID: name, Run: func(ctx context.Context) error { return g.adapters.Stop(ctx, name) }})
	}
	return items
}

// backgroundItems cancel every tracked task and wait for it (S3).
func (g *Gateway) backgroundItems(context.Context, *shutdown.Run) []shutdown.Item {
	g.stopWatch()
	var items []shutdown.Item
	for _, t := range g.background.Close() {
		items = append(items, shutdown.Item{Kind: "task", ID: t.ID, Progress: g.background.Describe(t), Run: t.Stop})
	}
	return items
}

// releaseItems drop what the gateway knows of sessions and turns, in one place (S16).
func (g *Gateway) releaseItems(context.Context, *shutdown.Run) []shutdown.Item {
	return one("sessions", "all", func(context.Context) error {
		g.table.Clear()
		return nil
	})
}

// sweepItems are the catch-all: any tree that is still there, whoever started it and whenever, and nothing is started
// after it (S1, A16).
func (g *Gateway) sweepItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	return one("processes", "everything of this life", func(ctx context.Context) error {
		g.procs.Refuse()
		g.trees.join(ctx)
		if err := g.trees.all(ctx, r); err != nil {
			return err
		}
		return g.closeProcesses(ctx) // its journal is written before the store is closed
	})
}

// storeItems close what is on disk, each by itself, so that one that fails does not keep the next open (S17). The report
// goes into the store first: a store that takes nothing more is still closed.
func (g *Gateway) storeItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	var items []shutdown.Item
	if g.opened() {
		items = one("store", "gateway.db", func(ctx context.Context) error {
			var saveErr error
			if g.health.Damage() == "" {
				saveErr = g.recovery.RecordEnd(ctx, r.Report())
			}
			if err := g.store.Close(ctx); err != nil {
				return err
			}
			return saveErr
		})
	}
	if g.opts.Lives != nil && g.opened() {
		items = append(items, shutdown.Item{Kind: "file", ID: lives.File, Run: func(context.Context) error {
			g.recovery.ListEnd(r.Report()) // a failure is logged and leaves the stores' result alone
			return nil
		}})
	}
	for _, c := range g.opts.Stores {
		items = append(items, shutdown.Item{Kind: c.Kind, ID: c.ID, Run: c.Close})
	}
	return items
}

// surrenderItems let go of what says that a gateway lives here, in its order: the control socket, which must be gone
// before the lock is, and the pid file and the lock. Those who follow the events hear the outcome first.
func (g *Gateway) surrenderItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	return one("home", "control socket, pid file, lock", func(ctx context.Context) error {
		rep := r.Report()
		outcome := r.Outlook()
		g.awaitEvents(ctx)
		g.events.Emit(ops.EventShutdownEnded, rep.ID, "shutdown "+outcome, map[string]any{"outcome": outcome, "elapsed_ms": rep.ElapsedMS, "exit_code": rep.ExitCode})
		g.events.Close()
		var errs []error
		for _, c := range g.opts.Surrender {
			if err := closeWithin(ctx, c); err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w", c.Kind, c.ID, err))
			}
		}
		return errors.Join(errs...)
	})
}

// flushBound is what the phases' events may take to reach those who follow them; a log that hangs may hold them up.
const flushBound = 100 * time.Millisecond

func (g *Gateway) awaitEvents(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushBound)
	defer cancel()
	select {
	case <-g.eventsFlushed:
	case <-ctx.Done():
	}
}

// closeWithin gives c half of the time that is left, so that one that hangs leaves some to the next.
func closeWithin(ctx context.Context, c Closer) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
	}
	done := make(chan error, 1)
	go func() { done <- c.Close(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
