package gateway

import (
	"context"
	"errors"
	"time"

	"gatewaytui/core/process"
	"gatewaytui/core/shutdown"
)

// A stop ends all trees of its sessions in one kill: one TERM, one grace, one KILL, one verification, however many trees
// and sessions there are. Where turns were left that is the phase reap, else an item of the phase agents; the sweep finds
// what is left and what was started since.

// killItems end every tracked tree. An immediate stop gives no grace.
func (g *Gateway) killItems(_ context.Context, r *shutdown.Run) []shutdown.Item {
	return one("processes", "all trees", func(ctx context.Context) error { return g.killAll(ctx, r) })
}

// handOver is how long before the end of the phase agents its kill is left to the sweep, which verifies it.
const handOver = 150 * time.Millisecond

// sessionKill is the kill of the trees of all sessions. It begins in the phase agents and is joined by the sweep.
type sessionKill struct {
	report process.Report // written before done is closed
	done   chan struct{}
}

// sessionTrees is the item that ends the trees of all sessions at once, for the agents to be closed at the same time; none if
// there are no trees. From here on an agent's Close ends none.
func (g *Gateway) sessionTrees() []shutdown.Item {
	if g.procs.Count() == 0 {
		return nil
	}
	op := &sessionKill{done: make(chan struct{})}
	if !g.sessionKill.CompareAndSwap(nil, op) {
		return nil
	}
	return one("processes", "trees of all sessions", func(ctx context.Context) error {
		grace := g.cfg.Process.KillGrace.Duration
		// Not ctx, whose end would leave the trees unverified: the sweep waits for it.
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+2*shutdown.Verify)
		go func() { // ends within its context, and a scan
			defer close(op.done)
			defer cancel()
			op.report = g.procs.KillSessions(own, grace)
		}()
		last := grace + shutdown.Verify
		if deadline, ok := ctx.Deadline(); ok {
			last = time.Until(deadline)
		}
		timer := time.NewTimer(last - handOver)
		defer timer.Stop()
		select {
		case <-op.done:
			return g.killed(op.report)
		case <-timer.C:
			if last < grace+handOver {
				cancel() // KILL now: the phase has no time for the whole grace
			}
			return nil
		case <-ctx.Done():
			cancel()
			return context.Cause(ctx)
		}
	})
}

// joinSessionKill waits for the kill that the phase agents began.
func (g *Gateway) joinSessionKill(ctx context.Context) {
	op := g.sessionKill.Load()
	if op == nil {
		return
	}
	select {
	case <-op.done:
		_ = g.killed(op.report) // what is left is the caller's to end
	case <-ctx.Done():
	}
}

// agentProcesses is the registry as agents use it.
type agentProcesses struct {
	*process.Registry
	g *Gateway
}

// KillSession ends nothing during a stop that ends the trees of all sessions at once.
func (p agentProcesses) KillSession(ctx context.Context, session string, grace time.Duration) process.Report {
	if p.g.sessionKill.Load() != nil {
		return process.Report{Verified: true}
	}
	return p.Registry.KillSession(ctx, session, grace)
}

// killAll ends every tree. Once the stop is immediate, or this item is forced, there is no grace, not even the rest of
// one that has begun. What an earlier kill of this stop left gets no second grace.
func (g *Gateway) killAll(ctx context.Context, r *shutdown.Run) error {
	grace := g.cfg.Process.KillGrace.Duration
	if g.graceSpent.Load() {
		grace = 0
	}
	graceful, cut := context.WithCancel(ctx)
	defer cut()
	killed := make(chan process.Report, 1)
	go func() { killed <- g.procs.KillAll(graceful, grace) }()
	var report process.Report
	select {
	case report = <-killed:
	case <-r.Immediate():
		cut()
		report = g.procs.KillAll(ctx, 0)
		<-killed // its context is over
	case <-ctx.Done():
		report = <-killed
		if errors.Is(context.Cause(ctx), shutdown.ErrForced) {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown.ForceGrace)
			defer cancel()
			report = g.procs.KillAll(last, 0)
		}
	}
	return g.killed(report)
}

// killed is the result of a kill as an item's, and notes that what it left has had its grace.
func (g *Gateway) killed(report process.Report) error {
	if report.Verified {
		return nil
	}
	g.graceSpent.Store(true)
	return errors.New(report.Summary())
}
