package tui

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/term"
)

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
