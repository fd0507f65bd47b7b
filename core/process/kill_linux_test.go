package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
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
	if rep.Verified || len(rep.Survivors) != 1 || rep.Survivors[0].Identity != p.tree.leader {
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
