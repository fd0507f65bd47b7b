package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/text"
	"gatewaytui/views/lines"
)

// bounds are the times of a takeover.
type bounds struct {
	// ask is what the holder of a home may take to answer one question.
	ask time.Duration
	// unknown is what a holder that does not tell its plan may take to stop, and slack what a process may need beyond its
	// plan.
	unknown, slack time.Duration
	// rung is what each further signal may take, to the last one.
	rung time.Duration
	// again is how often the lock is tried; first and tell are when a person hears what the holder waits for, and how often
	// from then on.
	again, first, tell time.Duration
}

// takeoverBounds: unknown is drain and 30 s of the defaults (S2).
var takeoverBounds = bounds{
	ask: 2 * time.Second, unknown: 90 * time.Second, slack: 5 * time.Second, rung: 10 * time.Second,
	again: 50 * time.Millisecond, first: time.Second, tell: 5 * time.Second,
}

// maxBlockers is how many blockers are named at once.
const maxBlockers = 10

// tenth is as exact as a person wants to know.
const tenth = 100 * time.Millisecond

// rungs are the signals to a holder whose plan is over: graceful, fast, immediate, and the last one.
var rungs = []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM, syscall.SIGKILL}

// takeover is a start that takes the place of the gateway that holds its home.
type takeover struct {
	p      *program
	home   *instance.Home
	holder instance.Record
	client *control.Client
	bounds bounds
}

// replace is takeOver until a signal asks this program to end: ended is true then, and the holder's stop goes on by itself. A
// signal that comes with the lock stops the gateway that begins.
func (p *program) replace(ctx context.Context, home *instance.Home, held *instance.HeldError, record func() instance.Record) (lock *instance.Lock, ended bool, err error) {
	until, release := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer release()
	lock, err = p.takeOver(until, home, held, record)
	if err == nil || until.Err() == nil || ctx.Err() != nil {
		return lock, false, err
	}
	fmt.Fprintf(p.err, "gatewaytui: ended by a signal while replacing pid %d, whose stop goes on; `gatewaytui status` shows it\n", held.Holder.PID)
	return nil, true, nil
}

// takeOver asks the holder to stop, over its socket or else by signal, and waits for the lock while it tells what the
// holder is doing. It gets stronger only when the holder's own plan is over, and always by identity: a pid alone is
// nobody (B2, B11). If somebody else takes the home meanwhile there is nothing left to replace.
func (p *program) takeOver(ctx context.Context, home *instance.Home, held *instance.HeldError, record func() instance.Record) (*instance.Lock, error) {
	t := &takeover{
		p: p, home: home, holder: held.Holder, bounds: takeoverBounds,
		client: control.NewClient(held.Holder.Control, control.ClientOptions{Timeout: takeoverBounds.ask}),
	}
	defer t.client.Close()
	switch {
	case t.holder.PID == 0 || t.holder.Control == "":
		return nil, held // who holds it cannot be told, and so not be asked
	case t.holder.StartedAt.After(p.began):
		return nil, held // it came after us: of several that replace at once the first one has (B19)
	case process.Descends(os.Getpid(), t.holder.PID):
		return nil, inside(t.holder.PID)
	case !t.holds():
		return nil, held // the pid file names somebody else's gateway, or a stranger (B13)
	}
	return t.run(ctx, held, record)
}

// inside refuses what would end its own doer, and then not be done (B7).
func inside(holder int) error {
	return &outcome{exitHeld, &ops.Error{
		Code:    ops.CodeConflict,
		Message: fmt.Sprintf("a tool of the gateway that is to be replaced, pid %d, runs this command, and would end with it: nothing was done", holder),
		Hint:    "gatewaytui restart hands it to the gateway, which starts its next life itself",
	}}
}

// holds reports whether the process of the record has the lock file of this home open, or the home itself, which it locks
// as well: a pid file that was copied from another home, or made up, names one that has not. It is true where nothing of
// that process can be seen from here: then no signal is sent either.
func (t *takeover) holds() bool {
	if _, known := instance.Alive(t.holder); !known {
		return true
	}
	fds := fmt.Sprintf("/proc/%d/fd", t.holder.PID)
	entries, err := os.ReadDir(fds)
	if errors.Is(err, fs.ErrPermission) { // it hides them, as every gateway does (process.Protect)
		f, err := os.Open("/proc/locks")
		if err != nil {
			return false
		}
		defer f.Close()
		return instance.LocksOneOf(f, t.holder.PID, t.home.Lock(), t.home.Dir())
	}
	if err != nil {
		return false
	}
	lock, _ := os.Stat(t.home.Lock()) // nil is the same as nothing
	home, _ := os.Stat(t.home.Dir())
	for _, e := range entries {
		if f, err := os.Stat(filepath.Join(fds, e.Name())); err == nil && (os.SameFile(f, lock) || os.SameFile(f, home)) {
			return true
		}
	}
	return false
}

// run climbs: it asks, and then sends one signal after the other.
func (t *takeover) run(ctx context.Context, held *instance.HeldError, record func() instance.Record) (*instance.Lock, error) {
	bound := t.ask(ctx)
	most := bound + time.Duration(len(rungs))*t.bounds.rung
	fmt.Fprintf(t.p.err, "gatewaytui: replacing pid %d, whose stop may take %s; at %s it is ended by force\n",
		t.holder.PID, bound.Round(tenth), (most - t.bounds.rung).Round(tenth))
	lock, err := t.wait(ctx, record, bound)
	for _, rung := range rungs {
		if lock != nil || err != nil {
			break
		}
		fmt.Fprintf(t.p.err, "gatewaytui: pid %d still holds the home: %s\n", t.holder.PID, unix.SignalName(rung))
		if err = t.signal(rung); err == nil {
			lock, err = t.wait(ctx, record, t.bounds.rung)
		}
	}
	if lock == nil && err == nil {
		err = held
	}
	return lock, err
}

// ask has the holder begin its stop and returns what that may take. One that does not answer may be stopped (SIGSTOP): it
// is let go on, and asked again. A stop by its socket is better than one by a signal: it says who asks.
func (t *takeover) ask(ctx context.Context) time.Duration {
	plan, err := t.client.Plan(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintf(t.p.err, "gatewaytui: pid %d does not answer: SIGCONT\n", t.holder.PID)
		if t.signal(syscall.SIGCONT) == nil { // else the lock will tell
			plan, err = t.client.Plan(ctx)
		}
	}
	bound := t.bounds.unknown
	if err == nil {
		if plan.WorstCaseMS > 0 {
			bound = time.Duration(plan.WorstCaseMS) * time.Millisecond
		}
		_, err = t.client.Do(ctx, ops.Command{Verb: ops.VerbStop, Mode: ops.ModeGraceful, Reason: fmt.Sprintf("replaced by pid %d", os.Getpid())})
	}
	if err != nil && ctx.Err() == nil && !ops.HasCode(err, ops.CodeStopping) {
		_ = t.signal(syscall.SIGTERM) // the lock will tell
	}
	return bound + t.bounds.slack
}

// wait tries the lock until it is had, somebody else has it, or bound is over; then both results are nil.
func (t *takeover) wait(ctx context.Context, record func() instance.Record, bound time.Duration) (*instance.Lock, error) {
	again, tell := time.NewTicker(t.bounds.again), time.NewTimer(t.bounds.first)
	defer again.Stop()
	defer tell.Stop()
	until := time.Now().Add(bound)
	limit := time.NewTimer(bound)
	defer limit.Stop()
	for {
		lock, err := t.home.Acquire(record())
		now, held := errors.AsType[*instance.HeldError](err)
		switch {
		case err == nil:
			return lock, nil
		case !held:
			return nil, err
		case now.Holder.Life != "" && now.Holder.Life != t.holder.Life:
			return nil, now
		}
		select {
		case <-again.C:
		case <-tell.C:
			t.tell(ctx, until)
			tell.Reset(t.bounds.tell)
		case <-limit.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tell says what the holder's stop waits for, and for how long yet it is left to itself.
func (t *takeover) tell(ctx context.Context, until time.Time) {
	left := max(time.Until(until), 0).Round(tenth)
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	s, err := t.client.Shutdown(ctx)
	phase, running := s.Running()
	if err != nil || !running {
		t.p.note("pid %d does not say what it does; it has %s left", t.holder.PID, left)
		return
	}
	t.p.note("pid %d is in phase %s for %s; it has %s left", t.holder.PID, phase.Name, text.Millis(phase.ElapsedMS), left)
	for i, b := range s.Blockers() {
		if i == maxBlockers {
			break
		}
		t.p.note("%-11s waits for %s", phase.Name, lines.Blocker(s, b))
	}
}

// signal sends sig to the holder itself, or to nobody: its identity is read again when the process is held by a pidfd, so
// that a pid that was given anew meanwhile is spared (pidfd_open(2)). SIGCONT goes behind what a stopped process would
// leave unseen (systemd.kill(5) does the same).
func (t *takeover) signal(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(t.holder.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil // it is gone: the lock will tell
	}
	if err != nil {
		return fmt.Errorf("hold pid %d: %w", t.holder.PID, err)
	}
	defer unix.Close(fd)
	if alive, known := instance.Alive(t.holder); !known || !alive {
		return nil
	}
	for _, one := range []syscall.Signal{sig, syscall.SIGCONT} {
		if err := unix.PidfdSendSignal(fd, one, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("signal pid %d: %w", t.holder.PID, err)
		}
	}
	return nil
}
