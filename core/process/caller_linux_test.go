package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/process/kernel"
	"gatewaytui/fixtures/eventually"
)

// askCaller fails the test if the owner of pid is unknown.
func askCaller(t testing.TB, r *Registry, pid int) (Owner, bool) {
	t.Helper()
	owner, tracked, err := r.Caller(pid)
	if err != nil {
		t.Fatalf("whose process %d is: %v", pid, err)
	}
	return owner, tracked
}

// HF7: the owner of a process is found after any change to its environment, session, group and parents, and while its leader
// lives as well as afterwards.
func TestHF7_TheOwnerOfAProcessIsFoundByWhatItCannotShed(t *testing.T) {
	levels(t, "processes of a tool", func(t *testing.T, level Containment) {
		for name, script := range map[string]string{
			"the leader":                      `echo it=$$; exec sleep 1000`,
			"a child":                         `(echo it=$BASHPID; exec sleep 1000) & sleep 1000`,
			"a child without an environment":  `env -i bash -c 'echo it=$$; exec sleep 1000'; :`,
			"a daemon":                        `setsid -f bash -c 'echo it=$$; exec sleep 1000'; sleep 1000`,
			"a daemon without an environment": `env -i setsid -f bash -c 'echo it=$$; exec sleep 1000'; sleep 1000`,
			"a daemon of a daemon, both without parents": `env -i setsid -f setsid -f bash -c 'echo it=$$; exec sleep 1000'; sleep 1000`,
			"a daemon whose leader has ended":            `env -i setsid -f bash -c 'echo it=$$; exec sleep 1000'`,
			"a job whose leader has ended":               `(echo it=$BASHPID; exec sleep 1000) &`,
		} {
			t.Run(name, func(t *testing.T) {
				r := registry(t, at(level))
				p := sh(t, r, script, func(s *Spec) { s.Session, s.Turn = "api:user:bob", "turn-7" })
				it := said(t, p, "it")
				becomes(t, it, "sleep")
				if strings.Contains(name, "ended") {
					eventually.True(t, "its leader has ended", func() bool { _, ended := p.Exited(); return ended })
				}
				owner, tracked := askCaller(t, r, it.PID)
				want := Owner{Session: "api:user:bob", Turn: "turn-7"}
				if leader := leaderOf(r, it.PID); !tracked || owner != want || leader != p.tree.leader {
					t.Errorf("tracked %t, of %+v with the leader %v; it is of %+v with %v", tracked, owner, leader, want, p.tree.leader)
				}
				if _, err := os.Stat(fmt.Sprintf("/proc/%d", it.PID)); err != nil || !lives(it) {
					t.Fatalf("it does not live any more: %v", err)
				}
			})
		}
	})
}

// Where children cannot be tagged, or shed the tag (HF6), a process below the gateway is still one of its own.
func TestHF7_WithoutATagTheOwnerIsFoundByTheParents(t *testing.T) {
	r := untagged(t, ContainmentSubreaper)
	p := sh(t, r, `env -i setsid -f bash -c 'echo it=$$; exec sleep 1000'`)
	it := said(t, p, "it")
	if _, tracked := askCaller(t, r, it.PID); !tracked {
		t.Error("a daemon without a tag is not known to be below the gateway")
	}
}

// A process that is not below the gateway is not a tool, and neither are the gateway's own helpers.
func TestHF7_AProcessFromOutsideIsNotATool(t *testing.T) {
	someone := stray(t)
	r := registry(t, func(o *Options) { o.Guardian = true })
	sh(t, r, `sleep 1000`)
	eventually.True(t, "there is a guardian", func() bool { pid, _ := r.Guardian(); return pid > 0 })
	guardian, _ := r.Guardian()
	// A process of the program that the registry did not start is in the program's group.
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	for name, pid := range map[string]int{
		"the gateway": os.Getpid(), "its parent": os.Getppid(), "pid 1": 1, "the guardian": guardian,
		"a process from before": someone.PID, "a child of the program itself": other.Process.Pid,
	} {
		if owner, tracked := askCaller(t, r, pid); tracked {
			t.Errorf("%s is taken for a process of %+v", name, owner)
		}
	}
}

// A process that is gone, an invalid pid, and a registry that was never open give no answer, rather than "from outside".
func TestHF7_AnUnknownOwnerIsAnError(t *testing.T) {
	r := registry(t)
	tool := sh(t, r, `exec sleep 1000`)
	next := New(Options{Life: "the next life", Log: discard})
	if _, tracked, err := next.Caller(tool.PID()); !errors.Is(err, ErrNotOpen) || tracked {
		t.Errorf("a tool that was kept, asking a registry that is not open: %t, %v", tracked, err)
	}
	if _, tracked, err := next.Caller(os.Getppid()); err != nil || tracked {
		t.Errorf("one from outside, asking a registry that is not open: %t, %v", tracked, err)
	}
	p := sh(t, r, `exit 0`)
	wait(t, p)
	for name, pid := range map[string]int{"one that ended": p.PID(), "pid 0": 0, "a negative one": -1, "an unused pid": 1 << 22} {
		if owner, tracked, err := r.Caller(pid); err == nil || tracked {
			t.Errorf("%s: tracked %t, of %+v, error %v", name, tracked, owner, err)
		}
	}
}

// What a life before kept and this one adopted belongs to its session, though it does not descend from this life.
func TestHF7_WhatWasAdoptedFromAnEarlierLifeBelongsToItsSession(t *testing.T) {
	levels(t, "a server with a detached child", func(t *testing.T, level Containment) {
		var kept Entry
		for _, row := range killedKeeper(t, level) {
			if row.Policy == PolicyKept {
				kept = row
			}
		}
		members := slices.DeleteFunc(keptOf(t, kept), func(p proc) bool { return p.SID != p.PID }) // the others end at any time
		r := registry(t, at(level))
		lasting := 0
		for _, m := range members {
			owner, tracked, err := r.Caller(m.PID)
			if err != nil && !lives(m.Ident) {
				continue // a short one of its loop
			}
			lasting++
			if tracked || err != nil {
				t.Errorf("before it is adopted, pid %d is of %+v, %v", m.PID, owner, err)
			}
		}
		if lasting == 0 {
			t.Fatalf("of what is kept there are %v", members)
		}
		if adopted := r.AdoptEarlier(t.Context(), []Entry{kept}); len(adopted) != 1 {
			t.Fatalf("adopted are %+v", adopted)
		}
		for _, m := range members {
			owner, tracked, err := r.Caller(m.PID)
			if err != nil && !lives(m.Ident) {
				continue
			}
			if err != nil || !tracked || owner.Session != "s" || leaderOf(r, m.PID).PID != kept.PID {
				t.Errorf("pid %d: tracked %t, of %+v, %v", m.PID, tracked, owner, err)
			}
		}
	})
}

// A caller whose parents end while it is looked at is still known as tracked.
func TestHF7_AChainOfParentsThatEndIsClimbedAgain(t *testing.T) {
	r := registry(t)
	file := filepath.Join(t.TempDir(), "go")
	// Ten shells, each the parent of the next, that end together.
	script := `n=${1:-0}; if [ $n -lt 10 ]; then env -i bash -c "$2" - $((n+1)) "$2" "$3" & while [ ! -e "$3" ]; do sleep 0.01; done; else echo it=$$; exec sleep 1000; fi`
	p := start(t, r, Spec{Session: "s", Argv: []string{"bash", "-c", script, "-", "0", script, file}, Policy: PolicySession})
	it := said(t, p, "it")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if owner, tracked, err := r.Caller(it.PID); err == nil && (!tracked || owner.Session != "s") {
			t.Fatalf("tracked %t, of %+v", tracked, owner)
		}
	}
	eventually.True(t, "all of its parents have ended", func() bool { now, err := statOf(it.PID); return err == nil && now.PPID == os.Getpid() })
	if owner, tracked := askCaller(t, r, it.PID); !tracked || owner.Session != "s" {
		t.Errorf("tracked %t, of %+v", tracked, owner)
	}
}

// BenchmarkCaller tells whose a process is with 1,000 trees: a leader, a child that no scan has seen, and one from outside.
func BenchmarkCaller(b *testing.B) {
	const n = 1000
	r := registry(b)
	fleet(b, r, n, ":")
	p := sh(b, r, `(echo it=$BASHPID; exec sleep 1000) & sleep 1000`)
	child := said(b, p, "it")
	for name, pid := range map[string]int{"leader": p.PID(), "child": child.PID, "outside": os.Getppid()} {
		b.Run(fmt.Sprintf("trees=%d/who=%s", n, name), func(b *testing.B) {
			for b.Loop() {
				if _, tracked, err := r.Caller(pid); err != nil || tracked != (name != "outside") {
					b.Fatal(tracked, err)
				}
			}
		})
	}
	b.Run(fmt.Sprintf("trees=%d/who=daemon", n), func(b *testing.B) {
		d := said(b, sh(b, r, `env -i setsid -f bash -c 'echo d=$$; exec sleep 1000'`), "d")
		for b.Loop() {
			r.mu.Lock()
			delete(r.owners, d) // as before its first scan
			r.mu.Unlock()
			if _, tracked, err := r.Caller(d.PID); err != nil || !tracked || !kernel.MarksOf(d.PID).Tag().Valid() {
				b.Fatal(tracked, err)
			}
		}
	})
}

// leaderOf is the leader of the tree that pid belongs to.
func leaderOf(r *Registry, pid int) ident {
	p, _ := statOf(pid)
	if tree, _, _ := r.treeOf(p); tree != nil {
		return tree.leader
	}
	return ident{}
}
