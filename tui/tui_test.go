package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"gatewaytui/core/ops"
)

const childSays = "started"

// limit is how long anything here may take on a busy machine.
const limit = 20 * time.Second

// console answers Status; nothing else of it is asked.
type console struct {
	ops.Console
	status ops.Status
	err    error
}

func (c console) Status(context.Context) (ops.Status, error) { return c.status, c.err }

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
	if err := tt.user.SetReadDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for !strings.Contains(tt.drawn.String(), want) {
		n, err := tt.user.Read(buf)
		tt.drawn.Write(buf[:n])
		if err != nil {
			t.Fatalf("%q was never drawn: %v; drawn: %q", want, err, tt.drawn.String())
		}
	}
}

// Console notes, 4.3.8: Bubble Tea asks the terminal for its colour while it is initialised, and waits 5 s for it.
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

func TestTheConsoleShowsTheGatewayAndLeavesByKeyOrContext(t *testing.T) {
	for _, tc := range []struct {
		name  string
		leave func(tt *terminal, cancel func())
	}{
		{"q leaves", func(tt *terminal, _ func()) { _, _ = io.WriteString(tt.user, "q") }},
		{"ctrl+c leaves", func(tt *terminal, _ func()) { _, _ = io.WriteString(tt.user, "\x03") }},
		{"the end of the context leaves", func(_ *terminal, cancel func()) { cancel() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tt := newTerminal(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := console{status: ops.Status{State: ops.StateDraining, PID: 4121}}
			left := make(chan error, 1)
			go func() { left <- Run(ctx, c, tt.program, tt.program) }()
			tt.await(t, "DRAINING")
			tc.leave(tt, cancel)
			select {
			case err := <-left:
				if err != nil {
					t.Fatalf("leaving is no error; got %v", err)
				}
			case <-time.After(limit):
				t.Fatal("the console was not left")
			}
		})
	}
}

func TestAGatewayThatDoesNotAnswerIsSaidNotToAnswer(t *testing.T) {
	m := newModel(t.Context(), console{err: errors.New("socket\x1b[2J gone")})
	next, again := m.Update(m.look())
	if view := next.View(); !strings.Contains(view, "no answer: socket␛[2J gone") {
		t.Fatalf("drawn: %q", view)
	}
	if again == nil {
		t.Fatal("the gateway is not asked again")
	}
}

func TestANarrowTerminalIsNeverOverrun(t *testing.T) {
	m := newModel(t.Context(), console{err: errors.New(strings.Repeat("x", 500))})
	m.width = 20
	next, _ := m.Update(m.look())
	line, _, _ := strings.Cut(next.View(), "\n")
	if n := len([]rune(line)); n != 20 {
		t.Fatalf("%d cells on a terminal of 20: %q", n, line)
	}
}
