package takeover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"gatewaytui/core/follow"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/remote"
)

const (
	// readyBound is what the next life may take to answer once the last one is over.
	readyBound = 60 * time.Second
	// vacancy is how long no life may be on a home between two lives.
	vacancy = 2 * time.Second
	// readyAgain is how often it is asked.
	readyAgain = 50 * time.Millisecond
)

// RestartOptions say how a gateway is restarted.
type RestartOptions struct {
	// Command is the restart as it was asked for.
	Command ops.Command
	// Began is when this program was started.
	Began time.Time
	// Progress hears what is done, on the goroutine of Restart.
	Progress func(Progress)
	// Show sees the events of the stop, and Waits what the stop waits for; nil shows nothing.
	Show  func(ops.Event)
	Waits func(follow.Waits)
}

// ErrInterrupted says that the wait was given up and the restart goes on.
var ErrInterrupted = errors.New("interrupted")

// Restart stops the gateway with exit code 75 and returns the status of the next life when that answers and is ready: only then is
// it true that it was restarted (B6). A service manager starts that life; without one it is started here, as the one before it
// was, and waits for the home. A tool of the gateway that restarts it, and what it would start, ends with it, so that then the
// gateway starts the next life itself, as its last act (B7). So it does where only root can read how it was started
// (process.Protect).
func Restart(ctx context.Context, g *remote.Gateway, o RestartOptions) (ops.Status, error) {
	r := &restart{RestartOptions: o, g: g}
	if err := r.findBefore(ctx); err != nil {
		return ops.Status{}, err
	}
	if r.before.StartedAt.After(o.Began) { // another command's restart came first: one is enough (B19)
		o.Progress(RestartedMeanwhile{})
		return r.before, nil
	}
	err := r.prepare(ctx)
	if hasLeft(err) {
		o.Progress(EndedMeanwhile{r.before.Life})
		return nextLife(ctx, g.Home, r.before.Life, readyBound)
	}
	if err != nil {
		return ops.Status{}, err
	}
	return r.run(ctx)
}

// restart is one Restart while it runs.
type restart struct {
	RestartOptions
	g *remote.Gateway

	before ops.Status // of the life that is to be restarted
	plan   ops.Plan
	next   Invocation
	hidden bool // root alone can read how the gateway was started
	inside bool // a tool of the gateway asks
	alone  bool // no service manager starts the next life
}

// findBefore finds the life that is to be restarted. One that does not answer may be between two lives, by another command's
// restart.
func (r *restart) findBefore(ctx context.Context) error {
	before, err := r.g.Status(ctx)
	if hasLeft(err) {
		bound := vacancy
		if r.g.Found.Alive {
			bound = readyBound
		}
		if now, none := nextLife(ctx, r.g.Home, "", bound); none == nil {
			before, err = now, nil
		}
	}
	r.before = before
	r.alone = before.Supervisor.Name == ""
	return err
}

// prepare reads what is needed once the gateway is gone: its plan, and how it was started.
func (r *restart) prepare(ctx context.Context) (err error) {
	r.plan, err = r.g.Plan(ctx)
	tool := ops.HasCode(err, ops.CodeToolCaller) // which may not see the plan
	if err != nil && !tool {
		return err
	}
	r.next, err = InvocationOf(r.before.PID, r.g.Home)
	r.hidden = errors.Is(err, fs.ErrPermission)
	if err != nil && !r.hidden {
		return err
	}
	r.inside = tool || process.Descends(os.Getpid(), r.before.PID)
	return nil
}

// run asks for the restart and waits for the next life.
func (r *restart) run(ctx context.Context) (ops.Status, error) {
	var events *follow.Stream
	if r.Show != nil {
		events = follow.Start(ctx, r.g, 0) // from before the stop: an idle gateway is gone in an instant
		defer events.Close()
	}
	if r.alone && r.inside {
		r.Progress(ByGateway{})
	}
	r.Command.Respawn = r.Command.Respawn || r.hidden
	r.Command.Expect = r.before.Life // not one that another command's restart has brought already (B19)
	req, err := r.ask(ctx)
	switch {
	case hasLeft(err):
		if after, done, err := r.left(ctx); done || err != nil {
			return after, err
		}
	case ops.HasCode(err, ops.CodeConflict):
		r.Progress(EndedMeanwhile{r.before.Life})
	case err != nil:
		return ops.Status{}, err
	case req.Joined && req.Verb != ops.VerbRestart:
		return ops.Status{}, &ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping, and not to start again (" + req.ID + ")", Hint: "start it when it has ended"}
	case req.Joined:
		r.Progress(Joined{req.ID})
	case r.alone && !r.inside && !r.hidden:
		r.next.Waits()
		if err := r.next.Start(); err != nil {
			return ops.Status{}, notStarted(err)
		}
	}
	if events != nil && err == nil {
		_ = events.Each(ctx, r.Show, r.Waits) // what matters is whether the next life answers
	}
	return nextLife(ctx, r.g.Home, r.before.Life, time.Duration(r.plan.WorstCaseMS)*time.Millisecond+readyBound)
}

// ask asks for the restart, and waits for the person who must allow it, if one must.
func (r *restart) ask(ctx context.Context) (ops.Request, error) {
	req, err := r.g.Do(ctx, r.Command)
	if err != nil || req.State != ops.RequestWaiting {
		return req, err
	}
	r.Progress(Asked{req})
	return r.g.Allowed(ctx, req)
}

// left is the case of a gateway that went away when it was asked: it may have ended because of that, without a word. If no other
// command has begun the next life, it is begun here: as one that replaces none. done says that a next life answers.
func (r *restart) left(ctx context.Context) (after ops.Status, done bool, err error) {
	r.Progress(EndedMeanwhile{r.before.Life})
	if after, none := nextLife(ctx, r.g.Home, r.before.Life, vacancy); none == nil {
		return after, true, nil
	}
	switch {
	case r.alone && r.hidden:
		return after, false, notStarted(errors.New("how it was started can be read by root alone"))
	case r.alone && !r.inside:
		if err := r.next.Start(); err != nil {
			return after, false, notStarted(err)
		}
	}
	return after, false, nil
}

func notStarted(err error) error {
	return &ops.Error{Code: ops.CodeInternal, Message: fmt.Sprintf("the gateway stops, and the next life could not be started: %v", err), Hint: "start it by hand"}
}

// hasLeft reports whether err says that the gateway which was there a moment ago is not there any more.
func hasLeft(err error) bool {
	return remote.Unreachable(err) && !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// nextLife waits until another life than the one before runs on home, and returns its status. The error is ErrInterrupted where ctx
// was cancelled.
func nextLife(ctx context.Context, home, before string, bound time.Duration) (ops.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for again := time.Tick(readyAgain); ; {
		if st, err := remote.StatusOf(ctx, home); err == nil && st.Life != before && st.State == ops.StateRunning {
			return st, nil
		}
		select {
		case <-again:
		case <-ctx.Done():
			if ctx.Err() != context.DeadlineExceeded {
				return ops.Status{}, ErrInterrupted
			}
			return ops.Status{}, &ops.Error{
				Code: ops.CodeUnavailable, Message: fmt.Sprintf("no other life of the gateway answered within %s", bound.Round(time.Second)),
				Hint: "see logs/gateway.jsonl in the home, and gatewaytui status",
			}
		}
	}
}
