package main

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

	"gatewaytui/tui"
)

// newTerminal is a pty with a program on it that never reads more than it wants to.
func newTerminal(t *testing.T) (user *os.File, p *program) {
	t.Helper()
	user, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { user.Close(); tty.Close() })
	return user, &program{in: tty, out: tty, err: io.Discard, getenv: func(string) string { return "" }}
}

func TestWhyThereIsNoConsole(t *testing.T) {
	_, p := newTerminal(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	dumb := func(name string) string { return map[string]string{"TERM": "dumb"}[name] }
	for _, tc := range []struct {
		name  string
		p     program
		lines bool
		why   string
	}{
		{"a terminal can have one", *p, false, ""},
		{"no input", program{in: null, out: p.out, getenv: p.getenv}, false, "stdin is no terminal"},
		{"an input that is no file", program{in: strings.NewReader(""), out: p.out, getenv: p.getenv}, true, "stdin is no terminal"},
		{"no output", program{in: p.in, out: null, getenv: p.getenv}, false, "stdout is no terminal"},
		{"a dumb terminal has no screen", program{in: p.in, out: p.out, getenv: dumb}, false, "TERM is dumb"},
		{"and can have lines", program{in: p.in, out: p.out, getenv: dumb}, true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if on, why := tc.p.terminal(tc.lines); why != tc.why || (on == nil) == (why == "") {
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
		console func(context.Context) (tui.Exit, error)
		want    string
		tidies  bool
	}{
		{"by one that is left", func(context.Context) (tui.Exit, error) { return tui.Exit{How: tui.Detached}, nil }, "", false},
		{"by one that fails", func(context.Context) (tui.Exit, error) { return tui.Exit{}, errors.New("no such terminal") }, "no such terminal", true},
		{"by one that panics", func(context.Context) (tui.Exit, error) { panic("a view") }, "the console panicked: a view", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			user, p := newTerminal(t)
			on, why := p.terminal(false)
			if on == nil {
				t.Fatal(why)
			}
			before := modes(t, on.in)
			exit, err := on.run(t.Context(), func(ctx context.Context) (tui.Exit, error) {
				raw := before
				raw.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
				if err := unix.IoctlSetTermios(int(on.in.Fd()), unix.TCSETS, &raw); err != nil {
					return tui.Exit{}, err
				}
				return tc.console(ctx)
			})
			if tc.want == "" && (err != nil || exit.How != tui.Detached) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("it ended %s with %v", exit.How, err)
			}
			if after := modes(t, on.in); after != before {
				t.Errorf("the modes were %+v and are %+v", before, after)
			}
			if tc.tidies {
				seen := make([]byte, len(tui.LeaveScreen))
				if _, err := io.ReadFull(user, seen); err != nil || string(seen) != tui.LeaveScreen {
					t.Errorf("the screen was left with %q, %v", seen, err)
				}
			}
		})
	}
}

func modes(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

func TestAConsoleThatDoesNotEndIsLeftBehind(t *testing.T) {
	hangs := make(chan struct{})
	defer close(hangs)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	_, err := bounded(ctx, func(context.Context) (tui.Exit, error) { <-hangs; return tui.Exit{}, nil })
	if took := time.Since(began); !errors.Is(err, errStalled) || took < leaveBound || took > within {
		t.Errorf("it took %v and ended with %v", took, err)
	}
}

func TestAWriteToATerminalThatNobodyReadsIsGivenUp(t *testing.T) {
	user, p := newTerminal(t)
	on, why := p.terminal(false)
	if on == nil {
		t.Fatal(why)
	}
	began := time.Now()
	if on.write(strings.Repeat("x", 1<<20)) {
		t.Error("a terminal that nobody reads took 1 MiB")
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
	release, err := captureStderr(nil, func(line string) { heard <- line })
	if err != nil {
		t.Fatal(err)
	}
	// Descriptor 2 itself: under go test -json os.Stderr is another one.
	if _, err := unix.Write(2, fmt.Appendf(nil, "first\n%s\n%s\nlast", hostile, strings.Repeat("y", 3*maxStray))); err != nil {
		t.Error(err)
	}
	release()
	close(heard)
	var lines []string
	for line := range heard {
		lines = append(lines, line)
	}
	if len(lines) != 4 || lines[0] != "first" || lines[1] != shownHostile || len(lines[2]) > maxStray || lines[3] != "last" {
		t.Errorf("heard %d lines: %.200q", len(lines), lines)
	}
	if err := unix.Fstat(2, &after); err != nil || after.Ino != before.Ino || after.Rdev != before.Rdev {
		t.Errorf("stderr is another file now: %v", err)
	}
}

func TestALocaleThatIsNotUnicodeGetsASCII(t *testing.T) {
	for _, tc := range []struct {
		env     map[string]string
		unicode bool
	}{
		{nil, true},
		{map[string]string{"LANG": "de_DE.UTF-8"}, true},
		{map[string]string{"LANG": "C.utf8"}, true},
		{map[string]string{"LANG": "C"}, false},
		{map[string]string{"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, false},
	} {
		if got := unicodeLocale(func(name string) string { return tc.env[name] }); got != tc.unicode {
			t.Errorf("%v: Unicode is %v", tc.env, got)
		}
	}
}
