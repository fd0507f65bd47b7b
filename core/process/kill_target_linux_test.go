package process

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/fixtures/eventually"
)

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
