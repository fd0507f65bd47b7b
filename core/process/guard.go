package process

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/process/guardian"
)

// Times of the loop that keeps a guardian.
const (
	// guardPause is the pause before a guardian that ended is replaced. It doubles with each replacement, up to
	// guardPauseMost. A guardian that ran for guardSteady resets it.
	guardPause     = 100 * time.Millisecond
	guardPauseMost = 30 * time.Second
	guardSteady    = 10 * time.Second
	// guardLook is how often the guardian is checked, because a guardian that a signal or a debugger stopped guards
	// nothing.
	guardLook = 2 * time.Second
	// farewell is how long a guardian may take to exit when nothing is left.
	farewell = time.Second
	// tellWait is how long a guardian may take to read identities. Only the sending goroutine waits: see tell.
	tellWait = 10 * time.Second
)

// guard is the guardian's state. Registry.mu guards it.
type guard struct {
	pid int // 0: no guardian watches
	err error
}

var (
	errGuardOff    = errors.New("disabled by the config")
	errGuardStarts = errors.New("not started yet")
	errGuardEnded  = errors.New("the guardian ended and is being replaced")
	errGuardSlow   = errors.New("the guardian stopped reading and is being replaced")
	errGuardStops  = errors.New("the guardian was stopped by a signal or a debugger and is being replaced")
)

// Guardian is the pid of the guardian. While no guardian watches, it is 0 with the reason.
func (r *Registry) Guardian() (pid int, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.opts.Guardian:
		return 0, errGuardOff
	case r.guard == guard{}:
		return 0, errGuardStarts
	}
	return r.guard.pid, r.guard.err
}

func (r *Registry) setGuard(g guard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g.pid == 0 && (r.guard.pid != 0 || r.guardless.IsZero()) {
		r.guardless = time.Now()
	}
	r.guard = g
}

// guardLoop keeps a guardian running until the registry closes.
func (r *Registry) guardLoop() {
	<-r.divided // the guardian starts in the group that the program stays in; see divide
	for pause := guardPause; ; pause = min(2*pause, guardPauseMost) {
		began := time.Now()
		over, err := r.guarded()
		if over {
			return
		}
		if time.Since(began) > guardSteady {
			pause = guardPause
		}
		r.setGuard(guard{err: err})
		r.log.Warn("guardian replaced", "error", err, "pause_ms", pause.Milliseconds())
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-r.stopping:
			timer.Stop()
			return
		}
	}
}

// guarded starts a guardian and watches it. It returns true when the registry closes, and false with the reason when the
// guardian no longer watches.
func (r *Registry) guarded() (over bool, why error) {
	id, conn, err := r.startGuardian()
	if err != nil {
		return false, err
	}
	ended := make(chan struct{})
	go func() { // ends with the guardian, or conn: this function waits for it
		defer close(ended)
		var b [1]byte
		for {
			if _, err := conn.Read(b[:]); err != nil {
				return
			}
			if b[0] == guardian.Ready {
				r.setGuard(guard{pid: id.pid})
			}
		}
	}()
	untold := make(chan error, 1)
	news := make(chan struct{}) // closed when the sending must end
	var telling sync.WaitGroup
	telling.Go(func() { untold <- r.tell(conn, news) })
	stopTelling := sync.OnceFunc(func() {
		close(news)
		_ = conn.SetWriteDeadline(time.Unix(1, 0)) // fails if it is closed: then no write hangs
		telling.Wait()
		_ = conn.SetWriteDeadline(time.Time{})
	})
	defer stopTelling()
	look := time.NewTicker(guardLook)
	defer look.Stop()
	why = errGuardEnded
	for watched := true; watched; {
		select {
		case <-ended:
			_ = conn.Close() // everything that it wrote was read
			r.collectGuardian(id, time.Now().Add(farewell))
			return false, why
		case <-look.C:
			if p, err := statOf(id.pid); err == nil && p.ident == id && (p.state == 'T' || p.state == 't') {
				why = errGuardStops
				_ = unix.Kill(id.pid, unix.SIGKILL) // our child, not waited for: the pid is still its own
			}
		case err := <-untold:
			if errors.Is(err, os.ErrDeadlineExceeded) {
				why = errGuardSlow
			}
			if p, statErr := statOf(id.pid); err != nil && statErr == nil && p.ident == id { // else the registry closes, or the guardian has ended
				_ = unix.Kill(id.pid, unix.SIGKILL)
			}
		case <-r.stopping:
			watched = false
		}
	}
	stopTelling()
	r.setGuard(guard{err: ErrClosing})
	if r.unclean {
		// From now on the survivors are the guardian's. It exits when it is done, and not before.
		_ = conn.Close()
		<-ended
		return true, nil
	}
	last := time.Now().Add(farewell)
	_, _ = conn.Write([]byte{guardian.Goodbye}) // a guardian that has ended does not need it
	_ = conn.SetReadDeadline(last)              // fails when it has ended, as does the read
	<-ended
	_ = conn.Close()
	r.collectGuardian(id, last)
	return true, nil
}

// tell sends a guardian the identities of the processes that it must end if we cannot, as scans find them and find them
// gone, until stop or the registry closes. Only the end of the guardian waits for it. A slow guardian blocks this
// goroutine alone, which returns an error.
func (r *Registry) tell(conn *os.File, stop <-chan struct{}) error {
	told := map[ident]bool{}
	var b []byte
	for {
		r.mu.Lock()
		present := r.present
		r.mu.Unlock()
		b = b[:0]
		now := make(map[ident]bool, len(present))
		for _, i := range present {
			now[i] = true
			if !told[i] {
				b = guardian.AppendIdentity(b, guardian.Add, i.pid, i.start)
			}
		}
		for i := range told {
			if !now[i] {
				b = guardian.AppendIdentity(b, guardian.Drop, i.pid, i.start)
			}
		}
		told = now
		if len(b) > 0 {
			_ = conn.SetWriteDeadline(time.Now().Add(tellWait)) // fails when it is closed, as does the write
			if _, err := conn.Write(b); err != nil {
				return fmt.Errorf("send identities to the guardian: %w", err)
			}
		}
		select {
		case <-r.presentNews:
		case <-stop:
			return nil
		case <-r.stopping:
			return nil
		}
	}
}

// startGuardian starts this same program as the guardian, and returns our end of its socket.
func (r *Registry) startGuardian() (_ ident, _ *os.File, err error) {
	fail := func(what string, err error) (ident, *os.File, error) {
		return ident{}, nil, fmt.Errorf("start guardian: %s: %w", what, err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fail("open standard streams", err)
	}
	defer null.Close()
	pair, err := socketPair()
	if err != nil {
		return fail("open socket", err)
	}
	defer closeFD(pair[1])
	conn, err := ours(pair[0], "guardian")
	if err != nil {
		return fail("open socket", err)
	}
	charge := guardian.Target{Life: r.opts.Life, PID: r.self.pid, Start: r.self.start}
	if r.groups != nil {
		charge.Group = r.groups.life
		if undo := r.division.undo; undo != "" {
			charge.Base, charge.Controllers = r.groups.base, undo
		}
	}
	files := []uintptr{null.Fd(), null.Fd(), null.Fd()}
	files = append(files[:guardian.Socket:guardian.Socket], uintptr(pair[1]))

	program, err := ownProgram()
	if err != nil {
		_ = conn.Close() // nothing was written
		return fail("find its program", err)
	}
	// No scan may see the guardian before it is registered as not being a tool.
	if err := r.takeScan(context.Background(), time.Now().Add(sweepEvery), nil); err != nil {
		_ = conn.Close() // nothing was written
		return fail("run", err)
	}
	defer r.giveScan()
	pid, err := syscall.ForkExec(program, charge.Args(), &syscall.ProcAttr{
		Dir: "/", Env: guardian.Env(), Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = conn.Close() // nothing was written
		return fail("run", err)
	}
	id := ident{pid: pid}
	if p, err := statOf(pid); err == nil { // else its status was collected already, and its socket ends as well
		id = p.ident
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.foreign = maps.Clone(r.foreign)
	r.foreign[id] = true
	return id, conn, nil
}

// collectGuardian waits for a guardian that has ended or is about to. It kills one that has not ended by last.
func (r *Registry) collectGuardian(id ident, last time.Time) {
	var status unix.WaitStatus
	for {
		pid, err := unix.Wait4(id.pid, &status, unix.WNOHANG, nil)
		if pid == id.pid || errors.Is(err, unix.ECHILD) {
			break // or, as pid 1, the reaper did
		}
		if time.Now().After(last) {
			_ = unix.Kill(id.pid, unix.SIGKILL) // our child, not waited for: the pid is still its own
		}
		<-time.After(time.Millisecond)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waited++
	r.foreign = maps.Clone(r.foreign)
	delete(r.foreign, id)
}
