package main

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

	"gatewaytui/core/term"
	"gatewaytui/tui"
	"gatewaytui/views/lines"
)

// Bounds of what a terminal may cost. One that nobody reads (ctrl+s, a dead ssh, a frozen tmux) takes nothing more and says
// so to nobody: a write to it returns when somebody reads again, which may be never.
const (
	// leaveBound is what leaving a console may take. Bubble Tea is given 300 ms to end and 300 ms to be ended.
	leaveBound = 600 * time.Millisecond
	// writeBound is what a last word may take.
	writeBound = 150 * time.Millisecond
)

// terminal is the terminal of this process while a console is on it, and the way back from that.
type terminal struct {
	in, out *os.File
	modes   *unix.Termios // as they were found
}

// terminal returns what a console can be on, or says in a few words why there is nothing of the kind. A console of lines
// needs less of a terminal than a screen does.
func (p *program) terminal(lines bool) (*terminal, string) {
	in, _ := p.in.(*os.File)
	out, _ := p.out.(*os.File)
	switch {
	case in == nil || !isTerminal(in):
		return nil, "stdin is no terminal"
	case out == nil || !isTerminal(out):
		return nil, "stdout is no terminal"
	case !lines && p.getenv("TERM") == "dumb":
		return nil, "TERM is dumb"
	case !foreground(in):
		return nil, "it runs in the background of its terminal" // reading there would stop the process (SIGTTIN; J4)
	}
	modes, err := unix.IoctlGetTermios(int(in.Fd()), unix.TCGETS)
	if err != nil {
		return nil, "stdin is no terminal"
	}
	return &terminal{in, out, modes}, ""
}

// foreground reports whether f is our controlling terminal and we may change it: from the background that would stop the
// process (SIGTTOU, termios(3)). A terminal that controls nobody may be changed by everybody.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return errors.Is(err, unix.ENOTTY) || err == nil && group == unix.Getpgrp()
}

// restore gives the terminal the modes that it was found with (J3). It waits for nothing: output that nobody reads is not
// waited for (TCSETS, not TCSETSW).
func (t *terminal) restore() {
	if foreground(t.in) {
		_ = unix.IoctlSetTermios(int(t.in.Fd()), unix.TCSETS, t.modes) // a terminal that is gone has none
	}
}

// reset is restore for a console that cannot tidy up by itself any more.
func (t *terminal) reset() {
	t.restore()
	t.write(tui.LeaveScreen)
}

// write puts text on the terminal, and reports whether it took it within writeBound. The goroutine that writes to one that
// nobody reads is left behind.
func (t *terminal) write(text string) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = t.out.WriteString(text) // nobody is left to be told
	}()
	select {
	case <-done:
		return true
	case <-time.After(writeBound):
		return false
	}
}

// errStalled is a console that did not end when it was told to.
var errStalled = errors.New("the terminal takes nothing: nobody reads it")

// run runs a console until it is left, and gives the terminal back as it was found. It returns within leaveBound and
// writeBound of ctx's end, whatever the terminal does, and turns a panic into an error.
func (t *terminal) run(ctx context.Context, console func(context.Context) (tui.Exit, error)) (tui.Exit, error) {
	exit, err := bounded(ctx, console)
	if err != nil {
		t.reset()
	} else {
		t.restore()
	}
	return exit, err
}

// bounded runs a console until it is left, or for leaveBound after ctx's end. One that does not end is left behind.
func bounded(ctx context.Context, console func(context.Context) (tui.Exit, error)) (tui.Exit, error) {
	type end struct {
		how tui.Exit
		err error
	}
	left := make(chan end, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				left <- end{err: fmt.Errorf("the console panicked: %v\n%s", r, debug.Stack())}
			}
		}()
		how, err := console(ctx)
		left <- end{how, err}
	}()
	select { // no deadline: somebody looks at it
	case e := <-left:
		return e.how, e.err
	case <-ctx.Done():
	}
	select {
	case e := <-left:
		return e.how, e.err
	case <-time.After(leaveBound):
		return tui.Exit{}, errStalled
	}
}

// maxStray is how much of one line that was written to stderr is kept, in bytes.
const maxStray = 4 << 10

// captureStderr gives what is written to file descriptor 2 to take, line by line and cleaned, until release is called:
// a library that writes there would write across the console. What the runtime writes when the process crashes goes to
// crash as well (runtime/debug.SetCrashOutput), for the pipe ends with the process.
func captureStderr(crash *os.File, take func(line string)) (release func(), err error) {
	kept, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("keep stderr: %w", err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		unix.Close(kept)
		return nil, fmt.Errorf("make a pipe for stderr: %w", err)
	}
	if err := unix.Dup3(int(to.Fd()), 2, 0); err != nil {
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
				take(term.Clean(term.StripSGR(string(line)), lines.MaxLine))
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
		_ = unix.Dup3(kept, 2, 0) // both are open
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

// readLines sends the lines of in to the channel that it returns, which is closed when in ends; then the error says why,
// io.EOF for an end that somebody typed. A read cannot be given up: the goroutine ends with in or with the process.
func readLines(ctx context.Context, in io.Reader) (lines <-chan string, why func() error) {
	ch := make(chan string)
	var err error
	go func() {
		defer close(ch)
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, maxTyped)
		for scan.Scan() {
			select {
			case ch <- scan.Text():
			case <-ctx.Done():
				return
			}
		}
		if err = scan.Err(); err == nil {
			err = io.EOF
		}
	}()
	return ch, func() error { return err } // to be called once the channel is closed
}

// maxTyped bounds one typed line, in bytes; a terminal itself takes 4095 (termios(3), canonical mode).
const maxTyped = 1 << 20
