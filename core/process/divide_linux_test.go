package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
	"gatewaytui/core/process/kernel"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/peer"
)

func TestBounds_FollowFromTheLimitsOfTheGateway(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name                     string
		want                     Bounds
		memory, processes, table uint64
		got                      Bounds
	}{
		{"nothing is limited", Bounds{TreeProcesses: 4096}, 0, 0, 32768, Bounds{Processes: 28672, TreeProcesses: 4096}},
		{"a small memory limit leaves a quarter", Bounds{}, 256 * mib, 0, 0, Bounds{Memory: 192 * mib, TreeMemory: 168 * mib}},
		{"a middle one an eighth", Bounds{}, 2048 * mib, 0, 0, Bounds{Memory: 1792 * mib, TreeMemory: 1568 * mib}},
		{"a large one half a gibibyte", Bounds{}, 64 << 30, 0, 0, Bounds{Memory: 63<<30 + 512*mib, TreeMemory: (63<<30 + 512*mib) / 8 * 7}},
		{"a limit of processes leaves some threads", Bounds{TreeProcesses: 4096}, 0, 300, 32768, Bounds{Processes: 236, TreeProcesses: 207}},
		{"what the config says counts", Bounds{mib, 2 * mib, 10, 8}, 256 * mib, 300, 32768, Bounds{mib, 2 * mib, 10, 8}},
		{"no tree has all processes", Bounds{Processes: 16, TreeProcesses: 16}, 0, 0, 0, Bounds{Processes: 16, TreeProcesses: 14}},
		{"nothing is known", Bounds{}, 0, 0, 0, Bounds{}},
	} {
		if got := tt.want.complete(tt.memory, tt.processes, tt.table); got != tt.got {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.got)
		}
	}
}

// files is a tree of files as control groups have them.
func files(t *testing.T, all map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range all {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What keeps limits from being set is named, and changes nothing.
func TestDivide_SaysWhyThereAreNoLimits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		why   string
	}{
		{"no controller", map[string]string{"cgroup.controllers": "cpu io\n", "cgroup.subtree_control": "\n"}, "neither the memory nor the pids controller"},
		{"another process is there", map[string]string{
			"cgroup.controllers": "memory pids\n", "cgroup.subtree_control": "\n", "cgroup.type": "domain\n", "cgroup.procs": "1\n",
		}, "another process (pid 1) is in the gateway's control group"},
		{"a process of another pid namespace is there", map[string]string{
			"cgroup.controllers": "memory pids\n", "cgroup.subtree_control": "\n", "cgroup.type": "domain\n", "cgroup.procs": "0\n",
		}, "another process (pid 0)"},
		{"nothing can be read", map[string]string{"x": ""}, "read the controllers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := files(t, tt.files)
			g := &groups{base: base, own: base, home: base + "/home", life: base + "/home/life"}
			d := g.divide(Bounds{}, os.Getpid())
			if d.why == nil || !strings.Contains(d.why.Error(), tt.why) || len(d.controllers()) > 0 && d.bounds != (Bounds{}) || d.undo != "" {
				t.Errorf("%+v, want %q", d, tt.why)
			}
			if text, err := os.ReadFile(base + "/cgroup.subtree_control"); err == nil && string(text) != "\n" {
				t.Errorf("the controllers became %q", text)
			}
			if _, err := os.Stat(filepath.Join(base, kernel.LeafGroup)); err == nil {
				t.Error("a group was made")
			}
		})
	}
}

// A group whose controllers an earlier life or the service manager enabled is used as it is.
func TestDivide_UsesWhatIsEnabledAlready(t *testing.T) {
	base := files(t, map[string]string{
		"cgroup.controllers": "memory pids\n", "cgroup.subtree_control": "memory pids\n",
		"home/cgroup.subtree_control": "", "home/life/cgroup.subtree_control": "", "home/memory.max": "", "home/pids.max": "",
		"home/life/tree/memory.max": "", "home/life/tree/pids.max": "", "home/life/tree/memory.oom.group": "",
	})
	g := &groups{base: base, own: filepath.Join(base, kernel.LeafGroup), home: base + "/home", life: base + "/home/life"}
	d := g.divide(Bounds{Memory: 1 << 30, TreeMemory: 1 << 20, Processes: 100, TreeProcesses: 50}, os.Getpid())
	if err := errors.Join(d.why, d.boundTree(base+"/home/life/tree")); err != nil || d.undo != "" {
		t.Fatalf("%+v, %v", d, err)
	}
	for file, want := range map[string]string{
		"cgroup.subtree_control": "memory pids\n", "home/cgroup.subtree_control": "+memory +pids", "home/life/cgroup.subtree_control": "+memory +pids",
		"home/memory.max": "1073741824", "home/pids.max": "100",
		"home/life/tree/memory.max": "1048576", "home/life/tree/pids.max": "50", "home/life/tree/memory.oom.group": "1",
	} {
		if text, err := os.ReadFile(filepath.Join(base, file)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v, want %q", file, text, err, want)
		}
	}
}

// The limit that a tree ran into is found in the figures of the kernel, of old kernels as well.
func TestReached_NamesTheLimit(t *testing.T) {
	const oom, noOOM = "low 0\nmax 9\noom 1\noom_kill 3\n", "low 0\nmax 9\noom 0\noom_kill 3\n"
	for _, tt := range []struct {
		name, limit, text string
		files             map[string]string
	}{
		{"none", "", "", map[string]string{"tree/memory.events": "oom 0\noom_kill 0\n", "tree/pids.events": "max 0\n"}},
		{"the memory of a tree", limit.TreeMemory, "limit of 64 MiB (limits.tree_memory", map[string]string{"tree/memory.events": oom}},
		{"the memory of all", limit.ToolsMemory, "limit of 1.0 GiB (limits.tools_memory)", map[string]string{"tree/memory.events": noOOM, "memory.events.local": oom}},
		{"the memory of the machine", "", "out of memory", map[string]string{"tree/memory.events": noOOM, "memory.events.local": noOOM}},
		{"the processes of a tree", limit.TreeProcesses, "limit of 50 processes and threads (limits.tree_processes", map[string]string{"tree/pids.events": "max 4\n", "tree/pids.peak": "50\n"}},
		{"the processes of a tree, Linux 5.15", limit.TreeProcesses, "limits.tree_processes", map[string]string{"tree/pids.events": "max 4\n"}},
		{"the processes of all", limit.ToolsProcesses, "limit of 100 processes and threads (limits.tools_processes)", map[string]string{"tree/pids.events": "max 4\n", "tree/pids.peak": "20\n", "pids.peak": "100\n"}},
		{"the processes of a group above", "", "a limit of processes above", map[string]string{"tree/pids.events": "max 4\n", "tree/pids.peak": "20\n", "pids.peak": "30\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := files(t, tt.files)
			g := &groups{home: home}
			d := &division{memory: true, pids: true, bounds: Bounds{Memory: 1 << 30, TreeMemory: 64 << 20, Processes: 100, TreeProcesses: 50}}
			hit := g.killed(home+"/tree", &sharing{}, d)
			if hit.text == "" {
				hit = g.refused(home+"/tree", &sharing{}, d)
			}
			if hit.name != tt.limit || !strings.Contains(hit.text, tt.text) || (hit.text == "") != (tt.text == "") {
				t.Errorf("%+v, want %q and %q", hit, tt.limit, tt.text)
			}
		})
	}
}

const playBounds = "PROCESS_TEST_BOUNDS"

// playLimited is a gateway with a guardian and limited trees: one that stays, one that takes memory without end, and one that
// forks without end. It says what became of each and "ready", and closes its registry at the end of its input.
func playLimited() error {
	var b Bounds
	if _, err := fmt.Sscan(os.Getenv(playBounds), &b.TreeMemory, &b.TreeProcesses); err != nil {
		return err
	}
	var mu sync.Mutex
	var events, reached []string
	r := New(Options{
		Life: os.Getenv(playLife), HomeID: testHomeOf(os.Getenv(playLife)), Log: discard, Guardian: true, KillGrace: short, Pass: passAll, Bounds: &b,
		OnEvent: func(typ ops.EventType, row ops.Process, text string) {
			mu.Lock()
			defer mu.Unlock()
			if typ == ops.EventProcessLimit {
				events = append(events, row.Limit)
			}
		},
		OnLimit: func(name string) {
			mu.Lock()
			defer mu.Unlock()
			reached = append(reached, name)
		},
	})
	ctx := context.Background()
	if err := r.Open(ctx); err != nil {
		return err
	}
	guardian, err := awaitGuardian(r)
	if err != nil {
		return err
	}
	fmt.Printf("guardian=%d\n", guardian)
	bystander, err := r.Spawn(ctx, spec(`exec sleep 3600`))
	if err != nil {
		return err
	}
	fmt.Printf("bystander=%d\n", bystander.PID())
	for _, script := range []string{
		`sleep 3600 & head -c 1G /dev/zero | tail -n 1; exit 0`,
		`exec sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do sleep 3600 & done'`,
	} {
		p, err := r.Spawn(ctx, spec(script))
		if err != nil {
			return err
		}
		exit, err := p.Wait(ctx)
		if err != nil {
			return err
		}
		left, err := p.Left()
		if err != nil {
			return err
		}
		fmt.Printf("exit=%d left=%d %s\n", exit.Code, left, exit.Limit)
	}
	_, controllers, why := r.Limits()
	mu.Lock()
	fmt.Printf("limits=%v %s\nevents=%d %s\nreached=%v\nready\n", controllers, why, len(events), strings.Join(events, "; "), reached)
	mu.Unlock()
	_, _ = os.Stdin.Read(make([]byte, 1)) // its end is what it waits for
	return r.Close(ctx)
}

// aGroup makes a control group of 160 MiB with the controllers memory and pids, and returns its directory.
func aGroup(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	root, _, err := ownGroup(string(mounts), "0::/\n")
	if err != nil {
		t.Skipf("runs where control groups of version 2 are mounted with the controllers memory and pids: %v", err)
	}
	dir := filepath.Join(root, fmt.Sprintf("gatewaytui.test-%d-%d", os.Getpid(), played.Add(1)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Skipf("runs where a control group can be made: %v", err)
	}
	t.Cleanup(func() {
		eventually.True(t, "the test's group can be removed", func() bool { return kernel.RemoveGroup(dir) == nil })
	})
	for file, text := range map[string]string{"memory.max": strconv.Itoa(160 << 20), "pids.max": "400"} {
		if err := kernel.WriteGroup(dir, file, text); err != nil {
			t.Skipf("runs where a new control group has the controllers memory and pids: %v", err)
		}
	}
	return dir
}

// limited is a gateway in a group of its own, and what it said.
func limited(t *testing.T, bounds string) (g *peer.Program, base, life string, said map[string][]string) {
	t.Helper()
	base = aGroup(t)
	life = fmt.Sprintf("%s-limited-%d", testLife, played.Add(1))
	t.Setenv(playLife, life)
	t.Setenv(playBounds, bounds)
	g = spawnOutside(t, "a gateway with limits", "sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, base)
	said = map[string][]string{}
	for g.Lines.Scan() && g.Lines.Text() != "ready" {
		name, text, _ := strings.Cut(g.Lines.Text(), "=")
		said[name] = append(said[name], text)
	}
	if g.Lines.Text() != "ready" || len(said["exit"]) != 2 {
		t.Fatalf("it did not become ready: %v, %v", said, g.Lines.Err())
	}
	return g, base, life, said
}

// asFound fails unless the group of a gateway that is gone is as it was found.
func asFound(t *testing.T, base string) {
	t.Helper()
	eventually.True(t, "the group is as it was found", func() bool {
		have, err := words(base + "/cgroup.subtree_control")
		_, noLeaf := os.Stat(filepath.Join(base, kernel.LeafGroup))
		return err == nil && len(have) == 0 && os.IsNotExist(noLeaf)
	})
}

// A tree that takes more than its limit ends whole, or can fork no more; its result, its row and an event name the limit. The
// gateway and other trees live, and the group is found as it was after the stop (HF3, HF4).
func TestHF4_ATreeOverItsLimitIsTheOnlyOneThatEnds(t *testing.T) {
	g, base, _, said := limited(t, "0 24")
	if got := said["limits"]; len(got) != 1 || !strings.HasPrefix(got[0], "[memory pids") {
		t.Errorf("in force are %q", got)
	}
	if hog := said["exit"][0]; !strings.HasPrefix(hog, "137 left=0 out of memory") || !strings.Contains(hog, "105 MiB (limits.tree_memory") {
		t.Errorf("the tree that took memory: %q", hog)
	}
	if fork := said["exit"][1]; strings.HasPrefix(fork, "0 ") || !strings.Contains(fork, "24 processes and threads (limits.tree_processes") {
		t.Errorf("the tree that forked: %q", fork)
	}
	if got := said["events"]; len(got) != 1 || !strings.HasPrefix(got[0], "2 ") {
		t.Errorf("the events are %q", got)
	}
	if got := said["reached"]; len(got) != 1 || got[0] != "[limits.tree_memory limits.tree_processes]" {
		t.Errorf("counted are %q", got)
	}
	pid, err := strconv.Atoi(said["bystander"][0])
	if err != nil {
		t.Fatal(err)
	}
	if p, err := statOf(pid); err != nil || !p.Alive() {
		t.Errorf("another tree ended: %v", err)
	}
	if own := groupOf(g.Process.Pid); filepath.Base(own) != kernel.LeafGroup {
		t.Errorf("the gateway is in %s", own)
	}
	// What an earlier life kept, and has ended since, keeps no group of its home.
	if homes, err := filepath.Glob(base + "/" + kernel.HomeGroup + "*"); err != nil || len(homes) != 1 || os.Mkdir(homes[0]+"/"+keptGroup+"earlier", 0o755) != nil {
		t.Errorf("the groups of homes are %q, %v", homes, err)
	}
	_ = g.Input.Close()
	if err := g.Wait(); err != nil {
		t.Errorf("the gateway ended with %v", err)
	}
	asFound(t, base)
}

// Where all tools together take too much, a whole tree of theirs ends, and its result names that limit.
func TestHF4_TheLimitOfAllToolsEndsATree(t *testing.T) {
	g, _, _, said := limited(t, fmt.Sprint(1<<40, 24))
	if hog := said["exit"][0]; !strings.HasPrefix(hog, "137 left=0 out of memory") || !strings.Contains(hog, "120 MiB (limits.tools_memory)") {
		t.Errorf("the tree that took memory: %q", hog)
	}
	_ = g.Input.Close()
	if err := g.Wait(); err != nil {
		t.Errorf("the gateway ended with %v", err)
	}
}

// The guardian ends limited trees as it ends others, and leaves the group as it was found.
func TestHF4_NothingOfLimitedTreesIsLeftByASIGKILL(t *testing.T) {
	g, base, life, said := limited(t, "0 24")
	began := time.Now()
	if err := g.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "nothing of the life is left", func() bool {
		there, err := kernel.Populated(base)
		return err == nil && !there && len(marked(t, life)) == 0
	})
	if took := time.Since(began); took > 2*time.Second+late {
		t.Errorf("it took %s", took)
	} else {
		t.Logf("%s, guardian %s", took, said["guardian"])
	}
	asFound(t, base)
}

// A gateway that finds others in the group that it was given has groups without limits, says why, and changes nothing.
func TestDivide_OthersInTheGroupCauseNoError(t *testing.T) {
	base := aGroup(t)
	leaf := filepath.Join(base, kernel.LeafGroup)
	if err := os.Mkdir(leaf, 0o755); err != nil {
		t.Fatal(err)
	}
	other := spawnOutside(t, "a process that waits")
	if err := kernel.WriteGroup(base, "cgroup.procs", strconv.Itoa(other.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	// As under DelegateSubgroup=: it need not move, and the kernel refuses.
	g := &groups{base: base, own: leaf, home: base + "/home", life: base + "/home/life"}
	d := g.divide(Bounds{}, os.Getpid())
	if !errors.Is(d.why, unix.EBUSY) || !strings.Contains(d.why.Error(), "processes are in "+base) || len(d.controllers()) > 0 {
		t.Errorf("%+v", d)
	}
	_ = other.Input.Close()
	_ = other.Wait()
}

func playWaiting() error {
	_, _ = os.Stdin.Read(make([]byte, 1)) // its end is what it waits for
	return nil
}
