package process

import (
	"fmt"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// fork starts the process of req with its own session, and so with its own group and without our terminal, in the control
// group that cgroup is open at; -1: in ours.
func (r *Registry) fork(req *spawnRequest, cgroup int) (_ forkedChild, err error) {
	child := forkedChild{pidfd: -1}
	stdin, stdout, err := connect(req.spec, &child)
	answers := stdout
	if err == nil && req.spec.Pipes {
		child.data, answers, err = os.Pipe()
	}
	defer func() {
		_, _, _ = stdin.Close(), stdout.Close(), answers.Close() // the child has its own
		if err != nil {
			child.close()
		}
	}()
	if err != nil {
		return child, err
	}
	attr := &syscall.ProcAttr{Dir: req.spec.Dir, Env: req.env, Files: []uintptr{stdin.Fd(), answers.Fd(), stdout.Fd()}}
	for _, fd := range attr.Files {
		// A descriptor opened by os may be non-blocking, which no program expects of its streams.
		if err = unix.SetNonblock(int(fd), false); err != nil {
			return child, err
		}
	}
	for _, f := range req.spec.Files {
		attr.Files = append(attr.Files, f.Fd())
	}
	if err := r.start(req, attr, cgroup, &child); err != nil {
		return child, err
	}
	// It may have ended, but no goroutine waits for it before it is entered, so its line still exists.
	p, err := statOf(child.PID)
	if err != nil {
		_ = unix.Kill(-child.PID, unix.SIGKILL)
		return child, fmt.Errorf("read the identity of pid %d: %w", child.PID, err)
	}
	child.Start = p.Start
	return child, nil
}

// connect opens the child's standard input and output, and our ends of them. Both are one file for a terminal. It returns
// what it has opened also when it fails.
func connect(spec Spec, child *forkedChild) (stdin, stdout *os.File, err error) {
	if spec.PTY {
		if child.out, stdout, err = pty.Open(); err != nil {
			return nil, nil, fmt.Errorf("open terminal: %w", err)
		}
		child.in = child.out
		if err := pty.Setsize(child.out, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
			return nil, stdout, fmt.Errorf("size terminal: %w", err)
		}
		return stdout, stdout, nil
	}
	if child.out, stdout, err = os.Pipe(); err != nil {
		return nil, nil, fmt.Errorf("open output pipe: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(stdout.Fd()), &st); err == nil {
		child.pipe = st.Ino
	}
	if spec.Policy == PolicyKept {
		both, err := openBoth(stdout)
		if err != nil {
			return nil, stdout, fmt.Errorf("open output pipe to be kept: %w", err)
		}
		_ = stdout.Close() // nothing was written
		stdout = both
	}
	if !spec.Stdin && !spec.Pipes {
		stdin, err = os.Open(os.DevNull)
	} else if stdin, child.in, err = os.Pipe(); err != nil {
		err = fmt.Errorf("open input pipe: %w", err)
	}
	return stdin, stdout, err
}
