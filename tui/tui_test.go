package tui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

const childSays = "started"

// limit is how long anything here may take on a busy machine.
const limit = 20 * time.Second

// terminal is a pty that the test reads: what was drawn so far can be waited for.
type terminal struct {
	user, program *os.File
	drawn         bytes.Buffer
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	user, program, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = user.Close(); _ = program.Close() })
	if err := pty.Setsize(user, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	return &terminal{user: user, program: program}
}

// await reads until want was drawn.
func (tt *terminal) await(t *testing.T, want string) {
	t.Helper()
	deadline := time.Now().Add(limit)
	fd := int(tt.user.Fd())
	buf := make([]byte, 4096)
	for !strings.Contains(tt.drawn.String(), want) {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(ready, int(max(time.Until(deadline), 0).Milliseconds()))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n > 0 {
			n, err = unix.Read(fd, buf)
			tt.drawn.Write(buf[:max(n, 0)])
		}
		if n <= 0 || err != nil {
			drawn := tt.drawn.String()
			t.Fatalf("%q was never drawn: %v; drawn at last: %q", want, err, drawn[max(len(drawn)-3000, 0):])
		}
	}
}

// DESIGN.md, 8.1: Bubble Tea asks the terminal for its colour while it is initialised, and waits 5 s for it.
func TestLinkingTheConsoleAsksASilentTerminalNothing(t *testing.T) {
	tt := newTerminal(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	child := exec.CommandContext(ctx, exe)
	child.Stdin, child.Stdout, child.Stderr = tt.program, tt.program, tt.program
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CI=") { // with it termenv would not ask at all, and the test would show nothing
			child.Env = append(child.Env, v)
		}
	}
	child.Env = append(child.Env, asChild+"=1", "TERM=xterm-256color")
	// Nothing is asked of a terminal that is not the program's own.
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	tt.await(t, childSays)
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := tt.drawn.String(); got != childSays {
		t.Fatalf("the terminal was asked before the program began: %q", got)
	}
}
