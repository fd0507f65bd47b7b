package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// For any change by a tree to its signals, sessions, groups, names, descriptors and environment, "killed"
// is said only when they are gone (C5, C6, C7).
func TestC5_KilledIsSaidOnlyWhenTheWholeTreeIsGone(t *testing.T) {
	const asleep = `bash -c 'echo child=$$; exec sleep 1000'`
	for _, tt := range []struct{ name, script string }{
		{"a plain child", `sleep 1000 & echo child=$!; wait`},
		{"a child that ignores TERM", `trap '' TERM; sleep 1000 & echo child=$!; wait`},
		{"a child in a session of its own", `setsid ` + asleep + ` & wait`},
		{"a child in a session of its own that ignores TERM", `trap '' TERM; setsid ` + asleep + ` & wait`},
		{"a double-forked daemon", `(setsid ` + asleep + ` </dev/null &); sleep 1000`},
		{"a chain of execs", `exec bash -c 'exec bash -c "echo child=\$\$; exec sleep 1000"'`},
		{"a child without the markers", `env -i ` + asleep + ` & wait`},
		{"a child without the markers in a session of its own", `setsid env -i ` + asleep + ` & wait`},
		{"three levels with the middle one gone", `bash -c "setsid ` + strings.ReplaceAll(strings.ReplaceAll(asleep, `'`, `"'"`), `"'"`, `'`) + ` & exit 0"; sleep 1000`},
		{"a leader that ended, and its child", `sleep 1000 & echo child=$!`},
		{"a leader that ended, and its child in a session of its own", `setsid ` + asleep + ` &`},
		{"a stopped child", `sleep 1000 & kill -STOP $!; echo child=$!; wait`},
		{"a leader that stopped itself", `sleep 1000 & echo child=$!; kill -STOP $$; wait`},
		{"a child without descriptors", `sleep 1000 <&- >&- 2>&- & echo child=$!; wait`},
		{"a child with another title", `(echo child=$BASHPID; exec -a $'kworker/0:1\n) R 1 1 1' sleep 1000) & wait`},
		{"a child after a zombie that is not reaped", `sleep 1000 & echo child=$!; true & exec sleep 1000`},
	} {
		levels(t, tt.name, func(t *testing.T, level Containment) {
			r := registry(t, at(level))
			p := sh(t, r, tt.script)
			child := said(t, p, "child")
			rep, err := r.KillPID(t.Context(), p.PID(), short)
			if err != nil {
				t.Fatal(err)
			}
			verified(t, rep, child, p.tree.leader)
			if !slices.ContainsFunc(rep.Killed, func(i Identity) bool { return i.PID == child.PID }) {
				t.Errorf("the report does not name the child %d: %v", child.PID, rep.Killed)
			}
			if _, exited := p.Exited(); !exited {
				t.Error("the leader was not waited for")
			}
			if n := r.Count(); n != 0 {
				t.Errorf("%d trees are left", n)
			}
		})
	}
}

// What was set loose without markers, session or group before any scan saw it belongs to its tree all the same: by its
// control group, or the tag that it was born with. Where there is neither it is shown as adopted, and the end of
// everything reaches it.
func TestC5_WhatHidFromEveryScanIsOfItsTree(t *testing.T) {
	hide := func(t *testing.T, r *Registry) (leader *Process, child ident) {
		t.Helper()
		r.scanTurn <- struct{}{} // no scan sees the child below its parent
		defer r.giveScan()
		p := sh(t, r, `(setsid env -i /bin/bash -c 'echo child=$$; exec /bin/sleep 1000' </dev/null &); exit 0`)
		child = said(t, p, "child")
		eventually.True(t, "the child is an orphan", func() bool {
			c, err := statOf(child.PID)
			if err != nil {
				t.Error(err)
			}
			return err != nil || c.PPID == os.Getpid()
		})
		becomes(t, child, "sleep")
		return p, child
	}
	levels(t, "by what it cannot shed", func(t *testing.T, level Containment) {
		r := registry(t, at(level))
		p, child := hide(t, r)
		eventually.True(t, "the orphan is in the row of its tree", func() bool {
			rows := r.Rows()
			return len(rows) == 1 && rows[0].PID == p.PID() && rows[0].State == "exited" && rows[0].TreeSize == 1
		})
		verified(t, r.KillSession(t.Context(), "s", short), child)
	})
	t.Run("by its control group alone", func(t *testing.T) {
		needs(t, ContainmentCgroup)
		r := untagged(t, ContainmentCgroup)
		_, child := hide(t, r)
		verified(t, r.KillSession(t.Context(), "s", short), child)
	})
	t.Run("on a machine with neither", func(t *testing.T) {
		r := untagged(t, ContainmentSubreaper)
		_, child := hide(t, r)
		eventually.True(t, "the orphan has a row", func() bool {
			return slices.ContainsFunc(r.Rows(), func(row ops.Process) bool {
				return row.PID == child.PID && row.Origin == ops.OriginAdopted && row.StartTicks == child.Start && row.Command == "/bin/sleep 1000"
			})
		})
		verified(t, r.KillAll(t.Context(), short), child)
	})
}

func TestC7_TermThenGraceThenKill(t *testing.T) {
	t.Run("a process that obeys ends by itself and the kill does not wait out its grace", func(t *testing.T) {
		r := registry(t)
		p := sh(t, r, `trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done`)
		ready(t, p)
		const grace = time.Minute
		rep := p.Kill(t.Context(), grace)
		verified(t, rep)
		if rep.TermAt.IsZero() || !rep.KillAt.IsZero() || rep.Escalated != 0 || rep.Took >= grace/2 {
			t.Errorf("TERM at %v, KILL at %v, %d escalated, took %v", rep.TermAt, rep.KillAt, rep.Escalated, rep.Took)
		}
		if exit := wait(t, p); exit.Code != 0 || exit.Signal != 0 {
			t.Errorf("it ended with %+v, not by its own hand", exit)
		}
		if text, _ := p.Output(); !strings.Contains(text, "bye") {
			t.Errorf("its last words are lost: %q", text)
		}
	})
	t.Run("a process that does not obey has its grace, then KILL", func(t *testing.T) {
		r := registry(t)
		p := sh(t, r, `trap '' TERM; echo ready; exec sleep 1000`)
		ready(t, p)
		const grace = 300 * time.Millisecond
		began := time.Now()
		rep := p.Kill(t.Context(), grace)
		verified(t, rep)
		if waited := rep.KillAt.Sub(began); rep.TermAt.IsZero() || waited < grace || rep.Escalated != 1 {
			t.Errorf("TERM at %v, KILL %v later, %d escalated", rep.TermAt, waited, rep.Escalated)
		}
		if rep.Took > grace+late {
			t.Errorf("the kill took %v, more than its grace", rep.Took)
		}
		if exit := wait(t, p); exit.Signal != unix.SIGKILL || exit.Code != 137 {
			t.Errorf("it ended with %+v", exit)
		}
	})
	t.Run("without a grace there is no TERM", func(t *testing.T) {
		r := registry(t)
		p := sh(t, r, `trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done`)
		ready(t, p)
		rep := p.Kill(t.Context(), 0)
		verified(t, rep)
		if !rep.TermAt.IsZero() || rep.KillAt.IsZero() {
			t.Errorf("TERM at %v, KILL at %v", rep.TermAt, rep.KillAt)
		}
	})
	t.Run("one that waits for the end of its input leaves when that is closed", func(t *testing.T) {
		r := registry(t)
		p := sh(t, r, `trap '' TERM; echo ready; cat; exit 3`, func(s *Spec) { s.Stdin = true })
		ready(t, p)
		rep := p.Kill(t.Context(), patience)
		verified(t, rep)
		if exit := wait(t, p); exit.Code != 3 {
			t.Errorf("it ended with %+v", exit)
		}
	})
	t.Run("a caller that gives up does not spare it", func(t *testing.T) {
		r := registry(t)
		p := sh(t, r, `trap '' TERM; echo ready; exec sleep 1000`)
		ready(t, p)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		rep := p.Kill(ctx, time.Hour)
		verified(t, rep)
		if rep.Took > patience {
			t.Errorf("it took %v", rep.Took)
		}
	})
	t.Run("a deadline before the grace is kept, KILL included", func(t *testing.T) {
		r := registry(t)
		p := sh(t, r, `trap '' TERM; echo ready; exec sleep 1000`)
		ready(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		rep := p.Kill(ctx, time.Hour)
		verified(t, rep)
		if rep.TermAt.IsZero() || rep.KillAt.IsZero() {
			t.Errorf("TERM at %v, KILL at %v", rep.TermAt, rep.KillAt)
		}
	})
}

// A kill that did not work is never reported as one that did (B15), and the row stays (C10).
func TestB15_SurvivorsAreNamed(t *testing.T) {
	r := registry(t, at(ContainmentSubreaper)) // what is immortal here is so for signals alone
	var immortal atomic.Int64
	send := r.send
	r.send = func(target *target, sig unix.Signal, group bool) error {
		if int64(target.PID) == immortal.Load() {
			return fmt.Errorf("it runs as uid 4711: %w", unix.EPERM)
		}
		if target.PGRP == int(immortal.Load()) && group {
			return errNoGroup
		}
		return send(target, sig, group)
	}
	p := sh(t, r, `sleep 1000 & echo child=$!; exec sleep 1000`)
	child := said(t, p, "child")
	immortal.Store(int64(p.PID()))

	const grace = 100 * time.Millisecond
	rep := p.Kill(t.Context(), grace)
	if rep.Verified || len(rep.Survivors) != 1 || rep.Survivors[0].Identity != r.identity(p.tree.leader) {
		t.Fatalf("the report is %+v", rep)
	}
	if why := rep.Survivors[0].Why; !strings.Contains(why, "uid 4711") {
		t.Errorf("the reason is %q", why)
	}
	if sum := rep.Summary(); !strings.Contains(sum, fmt.Sprintf("1 survived: %d (", p.PID())) {
		t.Errorf("the summary is %q", sum)
	}
	if rep.Took > grace+time.Second+late {
		t.Errorf("it took %v", rep.Took)
	}
	if lives(child) {
		t.Error("the child was spared with its parent")
	}
	if rows := r.Rows(); len(rows) != 1 || rows[0].PID != p.PID() || rows[0].State != "kill failed" {
		t.Errorf("the rows are %+v", rows)
	}

	immortal.Store(0)
	verified(t, p.Kill(t.Context(), grace))
}

// A process that goes as a zombie is gone (C3).
func TestC3_AZombieIsNotASurvivor(t *testing.T) {
	r := registry(t)
	dir := t.TempDir()
	p := sh(t, r, `(until [ -e go ]; do sleep 0.01; done) & echo child=$!; exec sleep 1000`, func(s *Spec) { s.Dir = dir })
	child := said(t, p, "child")
	becomes(t, p.tree.leader, "sleep") // which waits for no child
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the child is a zombie", func() bool {
		zombie, err := statOf(child.PID)
		return err == nil && zombie.State == 'Z'
	})
	left, err := p.Left()
	if err != nil || left != 1 {
		t.Errorf("%d are left, %v, of a leader and a zombie", left, err)
	}
	verified(t, p.Kill(t.Context(), short))
}

// Our own process, our group, our parent, pid 1 and the kernel's threads are never a target (B12).
func TestB12_NeverATarget(t *testing.T) {
	me, err := readSelf()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name          string
		p             proc
		never, aGroup bool
	}{
		{"pid 1", proc{Ident: ident{PID: 1}, PGRP: 1}, true, false},
		{"ourselves", proc{Ident: ident{PID: me.PID}, PGRP: me.PGRP}, true, false},
		{"ourselves, if we led another group", proc{Ident: ident{PID: me.PID}, PGRP: me.PID}, true, false},
		{"our parent", proc{Ident: ident{PID: me.PPID}, PGRP: me.PPID}, true, false},
		{"a child in our group", proc{Ident: ident{PID: 99999}, PGRP: me.PGRP}, true, false},
		{"a thread of the kernel", proc{Ident: ident{PID: 99999}, Flags: 0x00200000}, true, false},
		{"a child that leads its group", proc{Ident: ident{PID: 99999}, PGRP: 99999}, false, true},
		{"a child in another process's group", proc{Ident: ident{PID: 99999}, PGRP: 99998}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := me.untouchable(tt.p); got != tt.never {
				t.Errorf("never a target: %v", got)
			}
			if got := me.groupTarget(tt.p); got != tt.aGroup {
				t.Errorf("its group is a target: %v", got)
			}
		})
	}

	r := registry(t)
	for _, pid := range []int{-1, 0, 1, os.Getpid(), os.Getppid()} {
		if rep, err := r.KillPID(t.Context(), pid, 0); !errors.Is(err, ErrNotTracked) || len(rep.Signalled) > 0 {
			t.Errorf("kill of pid %d: %+v, %v", pid, rep, err)
		}
	}
	// A subprocess of a library in our own group.
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	theirs, err := statOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	p := sh(t, r, `exec sleep 1000`)
	rep := r.KillAll(t.Context(), short)
	verified(t, rep, p.tree.leader)
	if !lives(theirs.Ident) || len(rep.Signalled) != 1 {
		t.Errorf("signalled: %v; pid %d is not ours", rep.Signalled, theirs.PID)
	}
}

// A pid that was given out again is not signalled (B11).
func TestB11_ARecycledPidIsNeverSignalled(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `exec sleep 1000`)
	now, err := statOf(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	before := now
	before.Start-- // the process that had this pid
	if target, there, err := openTarget(before); there || target != nil || err != nil {
		t.Errorf("it was pinned: %+v, %v", target, err)
	}
	for _, group := range []bool{false, true} {
		_ = sendSignal(&target{proc: before, fd: -1}, unix.SIGKILL, group)
	}
	if left := living([]*target{{proc: before, fd: -1}, {proc: now, fd: -1}}); len(left) != 1 || left[0].proc != now {
		t.Errorf("living: %v", left)
	}
	// A signal to the right one would have been deadly: it is sent last, so that the one before is known to have missed.
	if !lives(now.Ident) {
		t.Fatal("the new owner of the pid was signalled")
	}
	if err := sendSignal(&target{proc: now, fd: -1}, unix.SIGKILL, false); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, p); exit.Signal != unix.SIGKILL {
		t.Errorf("it ended with %+v", exit)
	}
	// What has ended gives no error when signalled, and neither is a tree that is gone.
	if err := sendSignal(&target{proc: now, fd: -1}, unix.SIGKILL, false); err != nil {
		t.Errorf("a signal to what is gone: %v", err)
	}
	if rep := p.Kill(t.Context(), 0); !rep.Verified || len(rep.Signalled) > 0 {
		t.Errorf("a kill of what is gone: %+v", rep)
	}
}

// Without descriptors for pidfds a kill works by number and identity.
func TestKill_WithoutPidfds(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `trap '' TERM; setsid bash -c 'echo child=$$; exec sleep 1000' & wait`)
	child := said(t, p, "child")
	k := newKill(r, selection{tree: func(*tree) bool { return true }})
	k.noFDs = true
	defer k.release(false)
	if !k.scan(t.Context(), time.Now().Add(patience)) || len(k.live) != 2 {
		t.Fatalf("%d targets", len(k.live))
	}
	k.signal(unix.SIGKILL)
	if !k.await(t.Context(), time.Now().Add(patience)) {
		t.Error("they did not end")
	}
	if lives(child) || !k.verifyGone(t.Context(), time.Now().Add(patience)) {
		t.Error("the kill is not over")
	}
}

func TestKill_Scopes(t *testing.T) {
	owned := func(session, turn string, policy Policy) func(*Spec) {
		return func(s *Spec) { s.Session, s.Turn, s.Policy = session, turn, policy }
	}
	type kept map[string]bool
	for _, tt := range []struct {
		name string
		kill func(*Registry, map[string]*Process) Report
		ends []string
	}{
		{"one pid", func(r *Registry, ps map[string]*Process) Report {
			rep, err := r.KillPID(t.Context(), ps["a background"].PID(), short)
			if err != nil {
				t.Error(err)
			}
			return rep
		}, []string{"a background"}},
		{"a turn ends what is its own and spares the session's (C8)", func(r *Registry, _ map[string]*Process) Report {
			return r.KillTurn(t.Context(), "a1", short)
		}, []string{"a foreground"}},
		{"a session ends all of it but what is the gateway's (C9)", func(r *Registry, _ map[string]*Process) Report {
			return r.KillSession(t.Context(), "a", short)
		}, []string{"a foreground", "a background", "a other turn"}},
		{"the kill of all sessions spares what is the gateway's", func(r *Registry, _ map[string]*Process) Report {
			return r.KillSessions(t.Context(), short)
		}, []string{"a foreground", "a background", "a other turn", "b background"}},
		{"an empty turn matches none", func(r *Registry, _ map[string]*Process) Report {
			return r.KillTurn(t.Context(), "", short)
		}, nil},
		{"an empty session matches none", func(r *Registry, _ map[string]*Process) Report {
			return r.KillSession(t.Context(), "", short)
		}, nil},
		{"all is all", func(r *Registry, _ map[string]*Process) Report {
			return r.KillAll(t.Context(), short)
		}, []string{"a foreground", "a background", "a other turn", "a gateway", "b background", "no owner"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := registry(t)
			ps := map[string]*Process{
				"a foreground": sh(t, r, `exec sleep 1000`, owned("a", "a1", PolicyTurn)),
				"a background": sh(t, r, `exec sleep 1000`, owned("a", "a1", PolicySession)),
				"a other turn": sh(t, r, `exec sleep 1000`, owned("a", "a2", PolicyTurn)),
				"a gateway":    sh(t, r, `exec sleep 1000`, owned("a", "a1", PolicyGateway)),
				"b background": sh(t, r, `exec sleep 1000`, owned("b", "b1", PolicySession)),
				"no owner":     sh(t, r, `exec sleep 1000`, owned("", "", PolicyGateway)),
			}
			rep := tt.kill(r, ps)
			verified(t, rep)
			if len(rep.Killed) != len(tt.ends) {
				t.Errorf("%d were killed, of %d", len(rep.Killed), len(tt.ends))
			}
			gone := kept{}
			for _, name := range tt.ends {
				gone[name] = true
			}
			for name, p := range ps {
				if lives(p.tree.leader) == gone[name] {
					t.Errorf("%q lives: %v", name, !gone[name])
				}
			}
			if n := r.Count(); n != len(ps)-len(tt.ends) {
				t.Errorf("%d trees are left", n)
			}
		})
	}
}

// The grace of many sessions is one grace: every tree has its TERM before the first one gets KILL.
func TestKill_AllSessionsShareOneGrace(t *testing.T) {
	const sessions = 10
	r := registry(t, at(ContainmentSubreaper)) // a control group would be killed at once, past send
	var mu sync.Mutex
	termed, early := map[int]bool{}, 0
	send := r.send
	r.send = func(t *target, sig unix.Signal, group bool) error {
		mu.Lock()
		defer mu.Unlock()
		if sig == unix.SIGTERM {
			termed[t.PID] = true
		} else if sig == unix.SIGKILL && len(termed) < sessions {
			early++
		}
		return send(t, sig, group)
	}
	for i := range sessions {
		p := sh(t, r, `trap '' TERM; echo ready; exec sleep 1000`, func(s *Spec) { s.Session = "s" + strconv.Itoa(i) })
		ready(t, p)
		becomes(t, p.tree.leader, "sleep")
	}
	rep := r.KillSessions(t.Context(), short)
	verified(t, rep)
	if rep.Escalated != sessions {
		t.Errorf("%d trees needed KILL, want all %d", rep.Escalated, sessions)
	}
	if len(termed) != sessions || early > 0 {
		t.Errorf("%d of %d trees had TERM; KILL was sent %d times before all had", len(termed), sessions, early)
	}
}

// What is started while everything is ended does not escape: after Refuse one KillAll is enough (S1).
func TestS1_NothingStartedDuringTheEndEscapes(t *testing.T) {
	r := registry(t)
	var wg sync.WaitGroup
	var began sync.WaitGroup
	const spawners = 4
	most := soak.Count(t, 5, 20)
	began.Add(spawners)
	for range spawners {
		wg.Go(func() {
			began.Done()
			for range most {
				_, err := r.Spawn(t.Context(), spec(`trap '' TERM; sleep 1000 & setsid sleep 1000 & wait`))
				if errors.Is(err, ErrClosing) {
					return
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	began.Wait()
	r.KillAll(t.Context(), 0) // they go on, so it may come to no end; what it leaves is the next one's
	r.Refuse()
	verified(t, r.KillAll(t.Context(), short))
	for _, p := range marked(t, testLife) {
		t.Errorf("pid %d escaped", p.PID)
	}
	wg.Wait()
	if _, err := r.Spawn(t.Context(), spec(`exit 0`)); !errors.Is(err, ErrClosing) {
		t.Errorf("a spawn after Refuse: %v", err)
	}
}

func TestKill_ManyAtOnceOfTheSameTree(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `trap '' TERM; sleep 1000 & setsid sleep 1000 & echo ready; wait`)
	ready(t, p)
	var wg sync.WaitGroup
	for _, end := range []func() Report{
		func() Report { return p.Kill(t.Context(), short) },
		func() Report { return p.Kill(t.Context(), 0) },
		func() Report { return r.KillSession(t.Context(), "s", short) },
		func() Report { return r.KillAll(t.Context(), short) },
		func() Report { return r.KillAll(t.Context(), 0) },
	} {
		wg.Go(func() { verified(t, end(), p.tree.leader) })
	}
	wg.Wait()
	if n := r.Count(); n != 0 {
		t.Errorf("%d trees are left", n)
	}
}

// A tree that forks as fast as it can, in groups of its own, ignoring TERM, is ended: each process forks one that goes
// on, so there are few at a time and they never stay.
func TestC5_AForkFloodIsEnded(t *testing.T) {
	r := registry(t)
	flood := `trap '' TERM
n=$1
if [ "$n" -gt 0 ]; then setsid bash -c "$2" x $((n-1)) "$2" & fi
[ "$n" = 400 ] && echo ready
sleep 0.02
[ "$n" = 400 ] && sleep 1000
exit 0`
	p := start(t, r, Spec{Session: "s", Argv: []string{"bash", "-c", flood, "x", "400", flood}, Policy: PolicySession})
	ready(t, p)
	verified(t, p.Kill(t.Context(), short))
	for _, left := range marked(t, testLife) {
		t.Errorf("pid %d goes on", left.PID)
	}
}

// Outside of what descends from us, a process is ours by the whole of its marker and by nothing else (B13, B14, C4).
func TestB14_ALookAlikeIsSpared(t *testing.T) {
	strays := map[string]proc{} // by environment; they were set loose before we adopted orphans
	for _, env := range []string{
		EnvLife + "=" + testLife, EnvLife + "=another life", EnvLife + "=" + testLife + "x", "X=" + EnvLife + "=" + testLife, EnvSession + "=s",
	} {
		out, err := exec.Command("env", "-i", env, "/bin/bash", "-c", `/usr/bin/setsid /bin/sleep 1000 >&- 2>&- & echo $!`).Output()
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		eventually.True(t, "the stray is in a session of its own", func() bool {
			p, err := statOf(pid)
			if err != nil {
				t.Fatal(err)
			}
			strays[env] = p
			return p.SID == pid && p.PPID != os.Getpid()
		})
		t.Cleanup(func() { _ = sendSignal(&target{proc: strays[env], fd: -1}, unix.SIGKILL, false) })
	}
	r := registry(t)
	wait(t, sh(t, r, `exit 0`)) // a life that never started anything has nothing to look for
	verified(t, r.KillAll(t.Context(), short))
	for env, p := range strays {
		if ours := env == EnvLife+"="+testLife; lives(p.Ident) == ours {
			t.Errorf("the process with %s lives: %v", env, !ours)
		}
	}
}
