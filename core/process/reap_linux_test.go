package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"

	"gatewaytui/core/process/kernel"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

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
		if !g.Lines.Scan() {
			t.Fatalf("the gateway says nothing: %v", g.Lines.Err())
		}
		pid, err := strconv.Atoi(g.Lines.Text())
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
	for g.Lines.Scan() {
		t.Log(g.Lines.Text())
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
	var procs []proc
	if !eventually.Within(func() bool {
		procs, err = kernel.Table(nil)
		return err == nil && len(procs) == 1 && r.Count() == 0
	}) {
		return fmt.Errorf("%d processes and %d trees are left: %+v, %w", len(procs), r.Count(), procs, err)
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
		procs, err := kernel.Table(nil)
		t.Fatalf("children are left: %+v, %v; trees %+v; adopted %v; forking %v", descendants(procs, os.Getpid(), nil), err, r.Rows(), r.adopted, r.pending)
	}
	eventually.True(t, "no tree is left", func() bool { return r.Count() == 0 })
}
