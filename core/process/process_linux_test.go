package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
)

func TestRegistry_OpensOnceAndClosesForEver(t *testing.T) {
	r := registry(t)
	if err := New(Options{}).Open(t.Context()); !errors.Is(err, ErrOpen) {
		t.Errorf("a second registry: %v", err)
	}
	p := sh(t, r, `trap '' TERM; echo ready; exec sleep 1000`)
	ready(t, p)
	for i := range 3 {
		if err := r.Close(t.Context()); err != nil {
			t.Errorf("close number %d: %v", i+1, err)
		}
	}
	if exit := wait(t, p); exit.Signal != unix.SIGKILL {
		t.Errorf("what was left ended with %+v", exit)
	}
	if _, err := r.Spawn(t.Context(), spec(`exit 0`)); !errors.Is(err, ErrClosing) {
		t.Errorf("a spawn after Close: %v", err)
	}
	if rep := r.KillAll(t.Context(), 0); !rep.Verified || len(rep.Signalled) > 0 {
		t.Errorf("a kill after Close: %+v", rep)
	}
	if _, err := r.KillPID(t.Context(), p.PID(), 0); !errors.Is(err, ErrNotTracked) {
		t.Errorf("a kill of a pid after Close: %v", err)
	}
	var subreaper int
	if err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(ptr(&subreaper)), 0, 0, 0); err != nil || subreaper != 0 {
		t.Errorf("we still adopt orphans: %d, %v", subreaper, err)
	}
	registry(t) // the next one opens
}

func TestRegistry_CloseKeepsItsDeadline(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `trap '' TERM; echo ready; exec sleep 1000`)
	ready(t, p)
	r.opts.KillGrace = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	began := time.Now()
	if err := r.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
	if lives(p.tree.leader) {
		t.Error("the process lives on")
	}
}

// A registry can be read while it works, and says who is what.
func TestRegistry_Rows(t *testing.T) {
	r := registry(t)
	began := time.Now()
	a := sh(t, r, `echo one; echo two; sleep 1000 & sleep 1000 & wait`, func(s *Spec) { s.Session, s.Policy = "a", PolicyTurn })
	b := sh(t, r, `sleep 1000 & exit 5`, func(s *Spec) { s.Session, s.Command = "b", "make \x1b[31mall\x1b[0m" })
	eventually.True(t, "the sweep has seen the trees", func() bool {
		rows := r.Rows()
		return len(rows) == 2 && rows[0].TreeSize == 3 && rows[0].LastOutput == "two" && rows[1].State == "exited" && rows[1].TreeSize == 1 && rows[1].RSSBytes > 0
	})
	rows := r.Rows()
	for i, p := range []*Process{a, b} {
		row := rows[i]
		if row.PID != p.PID() || row.StartTicks != p.tree.leader.Start || row.PPID != os.Getpid() || row.Origin != ops.OriginSpawned || row.Session != p.Session() || row.Policy != p.tree.policy {
			t.Errorf("row %d is %+v", i, row)
		}
		if row.AgeMS < 0 || row.AgeMS > time.Since(began).Milliseconds()+1 || row.CPUPct < 0 || row.RSSBytes <= 0 {
			t.Errorf("row %d has age %d ms, %g %% CPU, %d bytes", i, row.AgeMS, row.CPUPct, row.RSSBytes)
		}
	}
	if strings.Contains(rows[1].Command, "\x1b") || !strings.HasPrefix(rows[1].Command, "make ") {
		t.Errorf("the command is shown as %q", rows[1].Command)
	}
	if got := r.SessionRows("b"); len(got) != 1 || got[0].PID != b.PID() || r.CountSession("a") != 1 || r.Count() != 2 {
		t.Errorf("of session b: %+v", got)
	}
	if got, ok := r.Get(a.PID()); !ok || got != a {
		t.Errorf("Get: %v, %v", got, ok)
	}
	verified(t, r.KillSession(t.Context(), "a", short))
	if _, ok := r.Get(a.PID()); ok {
		t.Error("what was a turn's is kept after its end")
	}
}

// A background process that has ended can still be asked for, the last 64 of them, until its session ends.
func TestGet_EndedBackgroundProcesses(t *testing.T) {
	r := registry(t)
	var ended []*Process
	for i := range endedKept + 3 {
		p := sh(t, r, fmt.Sprintf("echo %d", i))
		wait(t, p)
		ended = append(ended, p)
	}
	eventually.True(t, "no tree is left", func() bool { return r.Count() == 0 })
	for i, p := range ended {
		got, ok := r.Get(p.PID())
		if kept := i >= 3; ok != kept || kept && got != p {
			t.Errorf("process %d of %d: %v", i, len(ended), ok)
		}
	}
	if text, _ := ended[10].Output(); text != "10\n" {
		t.Errorf("its output is %q", text)
	}
	r.KillSession(t.Context(), "s", 0)
	if _, ok := r.Get(ended[10].PID()); ok {
		t.Error("it is kept after its session's end")
	}
}

func TestRegistry_Events(t *testing.T) {
	var mu sync.Mutex
	var got []string
	r := registry(t, func(o *Options) {
		o.OnEvent = func(typ ops.EventType, row ops.Process, text string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%s %d: %s", typ, row.PID, text))
		}
	})
	p := sh(t, r, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done`)
	ready(t, p)
	verified(t, p.Kill(t.Context(), patience))
	eventually.True(t, "the kill is reported", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(got) == 3
	})
	q := sh(t, r, `kill -TERM $$`) // after a KILL the report may name a lack of memory that another program caused
	wait(t, q)
	eventually.True(t, "no tree is left", func() bool { return r.Count() == 0 })
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		fmt.Sprintf("%s %d: process %d started", ops.EventProcessStarted, p.PID(), p.PID()),
		fmt.Sprintf("%s %d: process %d ended with status 7", ops.EventProcessExited, p.PID(), p.PID()),
		fmt.Sprintf("%s %d: process tree of pid %d killed and verified", ops.EventProcessKilled, p.PID(), p.PID()),
		fmt.Sprintf("%s %d: process %d started", ops.EventProcessStarted, q.PID(), q.PID()),
		fmt.Sprintf("%s %d: process %d ended by signal 15 (terminated)", ops.EventProcessExited, q.PID(), q.PID()),
	}
	if !slices.Equal(got, want) {
		t.Errorf("the events are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestExit_IsSaidAsShellsDo(t *testing.T) {
	r := registry(t)
	for _, tt := range []struct {
		script string
		want   Exit
	}{
		{`exit 0`, Exit{}},
		{`exit 42`, Exit{Code: 42}},
		{`kill -TERM $$`, Exit{Code: 143, Signal: syscall.SIGTERM}},
		{`kill -SEGV $$`, Exit{Code: 139, Signal: syscall.SIGSEGV}},
		{`exec no-such-program 2>/dev/null`, Exit{Code: 127}},
	} {
		got := wait(t, sh(t, r, tt.script))
		if got.At.IsZero() || got.Code != tt.want.Code || got.Signal != tt.want.Signal {
			t.Errorf("%s: %+v, want %+v", tt.script, got, tt.want)
		}
	}
}

// A process names itself; what it chose does not break the reading of its line, nor a screen.
func TestI4_AHostileNameIsReadAndShownInert(t *testing.T) {
	r := registry(t)
	p := play(t, r, "a hostile name")
	ready(t, p)
	got, err := statOf(p.PID())
	if err != nil || got.Start != p.tree.leader.Start || got.PPID != os.Getpid() || got.PGRP != p.PID() {
		t.Fatalf("its line reads as %+v, %v", got, err)
	}
	// An adopted one is shown with the arguments that it has.
	q := sh(t, r, `(setsid env -i /bin/bash -c "exec -a $'\e]0;title\a\e[2J\n' /bin/sleep 1000" </dev/null >&- 2>&- &); exit 0`)
	wait(t, q)
	for _, row := range r.Rows() {
		if strings.ContainsAny(row.Command, "\x1b\a\n") {
			t.Errorf("a command is shown as %q", row.Command)
		}
	}
	verified(t, r.KillAll(t.Context(), short))
}

func playRenamed() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil { // what follows is written below /proc/self
		return err
	}
	name := []byte("a) S 1 1 (\n\x1b\x00")
	if err := unix.Prctl(unix.PR_SET_NAME, uintptr(ptr(&name[0])), 0, 0, 0); err != nil {
		return err
	}
	// The name of the process is that of its first thread, which may be another.
	if err := os.WriteFile("/proc/self/comm", name[:len(name)-1], 0); err != nil {
		return err
	}
	fmt.Println("ready")
	<-time.After(time.Hour) // it is killed
	return nil
}
