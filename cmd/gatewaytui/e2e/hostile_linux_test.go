package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// hostile are what a command does so that its processes outlive who started them. The processes that each leaves have
// MARK in their arguments, by which they are found: what is in the environment can be shed.
var hostile = []struct {
	script string
	leaves int // processes once all of them have been forked: sleep MARK, or a stopped bash
}{
	{`setsid sleep MARK &`, 1},                                                   // a session of its own
	{`(setsid sleep MARK </dev/null >/dev/null 2>&1 &)`, 1},                      // a daemon, by a double fork
	{`(trap '' TERM INT HUP; exec sleep MARK) &`, 1},                             // TERM is ignored, also after an exec
	{`bash -c 'exec bash -c "exec sh -c \"exec sleep MARK\""' &`, 1},             // a chain of execs
	{`env -i sleep MARK &`, 1},                                                   // without an environment
	{`(trap '' TERM; setsid env -i sleep MARK </dev/null >/dev/null 2>&1 &)`, 1}, // all of it
	{`bash -c 'sleep MARK & setsid env -i sleep MARK & exit 0' &`, 2},            // orphans of a parent that is gone
	{`bash -c 'sleep MARK & kill -STOP $BASHPID; wait' MARK &`, 2},               // stopped
	{`(ulimit -SR unlimited; exec setsid env -i sleep MARK) &`, 1},               // without its tag, as far as it knows
	{`(ulimit -SR 5000; ulimit -Sx 5000; exec setsid env -i sleep MARK) &`, 1},   // without it
	{`(ulimit -R 5000; ulimit -x 5000; cd /; setsid -f env -i sleep MARK)`, 1},   // and a daemon
}

// forest are hostile trees of which the test knows every process.
type forest struct {
	mark string
	// planted is how many processes each argument has once its tree stands: those of the tree, or the command that began it.
	planted map[string]int
}

// forests counts them, so that each has a mark of its own, and one test's are never another's.
var forests atomic.Int64

func newForest(t testing.TB) forest {
	f := forest{fmt.Sprintf("%d%06d", 3000+forests.Add(1), os.Getpid()%1_000_000), map[string]int{}}
	t.Cleanup(func() { // nothing is there where the test came to its end
		left := f.standing(t)
		for p := range left {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	})
	return f
}

// plant has the agents of users start n trees: so many in each tool call, in the background.
func (f forest) plant(g *gateway, n, perCall int, users ...string) {
	g.t.Helper()
	for first, call := 0, 0; first < n; first, call = first+perCall, call+1 {
		var command strings.Builder
		for i := first; i < min(first+perCall, n); i++ {
			tree := hostile[i%len(hostile)]
			command.WriteString(strings.ReplaceAll(tree.script, "MARK", f.argument(i)) + "\n")
			f.planted[f.argument(i)] = tree.leaves
		}
		f.planted[f.argument(n)]++
		g.job(users[call%len(users)], command.String()+"exec sleep "+f.argument(n))
	}
}

// argument is the time that the processes of tree i sleep: more than a day, and unlike that of any other process.
func (f forest) argument(i int) string { return fmt.Sprintf("%s.%d", f.mark, i) }

// process is one process for ever: a pid alone is given out again.
type process struct {
	pid   int
	start string
}

// standing are the live processes of the forest, each with its state (proc_pid_stat(5)) and its arguments. Reading /proc
// takes no snapshot: while processes fork, exec and end, it may miss some.
func (f forest) standing(t testing.TB) map[process]string {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	procs := map[process]string{}
	for _, dir := range names {
		argv, err := os.ReadFile(dir + "/cmdline") // a zombie has none, and neither has a process in the middle of an exec
		if err != nil || !bytes.Contains(argv, []byte(f.mark+".")) {
			continue
		}
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue // it ended
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		const startField, firstField = 22, 3 // as proc_pid_stat(5) counts
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || len(fields) <= startField-firstField || fields[0] == "Z" {
			continue
		}
		if fields[0] != "T" {
			fields[0] = "S" // which of the others it is in changes from look to look
		}
		procs[process{pid, fields[startField-firstField]}] = fields[0] + " " + strings.Join(strings.Split(strings.TrimRight(string(argv), "\x00"), "\x00"), " ")
	}
	return procs
}

// asleep are the standing processes that have come to their sleep. A step on the way, such as setsid, has another command.
func (f forest) asleep(t testing.TB) map[process]string {
	t.Helper()
	procs := f.standing(t)
	maps.DeleteFunc(procs, func(_ process, does string) bool {
		words := strings.Fields(does) // its state and its command
		return len(words) < 2 || filepath.Base(words[1]) != "sleep"
	})
	return procs
}

// grown waits until every process of every tree stands and none of them is about to become another: what planted
// says is all there is, and each is asleep for ever or stopped. Processes of spared are not counted.
func (f forest) grown(t testing.TB, spared map[process]string) map[process]string {
	t.Helper()
	var procs map[process]string
	var why string
	whole := func() bool {
		procs = f.standing(t)
		found := map[string]int{}
		for p, command := range procs {
			if _, is := spared[p]; is {
				continue
			}
			arg, asleep := strings.CutPrefix(command, "S sleep ")
			if !asleep {
				i := strings.LastIndexByte(command, ' ')
				arg = command[i+1:]
				if !strings.HasPrefix(command, "T bash -c ") {
					why = command + " is about to be another process"
					return false
				}
			}
			found[arg]++
		}
		why = fmt.Sprintf("the trees have %v", found)
		return maps.Equal(found, f.planted)
	}
	if !eventually.Within(whole) {
		t.Fatalf("%v after the planting not all trees stand: %s; planted were %v", eventually.Patience, why, f.planted)
	}
	return procs
}

// felled waits until nothing stands but what is spared, and returns how long after began that was.
func (f forest) felled(t testing.TB, began time.Time, spared map[process]string) time.Duration {
	t.Helper()
	var left map[process]string
	for {
		left = f.standing(t)
		took := time.Since(began)
		maps.DeleteFunc(left, func(p process, _ string) bool { _, is := spared[p]; return is })
		if len(left) == 0 {
			return took
		}
		if took > patience {
			t.Fatalf("%d processes survive after %v, such as %q", len(left), took, slices.Collect(maps.Values(left))[0])
		}
		<-time.After(10 * time.Millisecond)
	}
}

// lookalike is a process with the arguments of a tree and the marks of another life; it belongs to the test alone.
func (f forest) lookalike(t testing.TB) map[process]string {
	t.Helper()
	before := f.standing(t)
	cmd := exec.Command("sleep", f.argument(0))
	cmd.Env = append(os.Environ(), "GATEWAYTUI_LIFE=01ANOTHERLIFE0000000000000", "GATEWAYTUI_SESSION=api:user:a")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var now map[process]string
	eventually.True(t, "the look-alike stands", func() bool {
		now = f.standing(t)
		return len(now) == len(before)+1
	})
	maps.DeleteFunc(now, func(p process, _ string) bool { return p.pid != cmd.Process.Pid })
	return now
}

// hold is how a gateway holds what its tools start, and the guardian that ends it when the gateway is gone.
type hold struct {
	Level, Why string
	Guardian   int
}

func (g *gateway) hold() hold {
	g.t.Helper()
	var s struct{ Containment hold }
	eventually.True(g.t, "the guardian watches", func() bool {
		g.socket(http.MethodGet, "/v1/status", nil, &s)
		return s.Containment.Guardian != 0
	})
	return s.Containment
}

// hideGroups runs a gateway where no control group can be seen: in a mount namespace without their tree.
const hideGroups = `exec unshare -m bash -c 'umount --lazy --all --types cgroup2 && exec "$@"' bash "$@"`

// levels are the wrappers by which a gateway comes to each level of containment that this machine allows.
func levels(t testing.TB) map[string]string {
	t.Helper()
	g := start(t, newHome(t), quick)
	own := g.hold()
	if code, _ := g.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	found := map[string]string{own.Level: ""}
	if own.Level != "cgroup" {
		t.Logf("level cgroup is tested where a control group can be made: %s", own.Why)
		return found
	}
	if out, err := exec.Command("bash", "-c", hideGroups, "bash", "true").CombinedOutput(); err != nil {
		t.Logf("level subreaper is tested where there are no control groups or they can be hidden, which takes root: %v %s", err, out)
		return found
	}
	found["subreaper"] = hideGroups
	return found
}

// killed is what the guardian may take to end what a killed gateway left (DESIGN.md, 5).
const killed = 2 * time.Second

// way is how the trees of the users of a gateway come to their end.
type way struct {
	name string
	do   func(t *testing.T, g *gateway, users []string)
	// most is what it may take.
	most func(t *testing.T, g *gateway, users []string) time.Duration
	// code is the gateway's exit code where it ends with them, else -1.
	code int
}

var ways = []way{
	{
		name: "reset", code: -1,
		do: func(t *testing.T, g *gateway, users []string) {
			for _, user := range users {
				if out, code := g.verb("reset", "api:user:"+user, "--yes"); code != 0 {
					t.Errorf("reset of %s: %d %s", user, code, out)
				}
			}
		},
		// Grace and a second each (process.kill_grace), and what the verb's own start and end take.
		most: func(_ *testing.T, _ *gateway, users []string) time.Duration {
			return time.Duration(len(users)) * 3 * time.Second
		},
	},
	{
		name: "stop",
		do:   func(_ *testing.T, g *gateway, _ []string) { g.signal(syscall.SIGTERM) },
		most: func(t *testing.T, g *gateway, _ []string) time.Duration { return plan(t, g) },
	},
	bySIGKILL,
}

var bySIGKILL = way{
	name: "SIGKILL", code: 128 + int(syscall.SIGKILL),
	do:   func(_ *testing.T, g *gateway, _ []string) { g.signal(syscall.SIGKILL) },
	most: func(*testing.T, *gateway, []string) time.Duration { return killed },
}

// C2, C5, C7, B13, B14: of many trees that do all to get away, nothing survives a reset, a stop or the SIGKILL of
// their gateway, at any level of containment; a process that only looks like one of them, and another gateway with trees
// of its own, are untouched.
func TestC5_OfManyHostileTreesNothingSurvives(t *testing.T) {
	levels := levels(t)
	neighbour := start(t, newHome(t), quick)
	wood := newForest(t)
	wood.plant(neighbour, len(hostile), len(hostile), "a")
	woodProcs := wood.grown(t, nil)

	all := soak.Count(t, 20, 1000)
	for level, wrapper := range levels {
		for _, way := range ways {
			trees := max(len(hostile), all/(len(ways)*len(levels)))
			t.Run(fmt.Sprintf("level %s, %s, %d trees", level, way.name, trees), func(t *testing.T) {
				fell(t, level, wrapper, trees, way, "a", "b", "c")
			})
		}
	}
	t.Run(fmt.Sprintf("SIGKILL, %d trees in one gateway", all), func(t *testing.T) {
		level := "subreaper" // the one that has to look for them
		if _, has := levels[level]; !has {
			level = "cgroup"
		}
		fell(t, level, levels[level], all, bySIGKILL, "a", "b", "c", "d")
	})

	if now := wood.standing(t); !maps.Equal(now, woodProcs) {
		t.Errorf("the neighbour's trees were %v and are %v", woodProcs, now)
	}
	if reply, status := neighbour.chat("a", "hello"); status != http.StatusOK {
		t.Errorf("the neighbour answers %d %q", status, reply)
	}
	if code, _ := neighbour.stop(); code != 0 {
		t.Errorf("the neighbour ended with %d", code)
	}
	if left := wood.standing(t); len(left) > 0 {
		t.Errorf("the neighbour left %v", left)
	}
}

// manyTrees lets one session have as many trees as a forest has.
const manyTrees = "[limits]\nprocesses = 4096\n"

// fell has trees grow in a gateway and ends them.
func fell(t *testing.T, level, wrapper string, trees int, way way, users ...string) {
	t.Helper()
	g := startUnder(t, wrapper, newHome(t), quick+manyTrees)
	hold := g.hold()
	if hold.Level != level {
		t.Fatalf("the level is %+v, want %s", hold, level)
	}
	wood := newForest(t)
	spared := wood.lookalike(t)
	wood.plant(g, trees, min(25, (trees+len(users)-1)/len(users)), users...) // each user has some
	procs := wood.grown(t, spared)
	bound := way.most(t, g, users)
	began := time.Now()
	way.do(t, g, users)
	took := wood.felled(t, began, spared)
	t.Logf("%d processes of %d trees were gone after %v", len(procs)-len(spared), trees, took.Round(time.Millisecond))
	if took > bound {
		t.Errorf("it took %v, and may take %v", took, bound)
	}
	if now := wood.standing(t); !maps.Equal(now, spared) {
		t.Errorf("the look-alike was %v, and what stands is %v", spared, now)
	}
	code := way.code
	if code < 0 {
		g.signal(syscall.SIGTERM)
		code = 0
	}
	if got := g.exit(); got != code {
		t.Errorf("the gateway ended with %d, want %d", got, code)
	}
	eventually.True(t, "the guardian is gone", func() bool { return !alive(hold.Guardian) })
	if left := marked(t, g.life); len(left) > 0 {
		t.Errorf("still running:\n%s", strings.Join(left, "\n"))
	}
}
