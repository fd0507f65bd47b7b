// Package takeover ends a running gateway for the next one: a start that replaces the holder of its home, and a restart from outside.
//
// What it promises: the holder's own plan has its time before a signal is sent, and each stronger signal has its time before the
// next; a signal goes to the process that holds the home, known by its identity, and to no other; one start or restart of several at
// once is enough; a restart is said to be done only when the next life answers. It prints nothing and reads no flags: Progress says
// what is done.
package takeover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"gatewaytui/core/control"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
)

// bounds are the times of a takeover.
type bounds struct {
	// ask is what the holder of a home may take to answer one question.
	ask time.Duration
	// unknown is what a holder that does not tell its plan may take to stop, and slack what a process may need beyond its
	// plan.
	unknown, slack time.Duration
	// step is what each further signal may take, to the last one.
	step time.Duration
	// again is how often the lock is tried; first and tell are when a person hears what the holder waits for, and how often
	// from then on.
	again, first, tell time.Duration
}

// standard: unknown is drain and 30 s of the defaults (S2).
var standard = bounds{
	ask: 2 * time.Second, unknown: 90 * time.Second, slack: 5 * time.Second, step: 10 * time.Second,
	again: 50 * time.Millisecond, first: time.Second, tell: 5 * time.Second,
}

// escalation are the signals to a holder whose plan is over: graceful, fast, immediate, and the last one.
var escalation = []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM, syscall.SIGKILL}

// Replacement is a start that takes the place of the gateway that holds its home.
type Replacement struct {
	Home *instance.Home
	// Held is the refusal that Home.Acquire has given, and Record what the next attempt writes.
	Held   *instance.HeldError
	Record func() instance.Record
	// Began is when this program was started.
	Began time.Time
	// Progress hears what is done, on the goroutine of Replace.
	Progress func(Progress)
}

// Replace asks the holder to stop, over its socket or else by signal, and waits for the lock. It escalates only when the
// holder's own plan is over, and always by identity: a pid alone names no process (B2, B11). It returns the lock; an
// instance.HeldError where the holder may not be replaced, did not end or another gateway has taken the home meanwhile; an
// InsideError; or the cause of ctx's end, after which the holder's stop goes on.
func Replace(ctx context.Context, r Replacement) (*instance.Lock, error) {
	t := &takeover{
		Replacement: r, holder: r.Held.Holder, bounds: standard,
		client: control.NewClient(r.Held.Holder.Control, control.ClientOptions{Timeout: standard.ask}),
	}
	defer t.client.Close()
	switch {
	case t.holder.PID == 0 || t.holder.Control == "":
		return nil, r.Held // who holds it is not known
	case t.holder.StartedAt.After(r.Began):
		return nil, r.Held // it came after us: of several that replace at once the first one has (B19)
	case process.Descends(os.Getpid(), t.holder.PID):
		return nil, &InsideError{t.holder.PID}
	case !t.holds():
		// Its stop has given the home up since the refusal: it can be had, or another gateway has it. Where nothing has changed, the
		// pid file names another home's gateway, or another program (B13).
		return r.Home.Acquire(r.Record())
	}
	return t.run(ctx)
}

// takeover is a Replacement while it runs.
type takeover struct {
	Replacement
	holder instance.Record
	client *control.Client
	bounds bounds
}

// InsideError says that a tool of the gateway that is to be replaced runs this command: it would end its own doer, and then not be
// done (B7).
type InsideError struct{ Holder int }

func (e *InsideError) Error() string { return e.Unwrap().Error() }

// Unwrap gives the error its code and its hint.
func (e *InsideError) Unwrap() error {
	return &ops.Error{
		Code:    ops.CodeConflict,
		Message: fmt.Sprintf("a tool of the gateway that is to be replaced, pid %d, runs this command, and would end with it: nothing was done", e.Holder),
		Hint:    "gatewaytui restart hands it to the gateway, which starts its next life itself",
	}
}

// run asks, and then sends one signal after the other.
func (t *takeover) run(ctx context.Context) (*instance.Lock, error) {
	bound := t.ask(ctx)
	most := bound + time.Duration(len(escalation))*t.bounds.step
	t.Progress(Replacing{t.holder.PID, bound, most - t.bounds.step})
	lock, err := t.wait(ctx, bound)
	for _, sig := range escalation {
		if lock != nil || err != nil {
			break
		}
		t.Progress(Escalating{t.holder.PID, sig})
		if err = t.signal(sig); err == nil {
			lock, err = t.wait(ctx, t.bounds.step)
		}
	}
	if lock == nil && err == nil {
		err = t.Held
	}
	return lock, err
}

// ask has the holder begin its stop and returns what that may take. One that does not answer may be stopped (SIGSTOP): it
// is let go on, and asked again. A stop by its socket is better than one by a signal: it says who asks.
func (t *takeover) ask(ctx context.Context) time.Duration {
	plan, err := t.client.Plan(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Progress(NoAnswer{t.holder.PID})
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

// wait tries the lock until it is had, another process has it, or bound is over; then both results are nil.
func (t *takeover) wait(ctx context.Context, bound time.Duration) (*instance.Lock, error) {
	until := time.Now().Add(bound)
	again, tell, over := time.Tick(t.bounds.again), time.After(t.bounds.first), time.After(bound)
	for {
		lock, err := t.Home.Acquire(t.Record())
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
		case <-again:
		case <-tell:
			t.tell(ctx, until)
			tell = time.After(t.bounds.tell)
		case <-over:
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tell says what the holder's stop waits for, and for how long yet no signal is sent.
func (t *takeover) tell(ctx context.Context, until time.Time) {
	left := max(time.Until(until), 0)
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	w := Waiting{PID: t.holder.PID, Left: left}
	s, err := t.client.Shutdown(ctx)
	if _, running := s.Running(); err == nil && running {
		w.Shutdown = &s
	}
	t.Progress(w)
}

// Progress is what Replace and Restart do, for a person: one of the types of this file.
type Progress any

// Replacing: the holder was asked to stop. Its stop may take Bound; after Force from the beginning it is killed.
type Replacing struct {
	PID          int
	Bound, Force time.Duration
}

// NoAnswer: the holder does not answer and gets SIGCONT.
type NoAnswer struct{ PID int }

// Escalating: the holder has had its time and gets a stronger signal.
type Escalating struct {
	PID    int
	Signal syscall.Signal
}

// Waiting: the holder still holds the home, for Left yet without a signal. Shutdown is the running stop; nil where the holder does
// not say what it does.
type Waiting struct {
	PID      int
	Left     time.Duration
	Shutdown *ops.Shutdown
}

// RestartedMeanwhile: another command's restart came first.
type RestartedMeanwhile struct{}

// EndedMeanwhile: the life that was to be restarted has ended.
type EndedMeanwhile struct{ Life string }

// ByGateway: a tool of the gateway asks, so the gateway starts its next life itself.
type ByGateway struct{}

// Asked: a person must allow the restart first.
type Asked struct{ Request ops.Request }

// Joined: a restart is under way already.
type Joined struct{ Request string }
