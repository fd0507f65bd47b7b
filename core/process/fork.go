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
)

// forkedChild is a child and our ends of its streams.
type forkedChild struct {
	ident
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
		case <-r.stopping:
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
	if refused {
		req.result <- spawnResult{err: ErrClosing}
		return
	}
	child, err := r.forkContained(req)
	if err != nil {
		r.forked(req.id) // first: the caller may start the next one at once, and there is room for it
		req.result <- spawnResult{err: fmt.Errorf("start %s: %w", req.path, explainFork(err))}
		return
	}
	p := r.enter(req, child)
	if req.taken.CompareAndSwap(false, true) {
		req.result <- spawnResult{p: p}
		return
	}
	// No caller waits for it any more. It is ended with everything that it started, on another goroutine, because the
	// next spawn waits here.
	r.readers.Go(func() {
		p.Kill(context.Background(), 0) // the caller's ctx has ended; a kill without a grace is bounded
	})
}

// setLimitErr records why the group of the last tree could not be limited; nil: it was.
func (r *Registry) setLimitErr(err error) {
	r.mu.Lock()
	changed := (err == nil) != (r.limitErr == nil)
	if r.limitErr = err; changed {
		r.limitLost = time.Now()
	}
	r.mu.Unlock()
	if changed && err != nil {
		r.log.Warn("control group not limited", "error", err)
	}
}

func (r *Registry) setGroupErr(err error) {
	r.mu.Lock()
	changed := (err == nil) != (r.groupErr == nil)
	r.groupErr = err
	if changed {
		r.groupLost = time.Now()
	}
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
	stdio, err := connect(req.spec, &child)
	defer func() {
		for _, fd := range stdio {
			closeFD(fd)
		}
		if err != nil {
			child.close()
		}
	}()
	if err != nil {
		return child, err
	}
	out := uintptr(stdio[len(stdio)-1])
	attr := &syscall.ProcAttr{Dir: req.spec.Dir, Env: req.env, Files: []uintptr{uintptr(stdio[0]), out, out}}
	if err := r.start(req, attr, cgroup, &child); err != nil {
		return child, err
	}
	// It may have ended, but no goroutine waits for it before it is entered, so its line still exists.
	p, err := statOf(child.pid)
	if err != nil {
		_ = unix.Kill(-child.pid, unix.SIGKILL)
		return child, fmt.Errorf("read the identity of pid %d: %w", child.pid, err)
	}
	child.start = p.start
	return child, nil
}

// connect opens the child's standard input and output, which it returns, and our ends of them. It returns one descriptor
// if both are the same.
func connect(spec Spec, child *forkedChild) (stdio []int, err error) {
	if spec.PTY {
		master, slave, err := pty.Open()
		if err != nil {
			return nil, fmt.Errorf("open terminal: %w", err)
		}
		defer master.Close()
		defer slave.Close()
		if err := pty.Setsize(master, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
			return nil, fmt.Errorf("size terminal: %w", err)
		}
		own, err := dup(int(master.Fd()))
		if err != nil {
			return nil, err
		}
		if child.out, err = ours(own, "terminal"); err != nil {
			return nil, err
		}
		child.in = child.out
		fd, err := dup(int(slave.Fd()))
		if err != nil {
			return nil, err
		}
		// A descriptor opened by os may be non-blocking, which no program expects of its terminal.
		return []int{fd}, unix.SetNonblock(fd, false)
	}

	stdio = []int{-1, -1}
	var out, in [2]int
	if err := pipe(&out); err != nil {
		return stdio, fmt.Errorf("open output pipe: %w", err)
	}
	stdio[1] = out[1]
	var st unix.Stat_t
	if err := unix.Fstat(out[0], &st); err == nil {
		child.pipe = st.Ino
	}
	if child.out, err = ours(out[0], "output"); err != nil {
		return stdio, err
	}
	if spec.Policy == PolicyKept {
		both, err := openBoth(out[1])
		if err != nil {
			return stdio, fmt.Errorf("open output pipe to be kept: %w", err)
		}
		closeFD(out[1])
		stdio[1] = both
	}
	if !spec.Stdin {
		stdio[0], err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return stdio, err
	}
	if err := pipe(&in); err != nil {
		return stdio, fmt.Errorf("open input pipe: %w", err)
	}
	stdio[0] = in[0]
	child.in, err = ours(in[1], "input")
	return stdio, err
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
	if c.out != nil {
		_ = c.out.Close() // nothing was written
	}
	if c.in != nil && c.in != c.out {
		_ = c.in.Close()
	}
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
