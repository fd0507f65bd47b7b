package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"gatewaytui/core/process/kernel"
)

// forkedChild is a child and our ends of its streams.
type forkedChild struct {
	kernel.Ident
	pidfd int
	out   *os.File // its output, non-blocking
	in    *os.File // its input, non-blocking; nil: none
	dir   string   // of its control group; empty: it has no group for itself
	pipe  uint64   // the inode of the pipe that out reads; 0: out is not a pipe
}

// spawnLoop makes all forks, on one thread that lives as long as the registry. The parent-death signal fires when the
// thread that forked ends, not the program (PR_SET_PDEATHSIG, prctl(2)).
func (r *Registry) spawnLoop() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for {
		select {
		case <-r.ctx.Done():
			return
		case req := <-r.spawns:
			r.serve(req)
		}
	}
}

func (r *Registry) serve(req *spawnRequest) {
	defer r.forked(req.id)
	r.mu.Lock()
	refused := r.refused
	r.mu.Unlock()
	var res spawnResult
	if refused {
		res.err = ErrClosing
	} else if child, err := r.forkContained(req); err != nil {
		r.forked(req.id) // first: the caller may start the next one at once, and there is room for it
		res.err = fmt.Errorf("start %s: %w", req.path, explainFork(err))
	} else {
		res.p = r.enter(req, child)
	}
	select {
	case req.result <- res:
	case <-req.gone:
		// It is ended with everything that it started, on another goroutine, because the next spawn waits here.
		if res.p != nil {
			r.readers.Go(func() { res.p.Kill(context.Background(), 0) }) // the caller's ctx has ended; a kill without a grace is bounded
		}
	}
}

// lasting is a failure that lasts, and since when; the zero value: there is none.
type lasting struct {
	err   error
	since time.Time
}

// set replaces the failure; nil: there is none any more. It reports whether that began or ended a failure. Registry.mu is
// held.
func (l *lasting) set(err error) (changed bool) {
	changed = (err == nil) != (l.err == nil)
	if l.err = err; changed {
		l.since = time.Now()
	}
	return changed
}

// noteUnlimited records why the group of the last tree could not be limited; nil: it was.
func (r *Registry) noteUnlimited(err error) {
	r.mu.Lock()
	changed := r.unlimited.set(err)
	r.mu.Unlock()
	if changed && err != nil {
		r.log.Warn("control group not limited", "error", err)
	}
}

// noteUngrouped records why the last spawn had no group for itself; nil: it had one.
func (r *Registry) noteUngrouped(err error) {
	r.mu.Lock()
	changed := r.ungrouped.set(err)
	r.mu.Unlock()
	if changed {
		level, why := r.Containment()
		r.log.Warn("containment changed", "level", level, "reason", why)
	}
}

// fork starts the process of req with its own session, and so with its own group and without our terminal, in the control
// group that cgroup is open at; -1: in ours.
func (r *Registry) fork(req *spawnRequest, cgroup int) (_ forkedChild, err error) {
	child := forkedChild{pidfd: -1}
	stdin, stdout, err := connect(req.spec, &child)
	defer func() {
		_, _ = stdin.Close(), stdout.Close() // the child has its own
		if err != nil {
			child.close()
		}
	}()
	if err != nil {
		return child, err
	}
	in, out := stdin.Fd(), stdout.Fd()
	// A descriptor opened by os may be non-blocking, which no program expects of its streams.
	if err = errors.Join(unix.SetNonblock(int(in), false), unix.SetNonblock(int(out), false)); err != nil {
		return child, err
	}
	attr := &syscall.ProcAttr{Dir: req.spec.Dir, Env: req.env, Files: []uintptr{in, out, out}}
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
	if !spec.Stdin {
		stdin, err = os.Open(os.DevNull)
	} else if stdin, child.in, err = os.Pipe(); err != nil {
		err = fmt.Errorf("open input pipe: %w", err)
	}
	return stdin, stdout, err
}

// ours makes fd a file that supports deadlines. It owns fd, also when it fails.
func ours(fd int, name string) (*os.File, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		closeFD(fd)
		return nil, fmt.Errorf("make %s non-blocking: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func dup(fd int) (int, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return -1, fmt.Errorf("duplicate a descriptor: %w", err)
	}
	return own, nil
}

func (c *forkedChild) close() {
	_, _ = c.out.Close(), c.in.Close() // nothing was written; a file that is nil or closed already is left alone
	closeFD(c.pidfd)
}

// closeFD closes a descriptor that holds no unsaved data; it does nothing for -1.
func closeFD(fd int) {
	if fd < 0 {
		return
	}
	if err := unix.Close(fd); err != nil && !errors.Is(err, unix.EINTR) {
		panic(fmt.Sprintf("close descriptor %d: %v: it was closed twice", fd, err))
	}
}
