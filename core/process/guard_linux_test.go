package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/peer"
)

// hostile are trees that do what they can to be overlooked. Each says "child=PID" of whom it sets loose.
var hostile = []string{
	`trap '' TERM HUP INT; sleep 1000 & echo child=$!; exec sleep 1000`,
	`trap '' TERM HUP INT; setsid bash -c 'echo child=$$; exec sleep 1000' & wait`,
	`(setsid bash -c 'echo child=$$; exec sleep 1000' </dev/null &); exit 0`,
	`exec bash -c 'exec bash -c "sleep 1000 & echo child=\$!; exec sleep 1000"'`,
	`setsid env -i /bin/bash -c 'echo child=$$; exec /bin/sleep 1000' & wait`,
	`(setsid env -i /bin/bash -c 'trap "" TERM; echo child=$$; (exec /usr/bin/setsid /bin/sleep 1000) & wait' </dev/null &); exit 0`,
	// From here on they take their tag off as well (HF6).
	`ulimit -SR unlimited; env -i setsid -f /bin/bash -c 'echo child=$$; exec /bin/sleep 1000'; exit 0`,
	shed(`exec /bin/sleep 1000`),
	shed(`cd /; trap "" TERM HUP; exec </dev/null >/dev/null 2>&1; exec /bin/sleep 1000`),
	shed(`printf kthreadd >/proc/$$/comm; exec >&- 2>&- <&-; while :; do /bin/sleep 1000; done`),
	`ulimit -R 5000; ulimit -x 5000; (setsid env -i /bin/bash -c 'echo child=$$; exec /bin/sleep 1000' </dev/null &); exec sleep 1000`,
	`ulimit -SR hard; ulimit -Sx hard; setsid env -i /bin/bash -c 'echo child=$$; exec /bin/sleep 1000' & wait`,
}

// shed is a daemon, by a double fork, without environment and tag, that goes on with a script.
func shed(script string) string {
	return `(ulimit -SR 5000; ulimit -Sx 5000; setsid env -i /bin/bash -c 'echo child=$$; ` + script + `' &); exit 0`
}

// Variables that say how playGuarded plays.
const (
	playLife  = "PROCESS_TEST_LIFE"
	playLevel = "PROCESS_TEST_LEVEL"
	playTrees = "PROCESS_TEST_TREES"
	// playFound waits until everything is found and in the journal, and says "row=PID" of each row.
	playFound = "PROCESS_TEST_FOUND"
)

// playGuarded is a gateway with hostile trees and a guardian, of which playLife's is the life. It says the guardian's pid,
// then who its trees set loose, then "ready", and ends with its input: by closing its registry, or by hand of the test.
func playGuarded() error {
	trees, err := strconv.Atoi(os.Getenv(playTrees))
	if err != nil {
		return err
	}
	journal := &records{}
	r := New(Options{
		Journal: journal, Life: os.Getenv(playLife), HomeID: testHomeOf(os.Getenv(playLife)), Log: discard, Guardian: true,
		Containment: Containment(os.Getenv(playLevel)), KillGrace: short,
	})
	ctx := context.Background()
	if err := r.Open(ctx); err != nil {
		return err
	}
	pid, err := awaitGuardian(r)
	if err != nil {
		return err
	}
	fmt.Printf("guardian=%d\n", pid)
	var started []*Process
	var children []int
	for i := range trees {
		p, err := r.Spawn(ctx, spec(hostile[i%len(hostile)]))
		if err != nil {
			return err
		}
		fmt.Printf("leader=%d\n", p.PID())
		started = append(started, p)
	}
	line := regexp.MustCompile(`(?m)^child=\d+$`)
	for _, p := range started {
		said := ""
		if !eventually.Within(func() bool {
			text, _ := p.Output()
			said = line.FindString(text)
			return said != ""
		}) {
			return fmt.Errorf("pid %d says nothing", p.PID())
		}
		fmt.Println(said)
		child, _ := strconv.Atoi(strings.TrimPrefix(said, "child="))
		children = append(children, child)
	}
	if os.Getenv(playFound) != "" {
		if !eventually.Within(func() bool { return found(r, children, journal) }) {
			return errors.New("not everything was found")
		}
		for _, e := range journal.rows() {
			fmt.Printf("row=%d\n", e.PID)
		}
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1)) // its end
	return r.Close(ctx)
}

// found reports whether each child is a member of a tree, and each that took its tag off is in the journal.
func found(r *Registry, children []int, journal *records) bool {
	rows := journal.rows()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pid := range children {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(r.owners)), func(i ident) bool { return i.PID == pid }) {
			return false
		}
	}
	for i := range r.shed {
		if !slices.ContainsFunc(rows, func(e Entry) bool { return e.PID == i.PID }) {
			return false
		}
	}
	return true
}

// testHomeOf gives each life of a test a home of its own.
func testHomeOf(life string) string { return "home of " + life }

// guarded is a gateway outside of the test, with what it said of itself.
type guarded struct {
	*peer.Program
	life     string
	guardian ident
	trees    []ident // leaders, and who they set loose
	leaders  []ident
	loose    []ident // they stay until they are killed
	rows     []ident // in its journal, if it was to say so
}

// played counts the lives of gateways outside: each has its own, or the guardian of one would end the next.
var played atomic.Int64

func playedGuarded(t testing.TB, level Containment, trees int) *guarded {
	t.Helper()
	g := &guarded{life: fmt.Sprintf("%s-%d", testLife, played.Add(1))}
	t.Setenv(playLife, g.life)
	t.Setenv(playLevel, string(level))
	t.Setenv(playTrees, strconv.Itoa(trees))
	g.Program = spawnOutside(t, "a gateway with a guardian")
	for g.Lines.Scan() && g.Lines.Text() != "ready" {
		name, number, _ := strings.Cut(g.Lines.Text(), "=")
		pid, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("it says %q", g.Lines.Text())
		}
		p, err := statOf(pid)
		switch {
		case name == "guardian" && err == nil:
			g.guardian = p.Ident
		case name == "row":
			if err == nil {
				g.rows = append(g.rows, p.Ident)
			}
		case err == nil:
			g.trees = append(g.trees, p.Ident)
			if name == "child" {
				g.loose = append(g.loose, p.Ident)
			} else {
				g.leaders = append(g.leaders, p.Ident)
			}
		}
	}
	if g.Lines.Text() != "ready" {
		t.Fatalf("it did not become ready: %v", g.Lines.Err())
	}
	procs, err := kernel.Table(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range g.loose {
		for _, p := range descendants(procs, i.PID, nil) {
			g.trees = append(g.trees, p.Ident)
		}
	}
	if len(g.loose) != trees {
		t.Fatalf("%d processes set loose by %d trees", len(g.loose), trees)
	}
	return g
}

// left are the processes of the life that live, by pid and by any mark.
func (g *guarded) left(t testing.TB) []int {
	t.Helper()
	var pids []int
	for _, i := range g.trees {
		if lives(i) {
			pids = append(pids, i.PID)
		}
	}
	for _, p := range marked(t, g.life) {
		pids = append(pids, p.PID)
	}
	procs, err := kernel.Table(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		if tag := kernel.MarksOf(p.PID).Tag(); p.Alive() && tag.Of(g.life) {
			pids = append(pids, p.PID)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// kill kills the gateway as the kernel would, and returns how long it took until nothing of its life was left.
func (g *guarded) kill(t testing.TB) time.Duration {
	t.Helper()
	began := time.Now()
	if err := g.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = g.Wait() // it was killed
	eventually.True(t, "its trees have ended", func() bool { return !slices.ContainsFunc(g.trees, lives) })
	took := time.Since(began) // and not what it costs to look at every process of the machine
	eventually.True(t, "nothing of the killed life is left", func() bool { return len(g.left(t)) == 0 })
	return took
}

// The gateway killed, every tree of it ends within 2 s, even if it hides, and the guardian with them
// (promise 2; C2). What is not its own stays: another gateway's trees, and a process that only looks like one of its.
func TestC2_TheGuardianEndsTheTreesOfAKilledGateway(t *testing.T) {
	levels(t, "hostile trees", func(t *testing.T, level Containment) {
		other := playedGuarded(t, level, 3)
		lookAlike := exec.Command("sleep", "1000")
		lookAlike.Env = []string{EnvLife + "=" + other.life + "x", EnvSession + "=s", EnvHomeID + "=" + testHome()}
		if err := lookAlike.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = lookAlike.Process.Kill(), lookAlike.Wait() }()

		t.Run("gateway", func(t *testing.T) {
			g := playedGuarded(t, level, 2*len(hostile))
			if took := g.kill(t); took > 2*time.Second {
				t.Errorf("it took %v", took)
			}
			eventually.True(t, "the guardian ends", func() bool { return !lives(g.guardian) })
		})
		for _, i := range other.loose {
			if !lives(i) {
				t.Errorf("pid %d is of another gateway, and was ended", i.PID)
			}
		}
		if p, err := statOf(lookAlike.Process.Pid); err != nil || !p.Alive() {
			t.Error("a process that only looks like a tracked one was ended")
		}

		// A planned end leaves nothing either, and the guardian goes with it.
		if err := other.Input.Close(); err != nil {
			t.Error(err)
		}
		if err := other.Wait(); err != nil {
			t.Errorf("a planned end: %v", err)
		}
		if left := other.left(t); len(left) > 0 {
			t.Errorf("a planned end left %v", left)
		}
		if lives(other.guardian) {
			t.Error("the guardian outlives a planned end")
		}
	})
}

// The guardian holds nothing, listens to no signal, uses little memory and says what it is (DESIGN.md, 5; C16).
func TestGuardian_IsASmallProcessOfItsOwn(t *testing.T) {
	r := registry(t, func(o *Options) { o.Guardian = true })
	pid := guardianOf(t, r, 0)
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP} {
		if err := unix.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
		if err != nil {
			t.Fatalf("the guardian: %v", err)
		}
		return string(b)
	}
	if args := read("cmdline"); !strings.HasPrefix(args, "gatewaytui: guardian of life "+testLife+"\x00") {
		t.Errorf("its arguments are %q", args)
	}
	if os.Geteuid() != 0 { // HF2: the rest of it is for root to read
		if _, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("its environment can be read: %v", err)
		}
	} else if env := read("environ"); strings.Contains(env, testLife) || strings.Contains(env, "PATH=") {
		t.Errorf("its environment is %q", env)
	}
	p, err := statOf(pid)
	if err != nil || p.SID != pid || p.PGRP != pid {
		t.Errorf("its session is %d, its group %d, %v", p.SID, p.PGRP, err)
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if os.Geteuid() == 0 {
		if err != nil {
			t.Fatal(err)
		}
		if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || cwd != "/" {
			t.Errorf("its directory is %s, %v", cwd, err)
		}
	}
	for _, fd := range fds {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if to != os.DevNull && !strings.HasPrefix(to, "socket:") && to != "anon_inode:[pidfd]" && !strings.HasPrefix(to, "pidfd:") || len(fds) > 5 {
			t.Errorf("descriptor %s of %d is %s", fd.Name(), len(fds), to)
		}
	}
	if tag := kernel.MarksOf(pid).Tag(); tag.Valid() {
		t.Errorf("it carries the tag %x", tag)
	}

	// No kill by the registry reaches it.
	sh(t, r, `exec sleep 1000`)
	verified(t, r.KillAll(t.Context(), short))
	if !lives(p.Ident) {
		t.Error("the end of everything ended the guardian")
	}
	if n := r.Count(); n != 0 {
		t.Errorf("%d trees: the guardian is counted", n)
	}
	// It heeded none of the signals: the one who watches now is the one from the beginning.
	if now, err := r.Guardian(); now != pid {
		t.Errorf("the guardian is %d, %v, and was %d", now, err, pid)
	}
}

// A guardian that is killed is replaced, and the new one does what the old one would have.
func TestGuardian_ItsDeathIsMended(t *testing.T) {
	r := registry(t, func(o *Options) { o.Guardian = true })
	first := guardianOf(t, r, 0)
	if err := unix.Kill(first, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := guardianOf(t, r, first)
	p, err := statOf(second)
	if err != nil || !p.Alive() {
		t.Errorf("the new one: %+v, %v", p, err)
	}
	eventually.True(t, "the old guardian has been reaped", func() bool {
		_, err := statOf(first)
		return err != nil
	})
}

// So is one that is stopped: it would guard nothing.
func TestGuardian_AStoppedOneIsReplaced(t *testing.T) {
	r := registry(t, func(o *Options) { o.Guardian = true })
	first := guardianOf(t, r, 0)
	if err := unix.Kill(first, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	second := guardianOf(t, r, first)
	if p, err := statOf(second); err != nil || !p.Alive() || p.State == 'T' {
		t.Errorf("the new one: %+v, %v", p, err)
	}
	if _, err := statOf(first); err == nil {
		t.Error("the old one is still there")
	}
}

func TestGuardian_SwitchedOff(t *testing.T) {
	r := registry(t)
	if pid, why := r.Guardian(); pid != 0 || why == nil {
		t.Errorf("there is a guardian: %d, %v", pid, why)
	}
}

// awaitGuardian waits for a guardian other than the one before.
func guardianOf(t testing.TB, r *Registry, before int) int {
	t.Helper()
	var pid int
	eventually.True(t, "there is a guardian", func() bool {
		pid, _ = r.Guardian()
		return pid != 0 && pid != before
	})
	return pid
}
