package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/fixtures/eventually"
)

// soon is a generous bound for what should take well under a second, on a machine that does something else as well.
const soon = 10 * time.Second

// logged waits for a line in the log file of home.
func logged(t *testing.T, home, part string) {
	t.Helper()
	eventually.True(t, "the log says "+part, func() bool {
		text, err := os.ReadFile(filepath.Join(home, "logs", "gateway.jsonl"))
		return err == nil && strings.Contains(string(text), part)
	})
}

func TestAPersonSteersAGatewayByItsConsole(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	s := newScreen(t, 80, 24, "--home", home, "--config", configFile(t, quick))
	s.runs()
	raw := s.modes()
	if raw.Lflag&unix.ICANON != 0 {
		t.Error("the console does not take single keys")
	}
	say := func() {
		t.Helper()
		if out, code := verb(t, home, "send", "hello"); code != 0 || !strings.Contains(out, "Hello!") {
			t.Fatalf("send: %d %s", code, out)
		}
	}
	id := func() string {
		t.Helper()
		out, _ := verb(t, home, "sessions", "--json")
		_, rest, _ := strings.Cut(out, `"id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		return id
	}
	s.keys("2")
	s.await("No sessions yet")
	say()
	s.await("cli:local")

	before := id()
	s.press("R", "Reset cli:local?")
	s.answer("Reset cli:local?", "n")
	if id() != before {
		t.Fatal("a reset that was not confirmed was done")
	}
	s.press("R", "Reset cli:local?")
	s.answer("Reset cli:local?", "y")
	eventually.True(t, "the session is a fresh one", func() bool { return id() != before })

	say()
	s.press("E", "Evict cli:local?")
	s.answer("Evict cli:local?", "y")
	eventually.True(t, "the agent is evicted", func() bool { st, _ := state(t, home); return st.Counts.Agents == 0 })

	s.keys("D")
	s.answer("Drain gateway", "Enter") // the default is Cancel
	if st, _ := state(t, home); st.State != "running" {
		t.Fatalf("Enter on a dialog did what it asked about: %s", st.State)
	}
	s.keys("D")
	s.answer("Drain gateway", "y")
	s.await("DRAINING")
	s.keys("U")
	s.runs()

	s.keys("S")
	s.answer("(graceful)?", "y")
	if code := s.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.await("surrender", "stopped clean after", "exit code 0")
	s.normal()
}

// A1: what the stop waits for has a name, and one key stops waiting for it.
func TestA1_AHangingAdapterIsAbandonedByHand(t *testing.T) {
	t.Parallel() // it mostly waits
	config := strings.Replace(quick, `adapter_timeout = "1s"`, `adapter_timeout = "50s"`, 1)
	home := newHome(t)
	s := newScreen(t, 80, 24, "--home", home, "--config", configFile(t, config), "--demo-platforms", "harbour=good,dock=hang-disconnect")
	s.runs()
	eventually.True(t, "the platforms are connected", func() bool {
		out, _ := verb(t, home, "adapters")
		return strings.Count(out, "connected") == 3
	})
	s.keys("S")
	s.answer("(graceful)?", "y")
	began := time.Now()
	s.await("STOPPING", "adapters", "dock")
	s.press("A", "Abandon adapter dock?")
	s.answer("Abandon adapter dock?", "y")
	if code := s.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("it took %v: the adapter was waited for", took)
	}
	s.await("stopped incomplete after", "exit code 0", "dock")
	s.normal()
}

func TestLeavingTheEmbeddedConsoleKeepsTheGateway(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	s := newScreen(t, 80, 24, "--home", home, "--config", configFile(t, quick))
	s.runs()
	s.keys("q")
	s.answer("Leave?", "k")
	s.await("keeps running in this terminal, and its log follows:", "ctrl+z and bg", "gatewaytui attach --home")
	s.normal()
	isUp(t, home)
	if out, code := verb(t, home, "stop", "--yes", "--wait"); code != 0 {
		t.Errorf("stop: %d %s", code, out)
	}
	if code := s.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.await("stopped clean after")
}

// Consoles come and go, and freeze; the gateway waits for none.
func TestAFrozenConsoleDelaysNoStop(t *testing.T) {
	g := start(t, newHome(t), quick)
	var attached []*console
	for range 3 {
		c := onPTY(t, "attach", "--home", g.home).read()
		c.await("RUNNING")
		attached = append(attached, c)
	}
	frozen := attached[2]
	frozen.signal(syscall.SIGSTOP)
	for range 20 { // more than it has read of what happened
		if reply, status := g.chat("a", "hello"); status != http.StatusOK {
			t.Fatalf("%d %s", status, reply)
		}
	}
	code, took := g.stop()
	if code != 0 || took > soon {
		t.Errorf("the stop ended with %d after %v", code, took)
	}
	for _, c := range attached[:2] {
		c.await("GONE", "ENDED clean") // its last record came in time, or not
	}
	frozen.signal(syscall.SIGCONT)
	frozen.await("GONE", "ENDED clean")
	for range 10 {
		frozen.signal(syscall.SIGSTOP)
		frozen.signal(syscall.SIGCONT)
	}
	frozen.write("q") // J4: it still reads keys
	frozen.await("Leave?")
	for _, c := range attached {
		c.signal(syscall.SIGTERM)
		if code := c.exit(); code != 0 {
			t.Errorf("a console ended with %d", code)
		}
	}
}

func TestASignalStopsUnderAnOpenDialog(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	s := newScreen(t, 80, 24, "--home", home, "--config", configFile(t, quick))
	s.press("D", "Drain gateway")
	st, _ := state(t, home)
	if err := syscall.Kill(st.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.await("stopped clean after")
	s.normal()
}

// J2: a gateway that is killed leaves its consoles with the last that was seen of it; they find the next one by themselves,
// and can be left in the meantime.
func TestJ2_AnAttachedConsoleSurvivesTheGateway(t *testing.T) {
	t.Parallel() // it mostly waits
	g := start(t, newHome(t), quick)
	s := newScreen(t, 80, 24, "attach", "--home", g.home)
	s.runs()
	g.signal(syscall.SIGKILL)
	g.exit()
	s.await("GONE")
	next := start(t, g.home, quick)
	s.await("RUNNING", "pid "+strconv.Itoa(next.cmd.Process.Pid))
	next.signal(syscall.SIGKILL)
	next.exit()
	s.await("GONE")
	began := time.Now()
	s.keys("C-c")
	if code := s.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("ctrl+c took %v", took)
	}
	s.normal()
}

// The shutdown view lists the past lives, each with how it ended, and opens the report of each; it goes on from one life to
// the next.
func TestThePastLivesAreInTheShutdownView(t *testing.T) {
	t.Parallel() // it mostly waits
	home := newHome(t)
	stopped := start(t, home, quick)
	if out, code := stopped.verb("stop", "--wait", "--yes", "--reason", "a new kernel"); code != 0 {
		t.Fatalf("stop: %d %s", code, out)
	}
	stopped.exit()
	killed := start(t, home, quick)
	killed.signal(syscall.SIGKILL)
	killed.exit()
	current := start(t, home, quick)
	s := newScreen(t, 80, 24, "attach", "--home", home)
	s.runs()
	s.keys("6")
	s.await("lives: 3,", "running", "crashed", "clean")
	s.keys("G")
	s.await("a new kernel")
	s.keys("Enter")
	s.await("stop of life", "phases 12/12", "surrender")
	s.keys("Left")
	s.await("lives: 3,")
	s.keys("]")
	s.await("plan of a stop")
	s.keys("Escape")
	s.await("lives: 3,")
	current.signal(syscall.SIGKILL)
	current.exit()
	s.await("GONE", "STALE", "gone, end not seen")
	start(t, home, quick)
	s.await("RUNNING", "lives: 4,")
	s.tmux("resize-window", "-x", "140", "-y", "40")
	s.await("lives: 4,", "ASKED BY", "a new kernel")
	s.keys("C-c")
	s.await("Detach?")
	s.keys("Escape")
}

// --read-only is the server's to hold: a console that would send something gets no further.
func TestAReadOnlyConsoleChangesNothing(t *testing.T) {
	g := start(t, newHome(t), quick)
	s := newScreen(t, 80, 24, "attach", "--read-only", "--home", g.home)
	s.runs()
	s.keys("D")
	s.await("read-only")
	cmd := exec.Command(binary, "attach", "--plain", "--read-only", "--home", g.home)
	cmd.Stdin = strings.NewReader("drain\nstop\ny\nquit\n")
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "Not done: ") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	if st, _ := state(t, g.home); st.State != "running" {
		t.Errorf("a reader made the gateway %s", st.State)
	}
}

// The console of lines steers the same gateway, embedded or attached, without one escape sequence.
func TestAConsoleOfLines(t *testing.T) {
	home := newHome(t)
	c := onPTY(t, "--plain", "--home", home, "--config", configFile(t, quick), "--demo-platforms", "dock=hang-disconnect").read()
	c.await("plain mode (from --plain)")
	isUp(t, home)
	if out, code := verb(t, home, "send", "hello"); code != 0 {
		t.Fatalf("send: %d %s", code, out)
	}
	c.write("sessions cli\n")
	c.await("1. cli:local: idle")
	c.write("send 1 echo one two\n")
	c.await("send cli:local is answered:\r\none two")
	c.write("stop\n")
	c.await("Type y to do it")
	c.write("y\n")
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	c.await("stopped incomplete after")
	if strings.ContainsRune(c.output(), '\x1b') {
		t.Errorf("an escape sequence was written: %q", c.output())
	}
}
