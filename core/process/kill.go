package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

var errSilent = errors.New("some orphans could not be identified")

// KillPID ends the tree whose leader is or was pid. It sends TERM to the tree's groups and members, sends KILL to what is
// left after grace, and scans. A grace <= 0 is KILL at once. It fails with ErrNotTracked if there is no such tree. The
// report names what could not be killed.
//
// Every kill returns as soon as a scan finds nothing left, and at the latest grace and 1 s after it began. Its report has
// a Problem if it could not scan. When ctx ends before the grace, KILL is sent at once, and the kill returns within about
// 100 ms. If ctx has a deadline, its last part is reserved for KILL and the scan.
func (r *Registry) KillPID(ctx context.Context, pid int, grace time.Duration) (Report, error) {
	r.mu.Lock()
	wanted := r.byPID[pid]
	r.mu.Unlock()
	if wanted == nil {
		return Report{}, fmt.Errorf("kill pid %d: %w", pid, ErrNotTracked)
	}
	return r.end(ctx, only(wanted), grace), nil
}

// KillSession ends the trees of one session, except those of PolicyGateway, and drops the output of those that ended. It
// costs nothing for a session that started nothing, or nothing since a verified kill. No process can belong to such a
// session, not even an unidentified orphan.
func (r *Registry) KillSession(ctx context.Context, session string, grace time.Duration) Report {
	last, some := r.lastSpawn(session)
	if !some {
		return Report{Verified: true}
	}
	report := r.end(ctx, selection{tree: func(t *tree) bool {
		return session != "" && t.session == session && t.policy != PolicyGateway
	}}, grace)
	r.mu.Lock()
	r.ended = slices.DeleteFunc(r.ended, func(p *Process) bool { return p.tree.session == session })
	if report.Verified && last != 0 && r.spawned[session] == last {
		delete(r.spawned, session)
	}
	r.mu.Unlock()
	return report
}

// lastSpawn is the last spawn of a session, and whether anything of the session may exist. It is 0 while a fork is under
// way, because that fork's child may appear after any scan.
func (r *Registry) lastSpawn(session string) (last uint64, some bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, some = r.spawned[session]
	if len(r.pending) > 0 {
		last = 0
	}
	for _, t := range r.trees {
		some = some || t.session == session
	}
	return last, some
}

// KillSessions ends the trees of every session, except those of PolicyGateway, in one kill: one TERM, one grace, one
// KILL, and shared scans. It costs as much as the kill of one session.
func (r *Registry) KillSessions(ctx context.Context, grace time.Duration) Report {
	return r.end(ctx, selection{tree: func(t *tree) bool { return t.session != "" && t.policy != PolicyGateway }}, grace)
}

// KillTurn ends the trees of PolicyTurn of one turn.
func (r *Registry) KillTurn(ctx context.Context, turn string, grace time.Duration) Report {
	return r.end(ctx, selection{none: true, tree: func(t *tree) bool {
		return turn != "" && t.turn == turn && t.policy == PolicyTurn
	}}, grace)
}

// KillAll ends every tracked tree, every other descendant of the program, however it hides, and every process that carries our
// life's marker. All end at once, so it costs as much as one kill. It may be called again.
func (r *Registry) KillAll(ctx context.Context, grace time.Duration) Report {
	return r.end(ctx, selection{tree: func(*tree) bool { return true }, all: true}, grace)
}

func (r *Registry) end(ctx context.Context, sel selection, grace time.Duration) Report {
	began := time.Now()
	open, final := r.awaitForks(ctx, sel.all)
	if !open {
		return Report{Verified: true} // never opened, or closed: no process is ours
	}
	if r.childrenGone(sel) {
		return Report{Verified: true, Took: time.Since(began)}
	}
	k := newKill(r, sel)
	defer k.release(final)
	k.mark()
	if grace > 0 && k.terminate(ctx, began.Add(grace)) {
		return k.done(began)
	}
	defer r.hurry()()
	killed := time.Now()
	for round := 0; ; round++ {
		if k.verifyGone(ctx, killed.Add(verifyWait+scanWait)) {
			return k.done(began)
		}
		wait := verifyWait
		if ctx.Err() != nil {
			wait = lateWait
		}
		left := time.Until(killed.Add(wait))
		if round > 0 && left <= 0 {
			return k.done(began)
		}
		k.signal(unix.SIGKILL)
		// Not ctx: KILL takes a moment, and an immediate scan would report dying processes as survivors.
		k.await(context.WithoutCancel(ctx), time.Now().Add(min(killRound, max(left, lateWait))))
	}
}

// terminate sends TERM until everything has ended, which it reports, or until the given time. It stops earlier where ctx
// ends early, so that KILL and its scan have their share.
func (k *kill) terminate(ctx context.Context, until time.Time) (over bool) {
	if deadline, ok := ctx.Deadline(); ok {
		reserve := min(verifyWait, time.Until(deadline)/3)
		if last := deadline.Add(-reserve); last.Before(until) {
			until = last
		}
	}
	for {
		if k.verifyGone(ctx, until) {
			return true
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return false
		}
		k.signal(unix.SIGTERM)
		if !k.await(ctx, until) {
			return false
		}
	}
}

// awaitForks reports whether the registry is open, and whether a kill of everything is final: nothing can be started any
// more and no fork is under way. Before a final kill it waits a moment for the forks that began before Refuse to be
// entered. If a fork hangs, its child is found as a descendant.
func (r *Registry) awaitForks(ctx context.Context, all bool) (open, final bool) {
	for until := time.Now().Add(forkWait); ; {
		r.mu.Lock()
		open, final = r.open, all && r.refused && len(r.pending) == 0
		wait := r.open && all && r.refused && !final
		r.mu.Unlock()
		if !wait || time.Now().After(until) || !pause(time.Millisecond, ctx.Done()) {
			return open, final
		}
	}
}

// signal sends sig to what the last scan found: to a whole group where possible, to the rest one by one. TERM is sent
// once to each, because programs take a second one for impatience. KILL is sent as often as needed. A program that gets TERM
// before it has set its handler ends at once: a shell that was just started has not come to its trap yet.
func (k *kill) signal(sig unix.Signal) {
	k.note(sig)
	if sig == unix.SIGKILL {
		for dir := range k.dirs {
			k.r.groups.kill(dir)
		}
	}
	k.relay(sig)
	reached := k.signalGroups(sig)
	for _, t := range k.live {
		if sig == unix.SIGTERM && k.carried.spared[t.Ident] {
			continue
		}
		if sig == unix.SIGKILL || k.carried.empty[t.Ident] {
			t.killed = true
			t.err = k.r.send(t, unix.SIGKILL, false)
			continue
		}
		if t.termed {
			continue
		}
		t.termed = true
		if !reached[t.PGRP] {
			t.err = k.r.send(t, sig, false)
		}
		if t.State == 'T' {
			_ = k.r.send(t, unix.SIGCONT, false) // a stopped process acts on TERM only when it continues
		}
	}
}

// note records in the report that sig goes out, marks the trees as killed and closes their inputs.
func (k *kill) note(sig unix.Signal) {
	at := &k.report.TermAt
	if sig == unix.SIGKILL {
		at = &k.report.KillAt
	}
	if at.IsZero() && len(k.live) > 0 {
		*at = time.Now()
	}
	k.r.mu.Lock()
	for t := range k.trees {
		t.killed = true
	}
	k.r.mu.Unlock()
	for t := range k.trees {
		if t.handle != nil {
			_ = t.handle.CloseInput() // some programs ignore TERM and leave when their input ends
		}
	}
}

// signalGroups sends sig to whole process groups, and returns the groups that it reached.
func (k *kill) signalGroups(sig unix.Signal) (reached map[int]bool) {
	reached = map[int]bool{}
	for _, t := range k.groups {
		if sig == unix.SIGKILL || !t.termed {
			t.termed = true
			reached[t.PGRP] = k.r.send(t, sig, true) == nil
		}
	}
	for _, t := range k.live {
		if sig == unix.SIGTERM && (k.carried.spared[t.Ident] || k.carried.empty[t.Ident]) {
			continue
		}
		if k.r.self.groupTarget(t.proc) && (sig == unix.SIGKILL || !t.termed) {
			reached[t.PGRP] = k.r.send(t, sig, true) == nil
		}
	}
	return reached
}

// await waits until everything that the last scan found has ended, or may be identifiable by now. It is false at until,
// or when ctx ends.
func (k *kill) await(ctx context.Context, until time.Time) bool {
	left, silent := k.live, k.silent > 0
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		if left = living(left); len(left) == 0 && !silent {
			return true
		}
		silent = false
		rest := min(wait, time.Until(until))
		if rest <= 0 || !pause(rest, ctx.Done()) {
			return false
		}
	}
}

// done completes the report from the last scan.
func (k *kill) done(began time.Time) Report {
	byPID := func(a, b Identity) int { return a.PID - b.PID }
	slices.SortFunc(k.live, func(a, b *target) int { return byPID(a.Ident, b.Ident) })
	for _, t := range k.live {
		k.report.Survivors = append(k.report.Survivors, Survivor{t.Ident, t.why()})
	}
	for _, id := range slices.SortedFunc(maps.Keys(k.known), byPID) {
		t := k.known[id]
		if !t.termed && !t.killed {
			continue
		}
		if t.killed {
			k.report.Escalated++
		}
		k.report.Signalled = append(k.report.Signalled, id)
		if !slices.Contains(k.live, t) {
			k.report.Killed = append(k.report.Killed, id)
		}
	}
	k.report.Took = time.Since(began)
	if !k.report.Verified && k.report.Problem == nil && len(k.live) == 0 {
		k.report.Problem = errSilent
	}
	if !k.report.Verified {
		k.r.log.Warn("kill left survivors", "survivors", len(k.report.Survivors), "killed", len(k.report.Killed),
			"detail", k.report.Summary())
	}
	return k.report
}

// release ends the kill. final says that it is of everything that can ever exist.
func (k *kill) release(final bool) {
	k.closeFDs()
	k.r.mu.Lock()
	defer k.r.mu.Unlock()
	k.r.swept = k.r.swept || final && k.report.Verified
	for t := range k.trees {
		t.killing--
		t.failed = !k.report.Verified
		if t.failed {
			t.killed = false // a later end was not caused by this kill, as far as we know
		}
	}
}

// Left is how many processes of the tree are alive: its leader, and everything that it started, wherever that went (C5).
// It scans /proc unless it knows without a scan that none is alive. An error means that the scan failed.
func (p *Process) Left() (int, error) {
	if p.r.childrenGone(only(p.tree)) {
		return 0, nil
	}
	v := p.r.observe(context.Background(), time.Now().Add(sweepEvery), false)
	return len(v.owned[p.tree]), v.err
}

// Kill ends the process's tree as KillPID does, also when the leader has ended.
func (p *Process) Kill(ctx context.Context, grace time.Duration) Report {
	return p.r.end(ctx, only(p.tree), grace)
}
