package gateway

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// abortBound is what a start may take to end once a stop was asked for; the executor's watchdog is not armed yet.
const abortBound = 10 * time.Second

// lifecycle is the state of one life, its shutdown, and the request that began the shutdown.
//
//	from                         to        by
//	starting                     running   serve
//	running                      draining  drain
//	draining                     running   undrain
//	starting, running, draining  stopping  stop
//
// Nothing leaves stopping. A stop that is asked for during the start cancels the start first; endStart then begins it.
type lifecycle struct {
	log *slog.Logger
	// begin starts the shutdown that a request asks for. It is called once, with mu held, and does not wait.
	begin func(StopRequest) *shutdown.Run
	// overdue is called if a start that was cancelled has not come to its shutdown within abortBound.
	overdue func()

	ready    chan struct{} // closed when messages are taken and every adapter has had its first attempt
	stopping chan struct{} // closed when the shutdown runs

	mu    sync.Mutex // guards what follows; the locks of a shutdown.Run are taken under it, and no other
	state ops.State
	drain *ops.DrainState
	// cancelStart ends a start that is under way; nil before and after it. early is a stop that was asked for meanwhile.
	// started is true from the end of a start that did not fail and during which none was asked for.
	cancelStart context.CancelFunc
	early       *StopRequest
	started     bool
	// run is the shutdown, nil before there is one, and stop what began it.
	run  *shutdown.Run
	stop StopRequest
}

func newLifecycle(log *slog.Logger, begin func(StopRequest) *shutdown.Run, overdue func()) *lifecycle {
	return &lifecycle{log: log, begin: begin, overdue: overdue, state: ops.StateStarting, ready: make(chan struct{}), stopping: make(chan struct{})}
}

// State is what the gateway does now. ready is false until every adapter has had its first attempt.
func (l *lifecycle) State() (state ops.State, ready bool) {
	select {
	case <-l.ready:
		ready = true
	default:
	}
	state, _ = l.Now()
	return state, ready
}

// Now is the state with who drains the gateway; nil unless it is draining.
func (l *lifecycle) Now() (ops.State, *ops.DrainState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drain == nil {
		return l.state, nil
	}
	drain := *l.drain
	return l.state, &drain
}

// Admit is why no turn may begin now, by the state alone, in the words for the sender of a message; nil: turns may begin.
func (l *lifecycle) Admit() error {
	state, drain := l.Now()
	switch state {
	case ops.StateRunning:
		return nil
	case ops.StateStarting:
		return &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway is starting", Hint: "try again in a moment"}
	case ops.StateDraining:
		return &ops.Error{Code: ops.CodeDraining, Message: strings.TrimSuffix("the gateway is draining and takes no new turns: "+drain.Reason, ": "), Hint: "your message was not taken; send it again later"}
	default:
		return &ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping", Hint: "your message was not taken; send it again when it is back"}
	}
}

// Drain ends the intake of turns. It reports false if the gateway was draining already.
func (l *lifecycle) Drain(by ops.DrainState) (began bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case ops.StateRunning:
		l.state, l.drain = ops.StateDraining, &by
		return true, nil
	case ops.StateDraining:
		return false, nil
	default:
		return false, &ops.Error{Code: ops.CodeConflict, Message: "the gateway is " + string(l.state)}
	}
}

// Undrain resumes the intake of turns.
func (l *lifecycle) Undrain() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != ops.StateDraining {
		return &ops.Error{Code: ops.CodeConflict, Message: "the gateway is " + string(l.state) + ", not draining"}
	}
	l.state, l.drain = ops.StateRunning, nil
	return nil
}

// serve begins to take messages. It reports false if a stop came first.
func (l *lifecycle) serve() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != ops.StateStarting {
		return false
	}
	l.state = ops.StateRunning
	return true
}

// beginStart returns the context of the start. A stop cancels it.
func (l *lifecycle) beginStart(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancelStart = cancel
	if l.early != nil {
		cancel()
	}
	return ctx, cancel
}

// endStart ends the start, which failed with err or not, and reports whether a shutdown runs now, because one was asked for
// meanwhile. A stop that is asked for later, until serve, begins at once.
func (l *lifecycle) endStart(err error) bool {
	l.mu.Lock()
	early := l.early
	l.cancelStart, l.started = nil, early == nil && err == nil
	if early != nil {
		l.state = ops.StateStopping
	}
	l.mu.Unlock()
	if early == nil {
		return false
	}
	l.stopOrJoin(*early)
	return true
}

// Stop is Gateway.Stop.
func (l *lifecycle) Stop(rq StopRequest) (id string, began bool) {
	if rq.ID == "" {
		rq.ID = newID()
	}
	id, began = l.stopOrJoin(rq)
	if !began {
		l.log.Warn("stop asked for again", "mode", string(rq.Mode), "by", rq.By, "reason", rq.Reason)
	}
	return id, began
}

func (l *lifecycle) stopOrJoin(rq StopRequest) (id string, began bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != nil {
		if rq.ExitCode != 0 {
			l.run.SetExit(rq.ExitCode)
		}
		l.run.Escalate(rq.Mode, rq.By)
		return l.stop.ID, false
	}
	if l.state == ops.StateStarting && !l.started && l.early == nil {
		l.early = &rq
		if l.cancelStart != nil {
			l.cancelStart()
		}
		time.AfterFunc(abortBound, func() { // unless it has come to its shutdown
			if l.Run() == nil {
				l.overdue()
			}
		})
		return rq.ID, true
	}
	if l.early != nil && l.early.ID != rq.ID {
		return l.early.ID, false
	}
	l.state, l.stop, l.drain = ops.StateStopping, rq, nil
	l.run = l.begin(rq)
	close(l.stopping)
	return rq.ID, true
}

// Run is the shutdown that runs or ran, or nil.
func (l *lifecycle) Run() *shutdown.Run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run
}

// Stopped is the request that began the shutdown. It is zero while none runs.
func (l *lifecycle) Stopped() StopRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stop
}
