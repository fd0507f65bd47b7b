package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
)

const (
	// askBound is what the holder of a home may take to answer one question.
	askBound = 2 * time.Second
	// stopUnknown is what a holder that does not tell its plan may take to stop: drain and 30 s of the defaults (S2).
	stopUnknown = 90 * time.Second
	// replaceSlack is what its process may need beyond its plan.
	replaceSlack = 5 * time.Second
	// rungBound is what each further signal may take, to the last one.
	rungBound = 10 * time.Second
	// lockAgain is how often the lock is tried, and tellAgain how often a person hears what the holder waits for.
	lockAgain = 50 * time.Millisecond
	tellAgain = 5 * time.Second
)

// takeover is a start that takes the place of the gateway that holds its home.
type takeover struct {
	p      *program
	home   *instance.Home
	holder instance.Record
	client *control.Client
}

// takeOver asks the holder to stop, over its socket or else by signal, and waits for the lock while it tells what the
// holder is doing. It gets stronger only when the holder's own plan is over, and always by identity: a pid alone is
// nobody (field notes, B2, B11). If somebody else takes the home meanwhile there is nothing left to replace.
func (p *program) takeOver(ctx context.Context, home *instance.Home, held *instance.HeldError, record func() instance.Record) (*instance.Lock, error) {
	t := &takeover{p: p, home: home, holder: held.Holder, client: control.NewClient(held.Holder.Control, control.ClientOptions{})}
	defer t.client.Close()
	if t.holder.PID == 0 || t.holder.Control == "" {
		return nil, held // who holds it cannot be told, and so not be asked
	}
	if t.holder.StartedAt.After(p.began) {
		return nil, held // it came after us: of several that replace at once the first one has (field notes, B19)
	}
	bound := t.ask(ctx)
	fmt.Fprintf(p.err, "gatewaytui: replacing pid %d, which may take %s\n", t.holder.PID, bound.Round(time.Second))
	lock, err := t.wait(ctx, record, bound)
	for _, rung := range []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM, syscall.SIGKILL} {
		if lock != nil || err != nil {
			break
		}
		fmt.Fprintf(p.err, "gatewaytui: pid %d still holds the home: %s\n", t.holder.PID, unix.SignalName(rung))
		if err = t.signal(rung); err == nil {
			lock, err = t.wait(ctx, record, rungBound)
		}
	}
	if lock == nil && err == nil {
		err = held
	}
	return lock, err
}

// ask has the holder begin its stop and returns what that may take.
func (t *takeover) ask(ctx context.Context) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	bound := stopUnknown
	if plan, err := t.client.Plan(ctx); err == nil && plan.WorstCaseMS > 0 {
		bound = time.Duration(plan.WorstCaseMS) * time.Millisecond
	}
	_, err := t.client.Do(ctx, ops.Command{Verb: ops.VerbStop, Mode: ops.ModeGraceful, Reason: fmt.Sprintf("replaced by pid %d", os.Getpid())})
	if err != nil && !ops.HasCode(err, ops.CodeStopping) {
		_ = t.signal(syscall.SIGTERM) // the lock will tell
	}
	return bound + replaceSlack
}

// wait tries the lock until it is had, somebody else has it, or bound is over; then both results are nil.
func (t *takeover) wait(ctx context.Context, record func() instance.Record, bound time.Duration) (*instance.Lock, error) {
	again, tell := time.NewTicker(lockAgain), time.NewTicker(tellAgain)
	defer again.Stop()
	defer tell.Stop()
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
			t.tell(ctx)
		case <-limit.C:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tell says what the holder's stop waits for.
func (t *takeover) tell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	s, err := t.client.Shutdown(ctx)
	if err != nil {
		return
	}
	phase, running := s.Running()
	if !running {
		return
	}
	for i, b := range s.Blockers() {
		if i == maxBlockers {
			break
		}
		t.p.line(t.p.err, fmt.Sprintf("%-11s waits for %s", phase.Name, blockerLine(b)))
	}
}

// signal sends sig to the holder itself, or to nobody: its identity is read again when the process is held by a pidfd, so
// that a pid that was given anew meanwhile is spared (pidfd_open(2)).
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
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal pid %d: %w", t.holder.PID, err)
	}
	return nil
}
