package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gatewaytui/core/bound"
)

const (
	// DefaultCloseTimeout bounds a Close whose context has no deadline.
	DefaultCloseTimeout = 10 * time.Second
	// closeFloor is the time for a Close whose context has ended already: enough to signal, and to drop what does not
	// hang.
	closeFloor = 250 * time.Millisecond
)

// step is one step of Close.
type step struct {
	name string
	run  func(ctx context.Context) error
}

// Close ends the agent and everything that it holds. It cancels the running turn, without waiting for it: the turn's owner
// does. It flushes the memory and gives it the conversation, then shuts it down (S15). Then it ends concurrently the session's processes with
// their environment, the child agents and the model client. A step that fails, panics or hangs does not prevent the others. The flush may use
// half of ctx's time, the notes half of the rest, the shutdown half of what is left then, and the other steps the rest. A step that overruns is
// abandoned and named. The errors are joined.
//
// Close is idempotent: a second caller waits for the first one's close, until its own ctx ends, and gets its error. A child
// agent ends only its own processes, and leaves its parent's session alone.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	if done := a.closing; done != nil {
		a.mu.Unlock()
		select {
		case <-done:
			return a.closeErr
		case <-ctx.Done():
			return fmt.Errorf("close agent of %s: wait for the close under way: %w", a.cfg.Session, context.Cause(ctx))
		}
	}
	a.closing = make(chan struct{})
	children := a.children
	a.children = nil
	if a.cancel != nil {
		a.cancel(ErrClosed)
	}
	a.mu.Unlock()

	defer close(a.closing)
	if err := a.closeSteps(ctx, children); err != nil {
		a.closeErr = fmt.Errorf("close agent of %s: %w", a.cfg.Session, err)
	}
	return a.closeErr
}

func (a *Agent) closeSteps(ctx context.Context, children []*Agent) error {
	ctx, cancel := closeTime(ctx)
	defer cancel()
	errs := []error{
		a.guard(ctx, half(ctx), step{"memory flush", a.cfg.Memory.Flush}),
		a.guard(ctx, half(ctx), step{"notes", a.cfg.Memory.Remember}),
		a.guard(ctx, half(ctx), step{"memory shutdown", a.cfg.Memory.Shutdown}),
	}
	if a.external != nil { // before its processes: it is asked to end first
		errs = append(errs, a.guard(ctx, half(ctx), step{"external agent", a.external.Close}))
	}
	steps := []step{
		{"processes", a.closeProcesses},
		{"model client", func(context.Context) error { return a.client.Close() }},
	}
	for _, child := range children {
		steps = append(steps, step{"child agent", child.Close})
	}
	return errors.Join(append(errs, a.together(ctx, steps))...)
}

// together runs steps concurrently and returns when each has ended or overrun.
func (a *Agent) together(ctx context.Context, steps []step) error {
	errs := make([]error, len(steps))
	var wg sync.WaitGroup
	for i, s := range steps {
		wg.Go(func() { errs[i] = a.guard(ctx, left(ctx), s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// guard runs one step for at most limit. It returns the step's error, its panic as an error, or an error that it did not
// end. Such a step is abandoned on its goroutine, which nothing can end from outside.
func (a *Agent) guard(ctx context.Context, limit time.Duration, s step) error {
	limit = max(limit, 1) // 0 would mean no limit
	_, abandoned, err := bound.Call(ctx, limit, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.run(ctx) }, nil)
	if p, ok := errors.AsType[*bound.Panic](err); ok {
		a.log.Error("close step panicked", "session", a.cfg.Session, "step", s.name, "panic", fmt.Sprint(p.Value), "stack", string(p.Stack))
	}
	switch {
	case abandoned:
		return fmt.Errorf("%s: not done after %v: %w", s.name, limit.Round(time.Millisecond), err)
	case err != nil:
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// closeProcesses ends what the session holds, what the agent's tools started, and then what that ran in. The grace fits into the remaining time, so that KILL is still
// sent. A child runs in the environment of its parent's session, and leaves it alone.
func (a *Agent) closeProcesses(ctx context.Context) (err error) {
	if a.cfg.Held != nil { // first: what it holds ends by itself, and without it by a signal
		held := a.guard(ctx, left(ctx)/3, step{"held resources", func(ctx context.Context) error { return a.cfg.Held.CloseSession(ctx, a.cfg.Session) }})
		defer func() { err = errors.Join(held, err) }()
	}
	if report := a.kill(ctx, min(a.cfg.KillGrace, half(ctx))); !report.Verified {
		err = errors.New(report.Summary())
	}
	if a.depth > 0 || a.cfg.Environments == nil {
		return err
	}
	return errors.Join(err, a.cfg.Environments.Close(ctx, a.cfg.Session))
}

// Release drops the agent and its model client or its external program, and nothing else: the session, its history and its processes continue
// (S12). Evictions use it. It cancels a turn that still runs, which is an abandoned one, and closes that turn's children.
// Release is idempotent, and does nothing on an agent that closes.
func (a *Agent) Release(ctx context.Context) error {
	a.mu.Lock()
	if a.over() {
		a.mu.Unlock()
		return nil
	}
	a.released = true
	children := a.children
	a.children = nil
	if a.cancel != nil {
		a.cancel(ErrClosed)
	}
	a.mu.Unlock()

	ctx, cancel := closeTime(ctx)
	defer cancel()
	steps := []step{{"model client", func(context.Context) error { return a.client.Close() }}}
	if a.external != nil {
		steps = append(steps, step{"external agent", a.external.Close})
	}
	for _, child := range children {
		steps = append(steps, step{"child agent", child.Close})
	}
	if err := a.together(ctx, steps); err != nil {
		return fmt.Errorf("release agent of %s: %w", a.cfg.Session, err)
	}
	return nil
}

// closeTime is ctx with a deadline. If its time is over already it gets closeFloor, so that what can be dropped at once
// is dropped.
func closeTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(ctx), closeFloor)
	}
	if _, ok := ctx.Deadline(); !ok {
		return context.WithTimeout(ctx, DefaultCloseTimeout)
	}
	return context.WithCancel(ctx)
}

// left is the time until ctx's deadline. ctx must have one.
func left(ctx context.Context) time.Duration {
	deadline, _ := ctx.Deadline()
	return time.Until(deadline)
}

func half(ctx context.Context) time.Duration { return left(ctx) / 2 }
