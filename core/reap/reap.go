// Package reap ends the process trees of a gateway's stop.
//
// A stop ends all trees of its sessions in one kill: one TERM, one grace, one KILL, one verification, however many trees and
// sessions there are. Where turns were left that is the phase reap, else an item of the phase agents; the sweep finds what is
// left and what was started since. No tree gets two graces.
package reap

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/process"
	"gatewaytui/core/shutdown"
)

// Killer ends process trees. *process.Registry is one.
type Killer interface {
	agent.Processes
	Count() int
	KillSessions(ctx context.Context, grace time.Duration) process.Report
	KillAll(ctx context.Context, grace time.Duration) process.Report
}

// Trees is what one stop kills with. The phases reap, agents and sweep share it. Its methods may be called from any goroutine.
type Trees struct {
	procs Killer
	grace time.Duration // from TERM to KILL

	// joined is the kill of the trees of all sessions, nil before it.
	joined atomic.Pointer[sessionKill]
	// graceSpent says that a kill of this stop left a process that has had its grace.
	graceSpent atomic.Bool
}

// New returns the trees of procs. grace is the time from TERM to KILL.
func New(procs Killer, grace time.Duration) *Trees { return &Trees{procs: procs, grace: grace} }

// Left is how many trees run.
func (k *Trees) Left() int { return k.procs.Count() }

// graceLeft is the grace of the next kill of this stop.
func (k *Trees) graceLeft() time.Duration {
	if k.graceSpent.Load() {
		return 0
	}
	return k.grace
}

// Reap is the item of the phase reap, which ends every tracked tree. An immediate stop gives no grace.
func (k *Trees) Reap(_ context.Context, r *shutdown.Run) []shutdown.Item {
	return []shutdown.Item{{Kind: "processes", ID: "all trees", Run: func(ctx context.Context) error { return k.All(ctx, r) }}}
}

// handOver is how long before the end of the phase agents its kill is left to the sweep, which verifies it.
const handOver = 150 * time.Millisecond

// sessionKill is the kill of the trees of all sessions. It begins in the phase agents and is joined by the sweep.
type sessionKill struct {
	report process.Report // written before done is closed
	done   chan struct{}
}

// Sessions is the item that ends the trees of all sessions at once, for the agents to be closed at the same time; none if
// there are no trees. From here on an agent's Close kills nothing.
func (k *Trees) Sessions() []shutdown.Item {
	if k.procs.Count() == 0 {
		return nil
	}
	op := &sessionKill{done: make(chan struct{})}
	if !k.joined.CompareAndSwap(nil, op) {
		return nil
	}
	return []shutdown.Item{{Kind: "processes", ID: "trees of all sessions", Run: func(ctx context.Context) error { return k.killSessions(ctx, op) }}}
}

// killSessions runs the kill op of the trees of all sessions, and returns before the end of the phase.
func (k *Trees) killSessions(ctx context.Context, op *sessionKill) error {
	grace := k.graceLeft()
	// Not ctx, whose end would leave the trees unverified: the sweep waits for it.
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+2*shutdown.Verify)
	go func() { // ends within its context, and a scan
		defer close(op.done)
		defer cancel()
		op.report = k.procs.KillSessions(own, grace)
	}()
	last := grace + shutdown.Verify
	if deadline, ok := ctx.Deadline(); ok {
		last = time.Until(deadline)
	}
	select {
	case <-op.done:
		return k.killed(op.report)
	case <-time.After(last - handOver):
		if last < grace+handOver {
			cancel() // KILL now: the phase has no time for the whole grace
		}
		return nil
	case <-ctx.Done():
		cancel()
		return context.Cause(ctx)
	}
}

// Join waits for the kill that the phase agents began.
func (k *Trees) Join(ctx context.Context) {
	op := k.joined.Load()
	if op == nil {
		return
	}
	select {
	case <-op.done:
		_ = k.killed(op.report) // what is left is the caller's to end
	case <-ctx.Done():
	}
}

// KillSession implements agent.Processes. It ends nothing during a stop that ends the trees of all sessions at once.
func (k *Trees) KillSession(ctx context.Context, session string, grace time.Duration) process.Report {
	if k.joined.Load() != nil {
		return process.Report{Verified: true}
	}
	return k.procs.KillSession(ctx, session, grace)
}

// KillTurn implements agent.Processes: it ends the trees that a turn left running.
func (k *Trees) KillTurn(ctx context.Context, turn string, grace time.Duration) process.Report {
	return k.procs.KillTurn(ctx, turn, grace)
}

// All ends every tree. An immediate stop, or a forced item, gives no grace, not even the rest of
// one that has begun. What an earlier kill of this stop left gets no second grace.
func (k *Trees) All(ctx context.Context, r *shutdown.Run) error {
	grace := k.graceLeft()
	graceful, cut := context.WithCancel(ctx)
	defer cut()
	killed := make(chan process.Report, 1)
	go func() { killed <- k.procs.KillAll(graceful, grace) }()
	var report process.Report
	select {
	case report = <-killed:
	case <-r.Immediate():
		cut()
		report = k.procs.KillAll(ctx, 0)
		<-killed // its context is over
	case <-ctx.Done():
		report = <-killed
		if errors.Is(context.Cause(ctx), shutdown.ErrForced) {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown.ForceGrace)
			defer cancel()
			report = k.procs.KillAll(last, 0)
		}
	}
	return k.killed(report)
}

// killed is the result of a kill as an item's, and notes that what it left has had its grace.
func (k *Trees) killed(report process.Report) error {
	if report.Verified {
		return nil
	}
	k.graceSpent.Store(true)
	return errors.New(report.Summary())
}
