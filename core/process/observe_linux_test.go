package process

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
	"gatewaytui/fixtures/eventually"
)

// What descended from us before the registry was opened is not tracked: it is neither shown nor ended (B14).
func TestB14_WhatWasThereBeforeIsLeftAlone(t *testing.T) {
	cmd := exec.Command("bash", "-c", `sleep 1000 & wait`)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if cmd.ProcessState == nil {
			_, _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL), cmd.Wait()
		}
	}()
	var before []proc
	eventually.True(t, "it has a child", func() bool {
		procs, err := kernel.Table(nil)
		if err != nil {
			t.Fatal(err)
		}
		before = descendants(procs, cmd.Process.Pid, nil)
		return len(before) == 1
	})
	r := registry(t)
	p := sh(t, r, `exec sleep 1000`)
	rep := r.KillAll(t.Context(), short)
	verified(t, rep, p.tree.leader)
	if len(rep.Signalled) != 1 || !lives(before[0].Ident) || cmd.Process.Signal(unix.Signal(0)) != nil {
		t.Errorf("%v were signalled", rep.Signalled)
	}

	// An orphan that it leaves is ours to wait for, its own status is not (C3).
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("its status was taken: %v", err)
	}
	if err := unix.Kill(before[0].PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the orphan is reaped", childless)
}

// An orphan that no scan saw below its parent, and that has no tag, finds its tree by the markers, and its session when
// the tree is gone.
func TestC5_AnOrphanIsKnownByItsMarkers(t *testing.T) {
	r := untagged(t, ContainmentSubreaper)
	t.Run("its tree", func(t *testing.T) {
		r.scanTurn <- struct{}{}
		p := sh(t, r, `(setsid bash -c 'echo child=$$; exec sleep 1000' </dev/null &); exec sleep 1000`)
		child := said(t, p, "child")
		eventually.True(t, "the child is an orphan", func() bool { return orphaned(t, child) })
		r.giveScan()
		rep, err := r.KillPID(t.Context(), p.PID(), short)
		if err != nil {
			t.Fatal(err)
		}
		verified(t, rep, child)
	})
	t.Run("its session", func(t *testing.T) {
		r.scanTurn <- struct{}{}
		p := sh(t, r, `(env `+EnvSpawn+`=4711 setsid bash -c 'echo child=$$; exec sleep 1000' </dev/null &); exit 0`)
		child := said(t, p, "child")
		eventually.True(t, "the child is an orphan", func() bool { return orphaned(t, child) })
		r.giveScan()
		eventually.True(t, "it is a tree of the session", func() bool {
			return slices.ContainsFunc(r.SessionRows("s"), func(row ops.Process) bool {
				return row.PID == child.PID && row.Origin == ops.OriginAdopted && row.Policy == PolicySession
			})
		})
		verified(t, r.KillSession(t.Context(), "s", short), child)
	})
}

func orphaned(t *testing.T, i ident) bool {
	t.Helper()
	p, err := statOf(i.PID)
	if err != nil {
		t.Fatal(err)
	}
	return p.PPID == os.Getpid()
}

// The arguments of an adopted process are masked and inert where they are shown (I1, I4).
func TestI1_AnAdoptedCommandIsMasked(t *testing.T) {
	r := untagged(t, ContainmentSubreaper)
	r.scanTurn <- struct{}{}
	p := sh(t, r, `(setsid env -i /bin/bash -c $'exec -a "agent\e[2J" /bin/bash -c "echo child=\\$\\$; sleep 1000; :" --api-key sk-canary0123456789canary0123456789' </dev/null &); exit 0`)
	child := said(t, p, "child")
	eventually.True(t, "the child is an orphan", func() bool { return orphaned(t, child) })
	r.giveScan()
	var row ops.Process
	eventually.True(t, "the orphan has a row", func() bool {
		i := slices.IndexFunc(r.Rows(), func(row ops.Process) bool { return row.PID == child.PID })
		if i >= 0 {
			row = r.Rows()[i]
		}
		return i >= 0
	})
	if row.Origin != ops.OriginAdopted || row.Session != "" || row.Policy != PolicyGateway {
		t.Errorf("the row is %+v", row)
	}
	if strings.Contains(row.Command, "canary") || strings.Contains(row.Command, "\x1b") || !strings.HasPrefix(row.Command, "agent") {
		t.Errorf("the command is shown as %q", row.Command)
	}
	verified(t, r.KillAll(t.Context(), short), child)
}

func TestDescendants(t *testing.T) {
	at := func(pid, ppid int) proc { return proc{Ident: ident{PID: pid}, PPID: ppid} }
	pids := func(procs []proc) (out []int) {
		for _, p := range procs {
			out = append(out, p.PID)
		}
		return out
	}
	table := []proc{at(1, 0), at(10, 1), at(13, 12), at(12, 11), at(11, 10), at(20, 1), at(14, 10), at(15, 14)}
	for _, tt := range []struct {
		name  string
		procs []proc
		skip  int
		want  []int
	}{
		{"parents come before children, for any order", table, 0, []int{11, 14, 12, 15, 13}},
		{"what is below a skipped one is skipped", table, 11, []int{14, 15}},
		{"a circle ends", []proc{at(11, 10), at(12, 11), at(10, 12)}, 0, []int{11, 12}},
		{"nothing", nil, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := pids(descendants(tt.procs, 10, func(p proc) bool { return p.PID == tt.skip }))
			if !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

// A look at a process that does not answer costs one bound, and then nothing until it does.
func TestPeeker_AReadThatHangsCostsOneBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung, reads := make(chan struct{}), 0
		p := &peeker{read: func(ident, []byte) procInfo {
			if reads++; reads > 1 {
				return procInfo{marks: marks{life: "again"}}
			}
			<-hung
			return procInfo{marks: marks{life: "late"}}
		}}
		ask := func(want string, most time.Duration) {
			t.Helper()
			began := time.Now()
			if got := p.ask(ident{PID: 1}); got.life != want || time.Since(began) != most {
				t.Errorf("%q after %v, want %q after %v", got.life, time.Since(began), want, most)
			}
		}
		ask("", peekWait)
		for range 1000 { // as a scan asks about every process of the machine
			ask("", 0)
		}
		close(hung)
		synctest.Wait()
		ask("again", 0)
	})
}

// What a process says of itself is its own: of another one with the same pid nothing is believed (B11).
func TestB11_APeekAtARecycledPidSaysNothing(t *testing.T) {
	r := registry(t)
	p := sh(t, r, `echo ready; exec sleep 1000`)
	ready(t, p)
	now := p.tree.leader
	buf := make([]byte, environMax)
	eventually.True(t, "it says whose it is, once its exec is over", func() bool {
		got := peekAt(now, buf)
		return got.life == testLife && got.session == "s" && got.spawn == strconv.FormatUint(p.tree.id, 10)
	})
	now.Start++
	if got := peekAt(now, buf); got.said || got.life != "" || got.cmdline != nil {
		t.Errorf("of the one before: %+v", got)
	}
}

// While an orphan does not say whose it is, in the middle of an exec for instance, no tree that may be its own is said to
// be killed (C5).
func TestC5_AnOrphanThatSaysNothingKeepsAKillFromBeingVerified(t *testing.T) {
	r := untagged(t, ContainmentSubreaper)
	r.scanTurn <- struct{}{}
	answers := r.peeker
	r.peeker = &peeker{read: func(ident, []byte) procInfo { return procInfo{} }}
	p := sh(t, r, `(setsid bash -c 'echo child=$$; exec sleep 1000' </dev/null &); exec sleep 1000`)
	child := said(t, p, "child")
	eventually.True(t, "the child is an orphan", func() bool { return orphaned(t, child) })
	r.giveScan()

	rep, err := r.KillPID(t.Context(), p.PID(), 0)
	if err != nil || rep.Verified || !errors.Is(rep.Problem, errSilent) || len(rep.Killed) != 1 || !lives(child) {
		t.Errorf("%+v, %v", rep, err)
	}
	eventually.True(t, "it has a row, though it says nothing", func() bool {
		return slices.ContainsFunc(r.Rows(), func(row ops.Process) bool { return row.PID == child.PID })
	})

	r.scanTurn <- struct{}{}
	r.peeker = answers
	r.giveScan()
	verified(t, r.KillAll(t.Context(), short), child)
}
