package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// newPty is a pty and the program's side of it.
func newPty(t *testing.T) (user, tty *os.File) {
	t.Helper()
	var err error
	user, tty, err = pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close(); tty.Close() })
	return user, tty
}

func TestWhyThereIsNoConsole(t *testing.T) {
	_, tty := newPty(t)
	plain := func(string) string { return "" }
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	dumb := func(name string) string { return map[string]string{"TERM": "dumb"}[name] }
	for _, tc := range []struct {
		name   string
		in     io.Reader
		out    io.Writer
		getenv func(string) string
		lines  bool
		why    string
	}{
		{"a terminal can have one", tty, tty, plain, false, ""},
		{"no input", null, tty, plain, false, "stdin is not a terminal"},
		{"an input that is not a file", strings.NewReader(""), tty, plain, true, "stdin is not a terminal"},
		{"no output", tty, null, plain, false, "stdout is not a terminal"},
		{"a dumb terminal has no screen", tty, tty, dumb, false, "TERM is dumb"},
		{"and can have lines", tty, tty, dumb, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if on, why := FindTerminal(tc.in, tc.out, tc.getenv, tc.lines); why != tc.why || (on == nil) == (why == "") {
				t.Errorf("why is %q, want %q", why, tc.why)
			}
		})
	}
}

// within is a generous bound: what it bounds takes 0.75 s, on a machine that does something else as well.
const within = 30 * time.Second

// J3: a console that is left, fails or panics gives the terminal back.
func TestJ3_TheTerminalIsGivenBack(t *testing.T) {
	for _, tc := range []struct {
		name    string
		console func(context.Context) (Exit, error)
		want    string
		tidies  bool
	}{
		{"by one that is left", func(context.Context) (Exit, error) { return Exit{How: Detached}, nil }, "", false},
		{"by one that fails", func(context.Context) (Exit, error) { return Exit{}, errors.New("no such terminal") }, "no such terminal", true},
		{"by one that panics", func(context.Context) (Exit, error) { panic("a view") }, "the console panicked: a view", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user, tty := newPty(t)
			on, why := FindTerminal(tty, tty, func(string) string { return "" }, false)
			if on == nil {
				t.Fatal(why)
			}
			before := termiosOf(t, on.in)
			exit, err := on.Run(t.Context(), func(ctx context.Context) (Exit, error) {
				raw := before
				raw.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
				if err := unix.IoctlSetTermios(int(on.in.Fd()), setModes, &raw); err != nil {
					return Exit{}, err
				}
				return tc.console(ctx)
			})
			if tc.want == "" && (err != nil || exit.How != Detached) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("it ended %s with %v", exit.How, err)
			}
			if after := termiosOf(t, on.in); after != before {
				t.Errorf("the modes were %+v and are %+v", before, after)
			}
			if tc.tidies {
				seen := make([]byte, len(LeaveScreen))
				if _, err := io.ReadFull(user, seen); err != nil || string(seen) != LeaveScreen {
					t.Errorf("the screen was left with %q, %v", seen, err)
				}
			}
		})
	}
}

func termiosOf(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

func TestAConsoleThatDoesNotEndIsAbandoned(t *testing.T) {
	hangs := make(chan struct{})
	defer close(hangs)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	_, err := Bounded(ctx, func(context.Context) (Exit, error) { <-hangs; return Exit{}, nil })
	if took := time.Since(began); !errors.Is(err, errStalled) || took < leaveBound || took > within {
		t.Errorf("it took %v and ended with %v", took, err)
	}
}

func TestAWriteToATerminalThatIsNotReadIsAbandoned(t *testing.T) {
	user, tty := newPty(t)
	on, why := FindTerminal(tty, tty, func(string) string { return "" }, false)
	if on == nil {
		t.Fatal(why)
	}
	began := time.Now()
	if on.Write(strings.Repeat("x", 1<<20)) {
		t.Error("a terminal that is not read took 1 MiB")
	}
	if took := time.Since(began); took > within {
		t.Errorf("it took %v", took)
	}
	user.Close() // lets the write go, so that its goroutine ends
}

// What a library writes to stderr comes as lines, cleaned; afterwards stderr is what it was.
func TestStderrIsKeptOffTheScreen(t *testing.T) {
	var before, after unix.Stat_t
	if err := unix.Fstat(2, &before); err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 10)
	release, err := CaptureStderr(nil, func(line string) { heard <- line })
	if err != nil {
		t.Fatal(err)
	}
	// Descriptor 2 itself: under go test -json os.Stderr is another one.
	if _, err := unix.Write(2, fmt.Appendf(nil, "first\n%s\n%s\nlast", "\x1b]52;c;cm0gLXJm\a\x1b[2J\u009b31m\u202eevil\r\x00", strings.Repeat("y", 3*maxStray))); err != nil {
		t.Error(err)
	}
	release()
	close(heard)
	var lines []string
	for line := range heard {
		lines = append(lines, line)
	}
	if len(lines) != 4 || lines[0] != "first" || lines[1] != "␛]52;c;cm0gLXJm\uFFFD␛[2J\uFFFD31mevil␍\uFFFD" || len(lines[2]) > maxStray || lines[3] != "last" {
		t.Errorf("heard %d lines: %.200q", len(lines), lines)
	}
	if err := unix.Fstat(2, &after); err != nil || after.Ino != before.Ino || after.Rdev != before.Rdev {
		t.Errorf("stderr is another file now: %v", err)
	}
}
