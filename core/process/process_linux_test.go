package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
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

func TestSpawn_SaysWhyItCannot(t *testing.T) {
	r := registry(t)
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, []byte("no program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		spec Spec
		want string
	}{
		{"no program", Spec{Policy: PolicyTurn}, "no program given"},
		{"no policy", Spec{Argv: []string{"true"}}, `invalid policy ""`},
		{"another policy", Spec{Argv: []string{"true"}, Policy: "forever"}, `invalid policy "forever"`},
		{"a limit below zero", Spec{Argv: []string{"true"}, Policy: PolicyTurn, OutputLimit: -1}, "-1 bytes"},
		{"a zero byte", Spec{Argv: []string{"true", "a\x00b"}, Policy: PolicyTurn}, "zero byte"},
		{"a program that is nowhere", Spec{Argv: []string{"no-such-program"}, Policy: PolicyTurn}, `"no-such-program": executable file not found`},
		{"a path that is nowhere", Spec{Argv: []string{"/no/such/program"}, Policy: PolicyTurn}, "start /no/such/program: no such file"},
		{"a file that is not a program", Spec{Argv: []string{file}, Policy: PolicyTurn}, "permission denied"},
		{"a directory that is nowhere", Spec{Argv: []string{"true"}, Dir: "/no/such/directory", Policy: PolicyTurn}, "working directory: stat /no/such/directory"},
		{"a file for a directory", Spec{Argv: []string{"true"}, Dir: file, Policy: PolicyTurn}, "is not a directory"},
		{"arguments that are too long", Spec{Argv: []string{"true", strings.Repeat("x", 4<<20)}, Policy: PolicyTurn}, "argument list too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := descriptors(t)
			p, err := r.Spawn(t.Context(), tt.spec)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, %v, want %q", p, err, tt.want)
			}
			eventually.True(t, "every descriptor is closed", func() bool { return descriptors(t) <= before })
			if r.Count() != 0 {
				t.Error("there is a tree of what was not started")
			}
		})
	}
	t.Run("a caller that gave up", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 { // whichever of its waits notices first
			if p, err := r.Spawn(ctx, spec(`exec sleep 1000`)); err == nil {
				p.Kill(t.Context(), 0)
			} else if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		eventually.True(t, "nothing is left of it", func() bool { return r.Count() == 0 && len(marked(t, testLife)) == 0 })
	})
}

// A start that its caller gave up on ends when it is there, with what it started meanwhile, in any session.
func TestSpawn_WhatIsNotWaitedForIsEnded(t *testing.T) {
	j := &records{}
	r := registry(t, func(o *Options) { o.Journal = j })
	s := spec(`trap '' TERM; setsid sleep 1000 & exec sleep 1000`)
	s.OutputLimit = DefaultOutputLimit
	path, err := lookPath(s)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		r.mu.Lock()
		r.lastID++
		req := &spawnRequest{spec: s, path: path, id: r.lastID, env: r.environ(s, strconv.FormatUint(r.lastID, 10)), result: make(chan spawnResult), gone: make(chan struct{})}
		r.forking[req.id] = true
		r.mu.Unlock()
		close(req.gone) // as a caller does whose patience is over
		r.spawns <- req
	}
	eventually.True(t, "all were started and have ended", func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return len(j.started) == 5 && len(j.ended) == 5
	})
	for _, p := range marked(t, testLife) {
		t.Errorf("pid %d lives on", p.PID)
	}
}

// Many processes later we hold the descriptors that we held before.
func TestSpawn_LosesNoDescriptor(t *testing.T) {
	r := registry(t)
	use := func() {
		for _, change := range []func(*Spec){
			func(*Spec) {}, func(s *Spec) { s.PTY = true }, func(s *Spec) { s.Stdin = true }, func(s *Spec) { s.Policy = PolicyTurn },
		} {
			wait(t, sh(t, r, `exit 0`, change))
			p := sh(t, r, `sleep 1000 & wait`, change)
			verified(t, p.Kill(t.Context(), short))
		}
		eventually.True(t, "no tree is left", func() bool { return r.Count() == 0 })
	}
	use()
	before := descriptors(t)
	for range 5 {
		use()
	}
	eventually.True(t, "the descriptors are closed", func() bool { return descriptors(t) <= before })
}

func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// The environment has the markers, and none of the gateway's secrets or configuration (CONTRACT.md, 5; I1).
func TestSpawn_TheEnvironmentIsMarkedAndHasNoSecrets(t *testing.T) {
	t.Setenv("BOT_TOKEN", "canary-token")
	t.Setenv("GATEWAYTUI_MODEL_API_KEY", "canary-key")
	t.Setenv("GATEWAYTUI_LIFE", "the life of a gateway around us")
	t.Setenv("HARMLESS", "stays")
	t.Setenv("UNNAMED", "canary of a variable that does not pass")
	t.Setenv("PASSES", "as it is")
	r := registry(t, func(o *Options) {
		o.Secrets = []string{"BOT_TOKEN"}
		o.Pass = func(name, value string) bool { return name != "UNNAMED" && (name != "PASSES" || value == "as it is") }
	})
	p := sh(t, r, `env`, func(s *Spec) {
		s.Session = "api:user:alice"
		s.Env = []string{
			"EXTRA=1", "HARMLESS=replaced", "BOT_TOKEN=canary-again", EnvLife + "=forged", EnvHomeID + "=forged", "no assignment", "=nameless",
		}
	})
	wait(t, p)
	text, _ := p.Output()
	env := strings.Split(strings.TrimSpace(text), "\n")
	for _, want := range []string{
		EnvLife + "=" + testLife, EnvSession + "=api:user:alice", EnvHomeID + "=" + testHome(), EnvSpawn + "=1", "EXTRA=1", "HARMLESS=replaced", "PASSES=as it is",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is not there", want)
		}
	}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if strings.Contains(kv, "canary") || strings.Contains(kv, "forged") || strings.Contains(kv, "around us") || name == "no assignment" {
			t.Errorf("a child sees %s", kv)
		}
		if strings.HasPrefix(name, envPrefix) && !slices.Contains([]string{EnvLife, EnvSession, EnvHomeID, EnvSpawn}, name) {
			t.Errorf("a child sees %s", kv)
		}
	}
}

func TestSpawn_InADirectoryAndAGroupOfItsOwn(t *testing.T) {
	r := registry(t)
	dir := t.TempDir()
	p := sh(t, r, `pwd -P; ps -o pid=,pgid=,sid= -p $$; ls /proc/self/fd | wc -l; read x || echo no input`, func(s *Spec) { s.Dir = dir })
	wait(t, p)
	text, _ := p.Output()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 4 || lines[0] != dir || lines[3] != "no input" {
		t.Fatalf("it says %q", text)
	}
	pid := strconv.Itoa(p.PID())
	if ids := strings.Fields(lines[1]); !slices.Equal(ids, []string{pid, pid, pid}) {
		t.Errorf("pid, group and session are %v", ids)
	}
	// Of what we were started with and of what we opened, nothing goes on to a child.
	inherited, err := exec.Command("bash", "-c", `ls /proc/self/fd | wc -l`).Output()
	if err != nil || lines[2] != strings.TrimSpace(string(inherited)) {
		t.Errorf("it has %s descriptors, and a program of os/exec %s, %v", lines[2], inherited, err)
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
		o.OnEvent = func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%s %d: %s", e.Type, e.Process.PID, e.Text))
		}
	})
	p := sh(t, r, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done`)
	ready(t, p)
	verified(t, p.Kill(t.Context(), patience))
	q := sh(t, r, `kill -9 $$`)
	wait(t, q)
	eventually.True(t, "no tree is left", func() bool { return r.Count() == 0 })
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		fmt.Sprintf("%s %d: process %d started", ops.EventProcessStarted, p.PID(), p.PID()),
		fmt.Sprintf("%s %d: process %d ended with status 7", ops.EventProcessExited, p.PID(), p.PID()),
		fmt.Sprintf("%s %d: process tree of pid %d killed and verified", ops.EventProcessKilled, p.PID(), p.PID()),
		fmt.Sprintf("%s %d: process %d started", ops.EventProcessStarted, q.PID(), q.PID()),
		fmt.Sprintf("%s %d: process %d ended by signal 9 (killed)", ops.EventProcessExited, q.PID(), q.PID()),
	}
	if !slices.Equal(got, want) {
		t.Errorf("the events are\n%s\nnot\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A program that makes itself the parent of orphans, as a browser's does, and changes its name does not get away (C11).
func TestC11_TheSweepFindsWhatOutlivedItsParent(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `(setsid bash -c 'echo child=$$; exec sleep 1000' </dev/null &); exit 0`)
	child := said(t, p, "child")
	wait(t, p)
	eventually.True(t, "the orphan is in the row of its tree", func() bool {
		rows := r.Rows()
		return len(rows) == 1 && rows[0].PID == p.PID() && rows[0].State == "exited" && rows[0].TreeSize == 1
	})
	if left, err := p.Left(); left != 1 || err != nil {
		t.Errorf("%d are left, %v", left, err)
	}
	verified(t, r.KillSession(t.Context(), "s", short), child)
}

// When the program is killed the children go with it, though no gateway is left to end them (the parent-death signal).
func TestPdeathsig_DirectChildrenEndWithAKilledGateway(t *testing.T) {
	g := spawnOutside(t, "a gateway with children")
	var children []ident
	for range 3 {
		if !g.lines.Scan() {
			t.Fatalf("the gateway says nothing: %v", g.lines.Err())
		}
		pid, err := strconv.Atoi(g.lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		child, err := statOf(pid)
		if err != nil {
			t.Fatal(err)
		}
		children = append(children, child.Ident)
	}
	if err := g.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "its direct children are gone", func() bool { return !slices.ContainsFunc(children, lives) })
	_ = g.Wait() // it was killed
}

// playGateway starts children that ignore what they can, says their pids, and waits to be killed.
func playGateway() error {
	r := New(Options{Life: "life of a killed gateway", Log: discard})
	if err := r.Open(context.Background()); err != nil {
		return err
	}
	for range 3 {
		p, err := r.Spawn(context.Background(), spec(`trap '' TERM HUP INT; exec sleep 1000`))
		if err != nil {
			return err
		}
		fmt.Println(p.PID())
	}
	_, err := os.Stdin.Read(make([]byte, 1))
	return err
}

// As pid 1 of a container every orphan of it is ours to wait for (C3).
func TestC3_AsPid1NoZombieStays(t *testing.T) {
	wrap := []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child"}
	if out, err := exec.Command(wrap[0], append(wrap[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("runs where a pid namespace may be made: %v: %s", err, out)
	}
	t.Setenv(playTrees, strconv.Itoa(soak.Count(t, 15, 50)))
	g := spawnOutside(t, "pid 1", wrap...)
	for g.lines.Scan() {
		t.Log(g.lines.Text())
	}
	if err := g.Wait(); err != nil {
		t.Errorf("pid 1: %v", err)
	}
}

func playInit() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("pid %d is not 1", os.Getpid())
	}
	r := New(Options{Life: "life of pid 1", Log: discard})
	if err := r.Open(context.Background()); err != nil {
		return err
	}
	trees, err := strconv.Atoi(os.Getenv(playTrees))
	if err != nil {
		return err
	}
	for range trees {
		p, err := r.Spawn(context.Background(), spec(`(setsid true &); setsid env -i true & true & exit 3`))
		if err != nil {
			return err
		}
		if exit, err := p.Wait(context.Background()); err != nil || exit.Code != 3 {
			return fmt.Errorf("pid %d: %+v, %w", p.PID(), exit, err)
		}
	}
	until := time.Now().Add(patience)
	for {
		procs, err := new(scanner).scan()
		if err != nil {
			return err
		}
		if len(procs) == 1 && r.Count() == 0 {
			break
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d processes and %d trees are left: %+v", len(procs), r.Count(), procs)
		}
		<-time.After(5 * time.Millisecond)
	}
	if rep := r.KillAll(context.Background(), 0); !rep.Verified || len(rep.Signalled) > 0 {
		return fmt.Errorf("the last kill: %+v", rep)
	}
	return r.Close(context.Background())
}

// Orphans and children are reaped, each with its own status, and no other program's status is stolen (C3).
func TestC3_NoZombieStaysAndNoStatusIsStolen(t *testing.T) {
	r := registry(t)
	others, each := soak.Count(t, 8, 40), soak.Count(t, 5, 25)
	var wg sync.WaitGroup
	wg.Go(func() { // a library that starts programs by itself, next to the reaper
		for range others {
			err := exec.Command("bash", "-c", "exit 9").Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 9 {
				t.Errorf("the library's program ended with %v", err)
			}
		}
	})
	for worker := range 4 {
		wg.Go(func() {
			for i := range each {
				code := (worker*25 + i) % 250
				p, err := r.Spawn(t.Context(), spec(fmt.Sprintf(`(setsid true &); exit %d`, code)))
				if err != nil {
					t.Error(err)
					return
				}
				if exit, err := p.Wait(t.Context()); err != nil || exit.Code != code {
					t.Errorf("ended with %+v, %v, not %d", exit, err, code)
				}
			}
		})
	}
	wg.Wait()
	if !eventually.Within(childless) {
		procs, err := new(scanner).scan()
		t.Fatalf("children are left: %+v, %v; trees %+v; adopted %v; forking %v", descendants(procs, os.Getpid(), nil), err, r.Rows(), r.adopted, r.forking)
	}
	eventually.True(t, "no tree is left", func() bool { return r.Count() == 0 })
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
