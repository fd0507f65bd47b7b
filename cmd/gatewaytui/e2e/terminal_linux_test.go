package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"gatewaytui/fixtures/eventually"
)

// J3: the terminal's modes are afterwards what they were before, however the console ends.
func TestJ3_TheTerminalIsGivenBack(t *testing.T) {
	t.Parallel() // it mostly waits
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
			s.runs()
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
		s.runs()
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
	t.Parallel() // it mostly waits
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
		<-time.After(time.Millisecond) // modelled: the pace of a window that is dragged
	}
	s := newScreen(t, 80, 24, "attach", "--home", g.home)
	s.runs()
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
