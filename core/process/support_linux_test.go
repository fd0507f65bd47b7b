package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/peer"
	"gatewaytui/fixtures/soak"
)

// The test binary started again with this variable set plays another program.
const playAs = "PROCESS_TEST_PLAY_AS"

var plays = map[string]func() error{
	"a gateway with children":   playGateway,
	"pid 1":                     playInit,
	"a hostile name":            playRenamed,
	"a gateway with a guardian": playGuarded,
	"a gateway that keeps":      playKeeping,
	"a protected program":       playProtected,
	"a gateway with limits":     playLimited,
	"a process that waits":      playWaiting,
	"the home of a run":         playHomeOfARun,
}

func TestMain(m *testing.M) {
	if err := Protect(); err != nil { // as the program does: everything works without what it closes
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(playHome) == "" {
		if err := os.Setenv(playHome, testHome()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if name := os.Getenv(playAs); name != "" {
		if err := plays[name](); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// testLife marks what this run starts: another one at the same time has another.
var testLife = fmt.Sprintf("life-of-the-tests-%d-%d", os.Getpid(), time.Now().UnixNano())

// playHome hands the home of the tests on to the programs that this binary plays.
const playHome = "PROCESS_TEST_HOME"

// testHome is the home of this run and of what it plays. A run at the same time has another home: a start sweeps what other lives
// of its home have, which would be the other run's.
var testHome = sync.OnceValue(func() string { return cmp.Or(os.Getenv(playHome), "home of "+testLife) })

const (
	// patience bounds a wait for what must come, on a machine that is busy.
	patience = time.Minute
	// late is what a busy machine may add to a bound. What the bounds are there for would take a minute or for ever.
	late = 10 * time.Second
	// short is the grace of kills whose grace does not matter.
	short = 200 * time.Millisecond
)

// registry opens a registry, which is closed at the end of the test: nothing with its life's marker may be left then.
func registry(t testing.TB, change ...func(*Options)) *Registry {
	t.Helper()
	o := Options{Life: testLife, HomeID: testHome(), KillGrace: short, Pass: passAll, Log: discard}
	for _, c := range change {
		c(&o)
	}
	return opened(t, New(o))
}

// passAll passes the whole environment to children.
func passAll(string, string) bool { return true }

// untagged is registry on a machine where children cannot be tagged.
func untagged(t testing.TB, level Containment) *Registry {
	t.Helper()
	r := New(Options{Life: testLife, HomeID: testHome(), KillGrace: short, Pass: passAll, Log: discard, Containment: level})
	r.tag = false
	return opened(t, r)
}

func opened(t testing.TB, r *Registry) *Registry {
	t.Helper()
	soak.Long(t) // it starts processes, and looks at all of the machine's
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		for _, p := range marked(t, r.opts.Life) {
			t.Errorf("pid %d is left with the marker of life %s", p.PID, r.opts.Life)
			_ = unix.Kill(p.PID, unix.SIGKILL)
		}
	})
	return r
}

// at chooses the level of containment.
func at(level Containment) func(*Options) { return func(o *Options) { o.Containment = level } }

// needs skips a test that wants a level which the machine does not allow.
func needs(t testing.TB, level Containment) {
	t.Helper()
	if level != ContainmentCgroup {
		return
	}
	g, err := makeGroups(testHome()+", a trial", testLife)
	if err != nil {
		t.Skipf("runs where a control group can be made: %v", err)
	}
	if err := g.remove(); err != nil {
		t.Fatal(err)
	}
}

// levels runs a test at each level.
func levels(t *testing.T, name string, test func(*testing.T, Containment)) {
	t.Helper()
	for _, level := range []Containment{ContainmentSubreaper, ContainmentCgroup} {
		t.Run(name+", level "+string(level), func(t *testing.T) {
			needs(t, level)
			test(t, level)
		})
	}
}

// marked are the live processes whose environment has the marker of a life; it reads /proc by itself.
func marked(t testing.TB, life string) []proc {
	t.Helper()
	procs, err := kernel.Table(nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []proc
	for _, p := range procs {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/environ")
		if err == nil && p.Alive() && strings.Contains("\x00"+string(env), "\x00"+EnvLife+"="+life+"\x00") {
			out = append(out, p)
		}
	}
	return out
}

// spec is a shell script as a process of session "s", turn "t".
func spec(script string, change ...func(*Spec)) Spec {
	s := Spec{Session: "s", Turn: "t", Argv: []string{"bash", "-c", script}, Policy: PolicySession}
	for _, c := range change {
		c(&s)
	}
	return s
}

func start(t testing.TB, r *Registry, s Spec) *Process {
	t.Helper()
	p, err := r.Spawn(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sh(t testing.TB, r *Registry, script string, change ...func(*Spec)) *Process {
	t.Helper()
	return start(t, r, spec(script, change...))
}

// play starts the test binary as one of plays.
func play(t testing.TB, r *Registry, name string) *Process {
	t.Helper()
	return start(t, r, Spec{
		Session: "s", Turn: "t", Argv: []string{self0(t)}, Env: []string{playAs + "=" + name}, Policy: PolicySession,
	})
}

func self0(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// said waits for a line "NAME=PID" in p's output and returns the process of that pid.
func said(t testing.TB, p *Process, name string) ident {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + name + `=(\d+)\r?$`)
	var pid int
	eventually.True(t, fmt.Sprintf("pid %d says %s=PID", p.PID(), name), func() bool {
		text, _ := p.Output()
		m := line.FindStringSubmatch(text)
		if m == nil {
			return false
		}
		pid, _ = strconv.Atoi(m[1])
		return true
	})
	got, err := statOf(pid)
	if err != nil {
		t.Fatalf("%s, pid %d: %v", name, pid, err)
	}
	return got.Ident
}

// ready waits for the line "ready" in p's output: its traps are set then.
func ready(t testing.TB, p *Process) {
	t.Helper()
	eventually.True(t, fmt.Sprintf("pid %d says that it is ready", p.PID()), func() bool {
		text, _ := p.Output()
		return strings.Contains(text, "ready")
	})
}

// becomes waits until p's leader runs the program called name, after its last exec.
func becomes(t testing.TB, i ident, name string) {
	t.Helper()
	eventually.True(t, fmt.Sprintf("pid %d runs %s", i.PID, name), func() bool {
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(i.PID) + "/comm")
		return err == nil && string(comm) == name+"\n"
	})
}

func lives(i ident) bool {
	p, err := statOf(i.PID)
	return err == nil && p.Start == i.Start && p.Alive()
}

func wait(t testing.TB, p *Process) Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	exit, err := p.Wait(ctx)
	if err != nil {
		t.Fatalf("wait for pid %d: %v", p.PID(), err)
	}
	return exit
}

// verified fails unless the kill was verified, and reaches everything in gone.
func verified(t testing.TB, rep Report, gone ...ident) {
	t.Helper()
	if !rep.Verified || len(rep.Survivors) > 0 || rep.Problem != nil {
		t.Errorf("the kill was not verified: %s", rep.Summary())
	}
	for _, i := range gone {
		if lives(i) {
			t.Errorf("pid %d lives on after a kill that said %q", i.PID, rep.Summary())
		}
	}
}

// records is a journal that remembers, and refuses while err is set.
type records struct {
	mu      sync.Mutex
	err     error
	started []Entry
	ended   map[int]string // by pid
}

func (j *records) Record(_ context.Context, notes []Note) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if j.ended == nil {
		j.ended = map[int]string{}
	}
	for _, n := range notes {
		if n.How == "" {
			j.started = append(j.started, n.Entry)
		} else {
			j.ended[n.Entry.PID] = n.How
		}
	}
	return nil
}

func (j *records) rows() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.started)
}

func (j *records) refuse(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = err
}

func (j *records) endOf(pid int) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended[pid]
}

// spawnOutside starts the test binary as one of plays, through wrap if that is not empty. The registry knows nothing of it. It ends
// when its input is closed.
func spawnOutside(t testing.TB, name string, wrap ...string) *peer.Program {
	t.Helper()
	soak.Long(t)
	argv := append(wrap, self0(t))
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), playAs+"="+name)
	return peer.Start(t, cmd)
}

var errRefused = errors.New("refused by the test")

var discard = slog.New(slog.DiscardHandler)

// ptr is where v is, for a system call.
func ptr[T any](v *T) unsafe.Pointer { return unsafe.Pointer(v) }

// awaitGuardian waits for the guardian of a play's registry and returns its pid.
func awaitGuardian(r *Registry) (pid int, err error) {
	if !eventually.Within(func() bool { pid, err = r.Guardian(); return pid > 0 }) {
		return 0, fmt.Errorf("no guardian: %w", err)
	}
	return pid, nil
}
