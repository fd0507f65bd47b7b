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
	// exitWait is how long a guardian may take to exit when nothing is left.
	exitWait = time.Second
	// tellWait is how long a guardian may take to read identities. Only the sending goroutine waits: see tell.
	tellWait = 10 * time.Second
)

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
	if !r.opts.Guardian {
		return 0, errGuardOff
	}
	return r.guardian, r.unguarded.err
}

// setGuardian records the pid of the guardian, or why none watches.
func (r *Registry) setGuardian(pid int, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.guardian = pid
	r.unguarded.set(why)
	if pid == 0 {
		return
	}
	select {
	case <-r.watched:
	default:
		close(r.watched)
	}
}

// AwaitGuardian waits until the first guardian watches: what was started before that outlives a SIGKILL of the program until the next life
// ends it. The error is that of ctx, or ErrClosing. Without Options.Guardian it waits for nothing.
func (r *Registry) AwaitGuardian(ctx context.Context) error {
	if !r.opts.Guardian {
		return nil
	}
	select {
	case <-r.watched:
		return nil
	case <-r.ctx.Done():
		return ErrClosing
	case <-ctx.Done():
		return fmt.Errorf("wait for the guardian: %w", ctx.Err())
	}
}

// guardLoop keeps a guardian running until the registry closes.
func (r *Registry) guardLoop() {
	<-r.divided // the guardian starts in the group that the program stays in; see divide
	for wait := guardPause; ; wait = min(2*wait, guardPauseMost) {
		began := time.Now()
		over, err := r.guarded()
		if over {
			return
		}
		if time.Since(began) > guardSteady {
			wait = guardPause
		}
		r.setGuardian(0, err)
		r.log.Warn("guardian replaced", "error", err, "pause_ms", wait.Milliseconds())
		if !pause(wait, r.ctx.Done()) {
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
				r.setGuardian(id.PID, nil)
			}
		}
	}()
	sending, stop := context.WithCancel(r.ctx)
	failed := make(chan error, 1)
	var sender sync.WaitGroup
	sender.Go(func() { failed <- r.tell(sending, conn) })
	defer sender.Wait() // conn is closed by then
	defer stop()
	look := time.Tick(guardLook)
	why = errGuardEnded
	for watched := true; watched; {
		select {
		case <-ended:
			_ = conn.Close() // everything that it wrote was read
			r.collectGuardian(id, time.Now().Add(exitWait))
			return false, why
		case <-look:
			if p, err := statOf(id.PID); err == nil && p.Ident == id && (p.State == 'T' || p.State == 't') {
				why = errGuardStops
				_ = unix.Kill(id.PID, unix.SIGKILL) // our child, not waited for: the pid is still its own
			}
		case err := <-failed:
			if errors.Is(err, os.ErrDeadlineExceeded) {
				why = errGuardSlow
			}
			if p, statErr := statOf(id.PID); err != nil && statErr == nil && p.Ident == id { // else the registry closes, or the guardian has ended
				_ = unix.Kill(id.PID, unix.SIGKILL)
			}
		case <-r.ctx.Done():
			watched = false
		}
	}
	_ = conn.SetWriteDeadline(time.Unix(1, 0)) // fails if it is closed: then no write hangs
	sender.Wait()
	_ = conn.SetWriteDeadline(time.Time{})
	r.setGuardian(0, ErrClosing)
	if r.unclean {
		// From now on the survivors are the guardian's. It exits when it is done, and not before.
		_ = conn.Close()
		<-ended
		return true, nil
	}
	last := time.Now().Add(exitWait)
	_, _ = conn.Write([]byte{guardian.Release}) // a guardian that has ended does not need it
	_ = conn.SetReadDeadline(last)              // fails when it has ended, as does the read
	<-ended
	_ = conn.Close()
	r.collectGuardian(id, last)
	return true, nil
}

// tell sends a guardian the identities of the processes that it must end if we cannot, as scans find them and find them
// gone, until ctx ends. Only the end of the guardian waits for it. A slow guardian blocks this
// goroutine alone, which returns an error.
func (r *Registry) tell(ctx context.Context, conn *os.File) error {
	reported := map[ident]bool{}
	for {
		r.mu.Lock()
		present := r.present
		r.mu.Unlock()
		var b []byte
		for _, i := range present {
			if !reported[i] {
				b = guardian.AppendIdentity(b, guardian.Add, i.PID, i.Start)
			}
			delete(reported, i)
		}
		for i := range reported {
			b = guardian.AppendIdentity(b, guardian.Drop, i.PID, i.Start)
		}
		clear(reported)
		for _, i := range present {
			reported[i] = true
		}
		if len(b) > 0 {
			_ = conn.SetWriteDeadline(time.Now().Add(tellWait)) // fails when it is closed, as does the write
			if _, err := conn.Write(b); err != nil {
				return fmt.Errorf("send identities to the guardian: %w", err)
			}
		}
		select {
		case <-r.presentNews:
		case <-ctx.Done():
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
	program, err := ownProgram()
	if err != nil {
		return fail("find its program", err)
	}
	pair, err := socketPair()
	if err != nil {
		return fail("open socket", err)
	}
	defer closeFD(pair[1])
	conn, err := ours(pair[0], "guardian")
	if err != nil {
		return fail("open socket", err)
	}
	target := guardian.Target{Life: r.opts.Life, PID: r.self.PID, Start: r.self.Start}
	if r.groups != nil {
		target.Group = r.groups.life
		if undo := r.division.undo; undo != "" {
			target.Base, target.Controllers = r.groups.base, undo
		}
	}
	target.Old = r.old.lives()
	files := []uintptr{null.Fd(), null.Fd(), null.Fd(), guardian.Socket: uintptr(pair[1])}

	// No scan may see the guardian before it is registered as not being a tool.
	if err := r.takeScan(context.Background(), time.Now().Add(sweepEvery), nil); err != nil {
		_ = conn.Close() // nothing was written
		return fail("run", err)
	}
	defer r.giveScan()
	pid, err := syscall.ForkExec(program, target.Args(), &syscall.ProcAttr{
		Dir: "/", Env: guardian.Env(), Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = conn.Close() // nothing was written
		return fail("run", err)
	}
	id := ident{PID: pid}
	if p, err := statOf(pid); err == nil { // else its status was collected already, and its socket ends as well
		id = p.Ident
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
		pid, err := unix.Wait4(id.PID, &status, unix.WNOHANG, nil)
		if pid == id.PID || errors.Is(err, unix.ECHILD) {
			break // or, as pid 1, the reaper did
		}
		if time.Now().After(last) {
			_ = unix.Kill(id.PID, unix.SIGKILL) // our child, not waited for: the pid is still its own
		}
		<-time.After(time.Millisecond)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waited++
	r.foreign = maps.Clone(r.foreign)
	delete(r.foreign, id)
}
