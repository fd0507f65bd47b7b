package tui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/bound"
	"gatewaytui/core/term"
)

// Bounds of what a terminal may cost. A terminal that is not read (ctrl+s, a dead ssh, a frozen tmux) accepts no more bytes
// and reports no error. A write to it blocks until the terminal is read again, which may be never.
const (
	// leaveBound is what leaving a console may take. Bubble Tea is given 300 ms to end and 300 ms to be ended.
	leaveBound = 600 * time.Millisecond
	// writeBound is what a last word may take.
	writeBound = 150 * time.Millisecond
)

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	return err == nil
}

// Terminal is the terminal of this process while a console is on it, and the way back from that. One at a time may be in use.
type Terminal struct {
	in, out *os.File
	modes   *unix.Termios // as they were found
}

// FindTerminal returns what a console can be on, or says in a few words why there is none. A
// console of lines needs less of a terminal than a screen does.
func FindTerminal(stdin io.Reader, stdout io.Writer, getenv func(string) string, lines bool) (*Terminal, string) {
	in, _ := stdin.(*os.File)
	out, _ := stdout.(*os.File)
	switch {
	case in == nil || !IsTerminal(in):
		return nil, "stdin is not a terminal"
	case out == nil || !IsTerminal(out):
		return nil, "stdout is not a terminal"
	case !lines && getenv("TERM") == "dumb":
		return nil, "TERM is dumb"
	case !foreground(in):
		return nil, "it runs in the background of its terminal" // reading there would stop the process (SIGTTIN; J4)
	}
	modes, err := unix.IoctlGetTermios(int(in.Fd()), getModes)
	if err != nil {
		return nil, "stdin is not a terminal"
	}
	return &Terminal{in, out, modes}, ""
}

// Name is the path of the terminal's device, empty if it is not known.
func (t *Terminal) Name() string {
	name, _ := os.Readlink(reopenPath(t.in.Fd())) // it has none then
	return name
}

// foreground reports whether f is our controlling terminal and we may change it: from the background that would stop the
// process (SIGTTOU, termios(3)). A terminal that controls no process may be changed from anywhere.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return errors.Is(err, unix.ENOTTY) || err == nil && group == unix.Getpgrp()
}

// Restore gives the terminal the modes that it was found with (J3). It does not wait for pending output to be read (TCSETS,
// not TCSETSW).
func (t *Terminal) Restore() {
	if foreground(t.in) {
		_ = unix.IoctlSetTermios(int(t.in.Fd()), setModes, t.modes) // a terminal that is gone has none
	}
}

// Reset is Restore for a console that can no longer clean up the screen.
func (t *Terminal) Reset() {
	t.Restore()
	t.Write(LeaveScreen)
}

// Write puts text on the terminal, and reports whether it took it within writeBound. A goroutine that writes to a terminal
// that is not read is left behind.
func (t *Terminal) Write(text string) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = t.out.WriteString(text) // there is no one to report an error to
	}()
	select {
	case <-done:
		return true
	case <-time.After(writeBound):
		return false
	}
}

// errStalled is a console that did not end after its context ended.
var errStalled = errors.New("the terminal accepts no output")

// Run runs a console until it is left, and gives the terminal back as it was found. It returns within leaveBound and
// writeBound of ctx's end, however the terminal behaves, and turns a panic into an error.
func (t *Terminal) Run(ctx context.Context, console func(context.Context) (Exit, error)) (Exit, error) {
	exit, err := Bounded(ctx, console)
	if err != nil {
		t.Reset()
	} else {
		t.Restore()
	}
	return exit, err
}

// Bounded runs a console until it is left, or for leaveBound after ctx's end. One that does not end is left behind.
func Bounded(ctx context.Context, console func(context.Context) (Exit, error)) (Exit, error) {
	wait, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ends leaveBound after ctx; until then a person looks at it
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(leaveBound):
			cancel()
		case <-wait.Done():
		}
	})
	defer stop()
	exit, abandoned, err := bound.Call(wait, 0, func(context.Context) (Exit, error) { return console(ctx) }, nil)
	if abandoned {
		return Exit{}, errStalled
	}
	if p, ok := errors.AsType[*bound.Panic](err); ok {
		return Exit{}, fmt.Errorf("the console panicked: %v\n%s", p.Value, p.Stack)
	}
	return exit, err
}

// Bounds of one line that was written to stderr: what is kept of it, in bytes, and what is handed over, in characters.
const (
	maxStray      = 4 << 10
	maxStrayShown = 1000
)

// CaptureStderr gives what is written to file descriptor 2 to take, line by line and cleaned, until release is called:
// a library that writes there would write across the console. What the runtime writes when the process crashes goes to
// crash as well (runtime/debug.SetCrashOutput), for the pipe ends with the process.
func CaptureStderr(crash *os.File, take func(line string)) (release func(), err error) {
	kept, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("keep stderr: %w", err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		unix.Close(kept)
		return nil, fmt.Errorf("make a pipe for stderr: %w", err)
	}
	if err := redirect(int(to.Fd()), 2); err != nil {
		unix.Close(kept)
		return nil, errors.Join(fmt.Errorf("turn stderr into a pipe: %w", err), from.Close(), to.Close())
	}
	to.Close() // descriptor 2 is what holds it open
	if crash != nil {
		_ = debug.SetCrashOutput(crash, debug.CrashOptions{}) // then the trace is lost, as it would be without
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer from.Close()
		for in := bufio.NewReaderSize(from, maxStray); ; {
			line, more, err := in.ReadLine()
			if len(line) > 0 {
				take(term.Clean(term.StripSGR(string(line)), maxStrayShown))
			}
			for more && err == nil { // the rest of a line that is too long
				_, more, err = in.ReadLine()
			}
			if err != nil {
				return
			}
		}
	}()
	return func() {
		_ = redirect(kept, 2) // both are open
		unix.Close(kept)
		if crash != nil {
			_ = debug.SetCrashOutput(nil, debug.CrashOptions{}) // nothing to undo it with
		}
		select { // a child that inherited the pipe would hold it open
		case <-read:
		case <-time.After(writeBound):
		}
	}, nil
}
