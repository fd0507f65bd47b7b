package e2e

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
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
	home := newHome(t)
	s := newScreen(t, 80, 24, "--home", home, "--config", configFile(t, quick))
	s.await("RUNNING")
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
	s.await("RUNNING")

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
	config := strings.Replace(quick, `adapter_timeout = "1s"`, `adapter_timeout = "50s"`, 1)
	home := newHome(t)
	s := newScreen(t, 80, 24, "--home", home, "--config", configFile(t, config), "--demo-platforms", "harbour=good,dock=hang-disconnect")
	s.await("RUNNING")
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
	home := newHome(t)
	s := newScreen(t, 80, 24, "--home", home, "--config", configFile(t, quick))
	s.await("RUNNING")
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

// J3: the terminal's modes are afterwards what they were before, however the console ends.
func TestJ3_TheTerminalIsGivenBack(t *testing.T) {
	for _, tc := range []struct {
		name string
		sig  syscall.Signal
		ends bool
	}{
		{"after SIGTERM", syscall.SIGTERM, true},
		{"after SIGINT", syscall.SIGINT, true},
		{"after SIGUSR1", syscall.SIGUSR1, true},
		{"after SIGHUP, when the gateway goes on", syscall.SIGHUP, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := newHome(t)
			s := newScreen(t, 80, 24, "--home", home, "--config", configFile(t, quick))
			s.await("RUNNING")
			st, _ := state(t, home)
			if err := syscall.Kill(st.PID, tc.sig); err != nil {
				t.Fatal(err)
			}
			if tc.ends {
				want := map[bool]int{false: 0, true: 75}[tc.sig == syscall.SIGUSR1]
				if code := s.code(); code != want {
					t.Errorf("exit code %d, want %d", code, want)
				}
				s.await("stopped clean after")
			} else {
				s.await("keeps running without a console")
				isUp(t, home)
			}
			s.normal()
		})
	}
	t.Run("after an attached one is left, or ended by a signal", func(t *testing.T) {
		g := start(t, newHome(t), quick)
		s := newScreen(t, 80, 24, "attach", "--home", g.home)
		s.await("RUNNING")
		s.keys("q")
		s.answer("Detach?", "y")
		if code := s.code(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		s.await("detached; the gateway")
		s.normal()

		c := onPTY(t, "attach", "--home", g.home).read()
		before := modes(t, c.user) // of a pty both ends have the same
		c.await("RUNNING")
		c.signal(syscall.SIGTERM)
		if code := c.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if before.Lflag&unix.ECHO != 0 && modes(t, c.user) != before {
			t.Errorf("the modes were %+v and are %+v", before, modes(t, c.user))
		}
		isUp(t, g.home)
	})
}

// A terminal that is not read delays no turn and no stop.
func TestAStalledTerminalDelaysNothing(t *testing.T) {
	home := newHome(t)
	c := onPTY(t, "--home", home, "--config", configFile(t, quick), "--demo-platforms", "harbour=good")
	isUp(t, home)
	queued := 0
	eventually.True(t, "the terminal takes nothing more", func() bool {
		if out, code := verb(t, home, "send", "hello"); code != 0 {
			t.Fatalf("send: %d %s", code, out)
		}
		had := queued
		queued, _ = unix.IoctlGetInt(int(c.user.Fd()), unix.TIOCINQ)
		return queued > 0 && queued == had
	})
	began := time.Now()
	for range 5 {
		if out, code := verb(t, home, "send", "hello"); code != 0 {
			t.Fatalf("send: %d %s", code, out)
		}
	}
	if took := time.Since(began); took > soon {
		t.Errorf("5 turns took %v", took)
	}
	began = time.Now()
	c.signal(syscall.SIGTERM)
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("the stop took %v", took)
	} else {
		t.Logf("the stop took %v with %d bytes unread", took, queued)
	}
	logged(t, home, `"msg":"stopped"`)
}

// J1: a terminal that goes away takes its console with it, and not the gateway, unless the config says so.
func TestJ1_AClosedTerminalEndsNothing(t *testing.T) {
	t.Run("the gateway goes on", func(t *testing.T) {
		home := newHome(t)
		c := onPTY(t, "--home", home, "--config", configFile(t, quick)).read()
		c.await("RUNNING")
		c.user.Close()
		logged(t, home, "the terminal is gone; the gateway goes on")
		if out, code := verb(t, home, "send", "hello"); code != 0 || !strings.Contains(out, "Hello!") {
			t.Errorf("send: %d %s", code, out)
		}
		c.signal(syscall.SIGTERM)
		if code := c.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("or stops", func(t *testing.T) {
		home := newHome(t)
		c := onPTY(t, "--home", home, "--config", configFile(t, quick+"[console]\non_hangup = \"stop\"\n")).read()
		c.await("RUNNING")
		c.user.Close()
		if code := c.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		logged(t, home, `"msg":"stopped"`)
	})
	t.Run("a console of lines goes as well", func(t *testing.T) {
		home := newHome(t)
		c := onPTY(t, "--plain", "--home", home, "--config", configFile(t, quick)).read()
		c.await("plain mode (from --plain)")
		c.user.Close()
		logged(t, home, "the terminal is gone; the gateway goes on")
		isUp(t, home)
	})
	t.Run("an attached console ends", func(t *testing.T) {
		g := start(t, newHome(t), quick)
		c := onPTY(t, "attach", "--home", g.home).read()
		c.await("RUNNING")
		c.user.Close()
		began := time.Now()
		c.exit()
		if took := time.Since(began); took > soon {
			t.Errorf("it took %v", took)
		}
		isUp(t, g.home)
	})
}

// J5: without a terminal, no console is tried, and one line says so.
func TestJ5_WithoutATerminalItRunsWithoutAConsole(t *testing.T) {
	for _, tc := range []struct {
		name, why string
		start     func(cmd *exec.Cmd) (func(), error)
	}{
		{"no terminal at all", "stdin is not a terminal", func(cmd *exec.Cmd) (func(), error) { return func() {}, cmd.Start() }},
		{"a dumb one", "TERM is dumb", func(cmd *exec.Cmd) (func(), error) {
			cmd.Env = append(cmd.Env, "TERM=dumb")
			user, tty, err := pty.Open()
			if err != nil {
				return nil, err
			}
			cmd.Stdin, cmd.Stdout = tty, tty
			return func() { user.Close(); tty.Close() }, cmd.Start()
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			home := newHome(t)
			cmd := exec.Command(binary, "--home", home, "--config", configFile(t, quick))
			cmd.Env = append(os.Environ(), "GATEWAYTUI_ADAPTERS_API_LISTEN=127.0.0.1:0", "ACCESSIBLE=0")
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			release, err := tc.start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended where the test came to its end
			isUp(t, home)
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatalf("it ended with %v\n%s", err, stderr.String())
			}
			if text := stderr.String(); strings.Count(text, "running without a console") != 1 || !strings.Contains(text, tc.why) || !strings.Contains(text, `"msg":"stopped"`) {
				t.Errorf("stderr does not say why there is no console:\n%s", text)
			}
		})
	}
	t.Run("the background of one", func(t *testing.T) { // J4: a read there would stop the process
		home := newHome(t)
		c := ptyOf(t, exec.Command("sh", "-c", `set -m; "$@" & wait $!`, "sh", binary, "--home", home, "--config", configFile(t, quick))).read()
		c.await("running without a console")
		c.await("it runs in the background of its terminal")
		isUp(t, home)
		if out, code := verb(t, home, "stop", "--yes", "--wait"); code != 0 {
			t.Errorf("stop: %d %s", code, out)
		}
		if code := c.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	g := start(t, newHome(t), quick)
	if out, code := g.verb("attach"); code != 2 || !strings.Contains(out, "the console needs a terminal, and stdin is not a terminal") {
		t.Errorf("attach: %d %s", code, out)
	}
	if out, code := verb(t, newHome(t), "attach"); code != 3 || !strings.Contains(out, "no gateway runs here") {
		t.Errorf("attach without a gateway: %d %s", code, out)
	}
}

// A terminal that answers no question costs no time and is asked none: Bubble Tea would ask for its colours and wait 5 s.
func TestASilentTerminalIsAskedNothing(t *testing.T) {
	g := start(t, newHome(t), quick)
	best := time.Hour
	for range 5 {
		began := time.Now()
		c := onPTY(t, "status", "--json", "--home", g.home).read()
		if code := c.exit(); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		best = min(best, time.Since(began))
		eventually.True(t, "the answer is read", func() bool { return strings.HasSuffix(c.output(), "}\r\n") })
		if out := c.output(); strings.ContainsRune(out, '\x1b') || !strings.Contains(out, `"state":"running"`) {
			t.Fatalf("the terminal was shown %q", out)
		}
	}
	if best > 4*time.Second {
		t.Errorf("the quickest of five took %v: it waited for an answer", best)
	}
}

func TestAStormOfSizesLeavesAWholeScreen(t *testing.T) {
	g := start(t, newHome(t), quick)
	c := onPTY(t, "attach", "--home", g.home).read()
	c.await("RUNNING")
	for i := range uint16(200) {
		if err := pty.Setsize(c.user, &pty.Winsize{Rows: 1 + i*7%60, Cols: 1 + i*13%200}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Millisecond)
	}
	s := newScreen(t, 80, 24, "attach", "--home", g.home)
	s.await("RUNNING")
	for _, size := range [][2]string{{"200", "60"}, {"1", "1"}, {"40", "6"}, {"20", "3"}, {"140", "40"}, {"10", "50"}, {"79", "23"}, {"80", "24"}} {
		s.tmux("resize-window", "-x", size[0], "-y", size[1])
	}
	s.await("RUNNING", "1 overview")
	if lines := strings.Split(s.sees(), "\n"); !strings.Contains(lines[0], "gatewaytui") {
		t.Errorf("the first line is %q", lines[0])
	}
	c.signal(syscall.SIGTERM)
	if code := c.exit(); code != 0 {
		t.Errorf("after the storm it ended with %d:\n%s", code, c.output())
	}
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
	home := newHome(t)
	s := newScreen(t, 80, 24, "--home", home, "--config", configFile(t, quick))
	s.await("RUNNING")
	s.keys("D")
	s.await("Drain gateway")
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
	g := start(t, newHome(t), quick)
	s := newScreen(t, 80, 24, "attach", "--home", g.home)
	s.await("RUNNING")
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
	s.await("RUNNING")
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
	s.await("RUNNING")
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
