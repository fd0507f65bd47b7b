package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"gatewaytui/fixtures/eventually"
	"gatewaytui/fixtures/soak"
)

// screen is a person's terminal with the program on it. tmux is the terminal: it interprets what is written to it as any
// other does, and tells what can be seen.
type screen struct {
	t    testing.TB
	dir  string
	last string // what was seen last
}

// newScreen runs the program on a terminal of w x h cells. The surroundings of a user are as they are meant to be: UTF-8,
// colours, no CI.
func newScreen(t testing.TB, w, h int, args ...string) *screen {
	t.Helper()
	soak.Peer(t, "tmux", "Debian package tmux")
	s := &screen{t: t, dir: newHome(t)}
	script := fmt.Sprintf("unset CI TMUX NO_COLOR ACCESSIBLE; export LANG=C.UTF-8 XDG_STATE_HOME=%q/state GATEWAYTUI_ADAPTERS_API_LISTEN=127.0.0.1:0\n"+
		"trap : HUP INT TERM\n%q \"$@\"\necho $? >%q/code.new && mv %q/code.new %q/code\nexec sleep 600\n", s.dir, binary, s.dir, s.dir, s.dir)
	if err := os.WriteFile(filepath.Join(s.dir, "run"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	s.tmux(append([]string{"-u", "new-session", "-d", "-x", strconv.Itoa(w), "-y", strconv.Itoa(h), "sh", filepath.Join(s.dir, "run")}, args...)...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen showed last:\n%s", s.last)
		}
		// The program first: a gateway outlives its terminal.
		if pid, err := strconv.Atoi(strings.TrimSpace(s.try("display-message", "-p", "#{pane_pid}"))); err == nil {
			for _, child := range children(pid) {
				_ = syscall.Kill(child, syscall.SIGKILL) // it has ended where the test came to its end
			}
		}
		s.try("kill-server") // it may have ended with its last window
	})
	return s
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v %s", args, err, out)
	}
	return string(out)
}

// try is tmux for what need not succeed.
func (s *screen) try(args ...string) string {
	out, _ := s.command(args...).Output()
	return string(out)
}

func (s *screen) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(s.dir, "tmux"), "-f", os.DevNull}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TMUX=")
	return cmd
}

// children are the pids of a process's children (proc(5)).
func children(pid int) []int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // none, where it has ended
	var pids []int
	for _, field := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// sees is what is on the screen.
func (s *screen) sees() string {
	s.t.Helper()
	s.last = s.tmux("capture-pane", "-p")
	return s.last
}

// await waits until all of the parts are on the screen at once.
func (s *screen) await(parts ...string) {
	s.t.Helper()
	eventually.True(s.t, fmt.Sprintf("the screen shows %q", parts), func() bool {
		text := s.sees()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				return false
			}
		}
		return true
	})
}

// runs waits until the line of state says that the gateway runs. The overview has the same word further down before that.
func (s *screen) runs() {
	s.t.Helper()
	eventually.True(s.t, "the gateway runs", func() bool {
		state, _, _ := strings.Cut(s.sees(), "\n")
		return strings.Contains(state, "RUNNING")
	})
}

// keys presses keys, named as tmux names them.
func (s *screen) keys(names ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys"}, names...)...)
}

// press presses a key until it is answered with a question: what the console shows may be a second old, and a key that
// does not apply to that is refused.
func (s *screen) press(key, question string) {
	s.t.Helper()
	var pressed time.Time
	eventually.True(s.t, key+" asks "+question, func() bool {
		if time.Since(pressed) >= 300*time.Millisecond {
			s.keys(key)
			pressed = time.Now()
		}
		return strings.Contains(s.sees(), question)
	})
}

// answer waits for a question, reads it as long as keys are not taken yet, and presses a key. No key is pressed sooner.
func (s *screen) answer(question, key string) {
	s.t.Helper()
	s.await(question)
	<-time.After(500 * time.Millisecond) // modelled: a person who reads
	s.takesKeys(question)
	s.keys(key)
}

// takesKeys waits until the dialog with a question takes keys. A key that is pressed sooner is lost.
func (s *screen) takesKeys(question string) {
	s.t.Helper()
	eventually.True(s.t, "the dialog takes keys", func() bool {
		text := s.sees()
		whole := !strings.Contains(text, "╭") || strings.Contains(text, "╰") // the last lines of a dialog say whether it takes keys
		return whole && strings.Contains(text, question) && !strings.Contains(text, "armed in") && !strings.Contains(text, "asking the gateway")
	})
}

// code waits for the program's end and returns its exit code.
func (s *screen) code() int {
	s.t.Helper()
	code := -1
	eventually.True(s.t, "the program ends", func() bool {
		s.sees()
		text, err := os.ReadFile(filepath.Join(s.dir, "code"))
		if err != nil {
			return false
		}
		code, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return code
}

// modes are those of the terminal, as stty(1) would show them.
func (s *screen) modes() unix.Termios {
	s.t.Helper()
	tty, err := os.OpenFile(strings.TrimSpace(s.tmux("display-message", "-p", "#{pane_tty}")), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer tty.Close()
	return modes(s.t, tty)
}

func modes(t testing.TB, f *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

// normal checks that the terminal is as a shell wants it: line by line, with an echo, not on the alternate screen.
func (s *screen) normal() {
	s.t.Helper()
	if m := s.modes(); m.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != unix.ICANON|unix.ECHO|unix.ISIG || m.Iflag&unix.ICRNL == 0 || m.Oflag&unix.OPOST == 0 {
		s.t.Errorf("the terminal was left raw: %+v", m)
	}
	for flag, want := range map[string]string{"alternate_on": "0", "cursor_flag": "1", "mouse_any_flag": "0"} {
		if got := strings.TrimSpace(s.tmux("display-message", "-p", "#{"+flag+"}")); got != want {
			s.t.Errorf("the terminal was left with %s %s", flag, got)
		}
	}
}

// console is the program on a bare pty, for what no terminal would do: not to read, to go away, to answer nothing.
type console struct {
	t      testing.TB
	cmd    *exec.Cmd
	user   *os.File
	exited chan struct{}
	drawn  chan struct{} // closed when nothing more will be read

	mu   sync.Mutex
	seen strings.Builder
}

// onPTY runs the program on a pty of 80x24. Nothing is read of it before read.
func onPTY(t testing.TB, args ...string) *console {
	t.Helper()
	return ptyOf(t, exec.Command(binary, args...))
}

func ptyOf(t testing.TB, cmd *exec.Cmd) *console {
	t.Helper()
	c := &console{t: t, cmd: cmd, exited: make(chan struct{})}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		switch name {
		case "CI", "TMUX", "NO_COLOR", "ACCESSIBLE", "TERM":
		default:
			c.cmd.Env = append(c.cmd.Env, v)
		}
	}
	c.cmd.Env = append(c.cmd.Env, "TERM=xterm-256color", "LANG=C.UTF-8", "XDG_STATE_HOME="+t.TempDir(), "GATEWAYTUI_ADAPTERS_API_LISTEN=127.0.0.1:0")
	var err error
	if c.user, err = pty.StartWithSize(c.cmd, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.exited)
		_ = c.cmd.Wait() // its exit code is asked of cmd
	}()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it has ended already where the test came to its end
		<-c.exited
		if c.drawn != nil {
			<-c.drawn
		}
		c.user.Close()
	})
	return c
}

// read keeps what is written to the terminal until that is closed.
func (c *console) read() *console {
	c.drawn = make(chan struct{})
	go func() {
		defer close(c.drawn)
		buf := make([]byte, 16<<10)
		for {
			n, err := c.user.Read(buf)
			c.mu.Lock()
			c.seen.Write(buf[:n])
			c.mu.Unlock()
			if err != nil {
				return // EIO: the other end is closed
			}
		}
	}()
	return c
}

// output is all that was written to the terminal so far.
func (c *console) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.String()
}

// await waits until one of the parts was shown.
func (c *console) await(parts ...string) {
	c.t.Helper()
	eventually.True(c.t, fmt.Sprintf("the terminal is shown one of %q", parts), func() bool {
		shown := ansi.Strip(c.output())
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(shown, part) })
	})
}

func (c *console) signal(sig syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
}

// exit waits for the end and returns the exit code.
func (c *console) exit() int {
	c.t.Helper()
	select {
	case <-c.exited:
	case <-time.After(patience):
		c.t.Fatalf("the program did not end within %v; it showed\n%s", patience, ansi.Strip(c.output()))
	}
	return c.cmd.ProcessState.ExitCode()
}

// state is what status says of the gateway on home; ok is false while none answers.
func state(t testing.TB, home string) (s struct {
	PID         int
	Life, State string
	Counts      struct {
		Sessions int
		Agents   int `json:"cached_agents"`
	}
}, ok bool,
) {
	t.Helper()
	out, code := verb(t, home, "status", "--json")
	return s, code == 0 && json.Unmarshal([]byte(out), &s) == nil
}

// isUp waits until a gateway runs on home.
func isUp(t testing.TB, home string) {
	t.Helper()
	eventually.True(t, "the gateway runs", func() bool { s, ok := state(t, home); return ok && s.State == "running" })
}

// write types text on the terminal.
func (c *console) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.user, text); err != nil {
		c.t.Fatal(err)
	}
}

// configFile is a config on disk.
func configFile(t testing.TB, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
