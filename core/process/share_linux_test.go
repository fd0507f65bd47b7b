package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// shared is a registry that bounds sessions, on a machine that has the controllers.
func shared(t *testing.T, controllers ...string) *Registry {
	t.Helper()
	r := registry(t, func(o *Options) { o.Bounds = &Bounds{} })
	<-r.divided
	_, in := r.SessionLimits()
	for _, name := range controllers {
		if !slices.Contains(in, name) {
			soak.Missing(t, "no control group has the %s controller here", name)
		}
	}
	return r
}

func inSession(session string, s Share) func(*Spec) {
	return func(spec *Spec) { spec.Session, spec.Share = session, s }
}

// rowNow is the row of p; zero: p has none.
func rowNow(r *Registry, p *Process) ops.Process {
	for _, row := range r.Rows() {
		if row.PID == p.PID() {
			return row
		}
	}
	return ops.Process{}
}

func TestTR7_TooManyProcessesCostTheirSessionAlone(t *testing.T) {
	r := shared(t, "pids")
	few := Share{Processes: 6}
	other := sh(t, r, `exec sleep 1000`, inSession("b", few))
	p := sh(t, r, `for i in 1 2 3 4 5 6 7 8 9; do sleep 1000 & done; wait`, inSession("a", few))
	eventually.True(t, "the row names the limit", func() bool {
		r.lookAtLimits()
		return rowNow(r, p).LimitHit == LimitSessionProcesses
	})
	if row := rowNow(r, p); !strings.Contains(row.Limit, "limit of 6 processes") || row.Unlimited != "" || row.TreeSize > 6 || row.Owner != OwnerTool {
		t.Errorf("the row is %+v", row)
	}
	idle := func() string {
		text, _ := os.ReadFile(filepath.Join(r.old.homes[cpuController], "cpu.idle")) // empty: the kernel has none
		return strings.TrimSpace(string(text))
	}
	if r.old != nil && idle() != "1" && idle() != "" {
		t.Errorf("the tools do not yield: %q", idle())
	}
	// A second tree of the session has the same bound, and another session its own.
	if exit := wait(t, sh(t, r, `exec timeout 5 true`, inSession("a", few))); exit.Code == 0 { // a shell would try to fork for 15 s
		t.Errorf("a further process of the session: %+v", exit)
	}
	if exit := wait(t, sh(t, r, `sleep 0 & wait`, inSession("b", few))); exit.Code != 0 || rowNow(r, other).LimitHit != "" {
		t.Errorf("another session: %+v, %+v", exit, rowNow(r, other))
	}
	// What yields to every other program does not end on a busy machine.
	killed := r.hurry()
	eventually.True(t, "while a kill waits the tools have their weight", func() bool {
		r.lookAtLimits()
		return r.old == nil || idle() != "1"
	})
	killed()
	verified(t, p.Kill(t.Context(), short))
	eventually.True(t, "the tools have their weight again", func() bool {
		r.lookAtLimits()
		return r.old == nil || idle() != "1"
	})
	verified(t, other.Kill(t.Context(), short))
}

func TestTR7_TooMuchMemoryCostsItsSessionAlone(t *testing.T) {
	r := shared(t, "memory")
	other := sh(t, r, `exec sleep 1000`, inSession("b", Share{Memory: 32 << 20}))
	p := sh(t, r, `head -c 200000000 /dev/zero | tail`, inSession("a", Share{Memory: 32 << 20}))
	if exit := wait(t, p); exit.Code == 0 || !strings.Contains(exit.Limit, "32 MiB") || !strings.Contains(exit.Limit, LimitSessionMemory) {
		t.Errorf("it ended with %+v", exit)
	}
	if exit := wait(t, sh(t, r, `exit 3`, inSession("a", Share{Memory: 32 << 20}))); exit.Limit != "" {
		t.Errorf("a command that failed by itself afterwards ended with %+v", exit)
	}
	if row := rowNow(r, other); row.State != ops.ProcessRunning || row.LimitHit != "" {
		t.Errorf("the other session has %+v", row)
	}
	verified(t, other.Kill(t.Context(), short))
}

func TestTR7_TheShareOfCPUIsHeld(t *testing.T) {
	r := shared(t, "cpu")
	p := sh(t, r, `exec sleep 1000`, inSession("a", Share{CPU: 0.5}))
	file, want := filepath.Join(p.tree.sharing.old[cpuController], "cpu.cfs_quota_us"), "50000"
	if len(p.tree.sharing.old) == 0 {
		file, want = p.tree.sharing.dir+"/cpu.max", "50000 100000"
	}
	if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != want {
		t.Errorf("%s is %q, %v", file, text, err)
	}
	verified(t, p.Kill(t.Context(), short))
}

func TestTR7_TheGroupsOfASessionEndWithItsLastTree(t *testing.T) {
	r := shared(t, "pids")
	s := Share{Processes: 8}
	first, second := sh(t, r, `exec sleep 1000`, inSession("a", s)), sh(t, r, `exec sleep 1000`, inSession("a", s))
	dirs := []string{first.tree.sharing.dir}
	for _, dir := range first.tree.sharing.old {
		dirs = append(dirs, dir)
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
	left := func() (n int) {
		for _, dir := range dirs {
			if _, err := os.Stat(dir); err == nil {
				n++
			}
		}
		return n
	}
	verified(t, first.Kill(t.Context(), short))
	if left() != len(dirs) {
		t.Errorf("%d of the groups %q are left, and a tree is in them", left(), dirs)
	}
	verified(t, second.Kill(t.Context(), short))
	eventually.True(t, "the groups are gone", func() bool { return left() == 0 })
}

func TestTR7_WhatALifeLeftIsRemovedByTheNext(t *testing.T) {
	o, err := makeOldGroups("home of "+testLife, "an earlier life", nil)
	if o == nil {
		soak.Missing(t, "there are no control groups of version 1 here: %v", err)
	}
	dirs := o.sessions("a")
	if err := o.join(dirs, Share{Memory: 64 << 20, Processes: 8, CPU: 1}); err != nil {
		t.Fatal(err)
	}
	next, err := makeOldGroups("home of "+testLife, testLife, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Dir(dir)); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
	if err := next.remove(); err != nil {
		t.Error(err)
	}
	for _, home := range next.homes {
		if _, err := os.Stat(home); err == nil {
			t.Errorf("%s is still there", home)
		}
	}
}

func TestTR7_ARowSaysWhenNothingBoundsItsSession(t *testing.T) {
	r := registry(t, at(ContainmentSubreaper), func(o *Options) { o.Bounds = &Bounds{} })
	p := sh(t, r, `exec sleep 1000`, inSession("a", Share{Memory: 1 << 30, Processes: 100}))
	if row := rowNow(r, p); !strings.Contains(row.Unlimited, "memory, pids") {
		t.Errorf("the row says %q", row.Unlimited)
	}
	if p := sh(t, r, `exec sleep 1000`, func(s *Spec) { s.Session = "a" }); rowNow(r, p).Unlimited != "" {
		t.Errorf("a process without limits says %q", rowNow(r, p).Unlimited)
	}
}

// The groups of version 2 are checked on files of the same names.
func TestTR7_AGroupOfVersion2HasTheBoundsOfItsSession(t *testing.T) {
	base := files(t, map[string]string{
		"cgroup.subtree_control": "", "home/cgroup.subtree_control": "", "home/cpu.weight": "", "home/life/cgroup.subtree_control": "",
		"home/life/session-x/memory.max": "", "home/life/session-x/pids.max": "", "home/life/session-x/cpu.max": "", "home/life/session-x/cgroup.subtree_control": "",
		"home/life/session-x/tree-1/x": "", "home/life/tree-2/x": "",
	})
	g := &groups{base: base, own: base, home: base + "/home", life: base + "/home/life"}
	d := division{memory: true, pids: true, undo: "-memory -pids"}
	g.divideCPU([]string{"cpu", "memory", "pids"}, &d)
	if err := d.boundSession(g.life+"/session-x", Share{Memory: 1 << 20, Processes: 7, CPU: 1.5}); err != nil || !d.cpu || d.undo != "-memory -pids -cpu" {
		t.Fatalf("%+v, %v", d, err)
	}
	for file, want := range map[string]string{
		"memory.max": "1048576", "pids.max": "7", "cpu.max": "150000 100000", "cgroup.subtree_control": "+memory +pids +cpu",
	} {
		if text, err := os.ReadFile(filepath.Join(g.life, "session-x", file)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v, want %q", file, text, err, want)
		}
	}
	if weight, err := os.ReadFile(g.home + "/cpu.weight"); err != nil || string(weight) != "25" {
		t.Errorf("the weight is %q, %v", weight, err)
	}
	if trees := g.trees(g.life); !slices.Equal(trees, []string{g.life + "/session-x/tree-1", g.life + "/tree-2"}) {
		t.Errorf("the trees are %q", trees)
	}
}
