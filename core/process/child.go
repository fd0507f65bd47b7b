package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Bounds of reading on after the leader's end. If another process still holds the pipe, a command costs settleQuiet. If
// that process keeps writing, it costs settleMost.
const (
	settleQuiet = 100 * time.Millisecond
	settleMost  = 500 * time.Millisecond
)

// writeWait bounds one Write to a process that does not read.
const writeWait = 5 * time.Second

// ErrNoInput means that a process was started without Stdin and PTY, or that its input was closed.
var ErrNoInput = errors.New("the process has no input to write to")

// newProcess is the handle of a tree whose output comes through pipe.
func (r *Registry) newProcess(pipe *os.File, limit int) *Process {
	return &Process{
		r: r, out: newOutput(limit, r.opts.Redactor), pipe: pipe,
		exited: make(chan struct{}), drained: make(chan struct{}), inTurn: make(chan struct{}, 1), endKnown: new(atomic.Bool),
	}
}

// PID is the pid of the leader.
func (p *Process) PID() int { return p.tree.leader.PID }

// Session is the session that owns the process.
func (p *Process) Session() string { return p.tree.session }

// Policy is what ends the process apart from its own exit.
func (p *Process) Policy() Policy { return p.tree.policy }

// Command is the command as it is shown to people: masked, cleaned and cut.
func (p *Process) Command() string { return p.tree.command }

// StartedAt is when the process was started.
func (p *Process) StartedAt() time.Time { return p.tree.started }

// Exited returns how the leader ended, and whether it has.
func (p *Process) Exited() (Exit, bool) {
	if !closed(p.exited) {
		return Exit{}, false
	}
	return p.exit, true
}

// EndKnown is whether the session's model has read how the leader ended. The tool that shows it sets it.
func (p *Process) EndKnown() *atomic.Bool { return p.endKnown }

// Wait waits for the leader's end, and then a moment for the rest of its output: until the pipe is at its end or quiet
// for 100 ms, and at most 500 ms, even if a process still holds the pipe (C6). It leaves surviving members of the tree
// alone: see Kill.
//
// If ctx ends before the leader, Wait returns ctx's error. During the moment after, the end of ctx only shortens the
// wait.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.exited:
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
	for {
		now := time.Now()
		_, wrote := p.out.written()
		ended := now.Sub(p.exit.At)
		left := settleQuiet - min(ended, now.Sub(wrote))
		if left <= 0 && p.unread() {
			left = settleQuiet // the reader is late, not the process
		}
		if left = min(left, settleMost-ended); left <= 0 {
			return p.exit, nil
		}
		select {
		case <-time.After(left):
		case <-p.drained:
			return p.exit, nil
		case <-ctx.Done():
			return p.exit, nil
		}
	}
}

// Output is what the process wrote, standard output and error in order of arrival. If it is too long, a line between its
// beginning and its end says how many bytes were left out. It is not cleaned.
func (p *Process) Output() (text string, truncated bool) { return p.out.text() }

// Log is what was written from byte offset since on, at most limit bytes (0: all that is kept). next is the offset to
// continue with. missed is how many bytes before text are not kept any more.
func (p *Process) Log(since int64, limit int) (text string, next, missed int64) {
	return p.out.since(since, limit)
}

// Written is how many bytes were written, and when the last of them.
func (p *Process) Written() (total int64, last time.Time) { return p.out.written() }

// Write writes b to the process's input or terminal and returns how many bytes were accepted. It gives up when ctx ends,
// and after 5 s in any case, if the process does not read.
func (p *Process) Write(ctx context.Context, b []byte) (int, error) {
	if p.in == nil {
		return 0, ErrNoInput
	}
	ctx, cancel := context.WithTimeout(ctx, writeWait)
	defer cancel()
	select {
	case p.inTurn <- struct{}{}:
		defer func() { <-p.inTurn }()
	case <-ctx.Done():
		return 0, fmt.Errorf("write to pid %d: wait for the previous write: %w", p.PID(), ctx.Err())
	}
	deadline, _ := ctx.Deadline()
	if err := p.in.SetWriteDeadline(deadline); err != nil {
		return 0, ErrNoInput
	}
	stop := context.AfterFunc(ctx, func() { _ = p.in.SetWriteDeadline(time.Unix(1, 0)) }) // fails if closed, which ends the write as well
	defer stop()
	n, err := p.in.Write(b)
	switch {
	case errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.EIO):
		return n, ErrNoInput
	case err != nil:
		return n, fmt.Errorf("write to pid %d: %w", p.PID(), err)
	}
	return n, nil
}

// Pipes are our ends of the standard input and the standard output of a process with Spec.Pipes, with deadlines; else nil. A
// write to a process that does not read blocks until its deadline. The caller closes both; the input is also closed with the last
// process of the tree.
func (p *Process) Pipes() (in, out *os.File) {
	if p.data == nil {
		return nil, nil
	}
	return p.in, p.data
}

// CloseInput ends the process's standard input. A terminal has no end: write the byte 0x04 instead.
func (p *Process) CloseInput() error {
	if p.in == nil || p.pty {
		return ErrNoInput
	}
	if err := p.in.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close input of pid %d: %w", p.PID(), err)
	}
	return nil
}

// Killed reports whether we ended the tree on request. If a signal ended the leader and Killed is false, another process
// sent the signal.
func (p *Process) Killed() bool {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	return p.tree.killed
}

// TooOld reports whether the tree was ended because of its age (Options.MaxAge).
func (p *Process) TooOld() bool {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	return !p.tree.overdue.IsZero()
}

// lost records that the leader, which is not our child, is gone.
func (p *Process) lost(at time.Time) {
	p.exit = Exit{Code: CodeUnknown, At: at}
	close(p.exited)
}

// treeGone is called when no process of the tree is left. A process that still holds the pipe is not ours.
func (p *Process) treeGone() {
	_ = p.CloseInput()                                      // no process reads it
	_ = p.pipe.SetReadDeadline(time.Now().Add(settleQuiet)) // fails when it is at its end already
}
