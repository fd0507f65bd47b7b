package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gatewaytui/fixtures/eventually"
)

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
		r.pending[req.id] = &tree{}
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
