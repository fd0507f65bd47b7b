package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

const (
	// startMost bounds a start: the program, the handshake and the list of tools.
	startMost = 30 * time.Second
	// firstBackoff doubles with each failure in a row up to maxBackoff. After maxFailures the server has failed: a use tries it again only
	// after maxBackoff, or an operator restarts it.
	firstBackoff = time.Second
	maxBackoff   = 5 * time.Minute
	maxFailures  = 5
	// steady is how long a server must have run for its failures to be forgotten.
	steady = time.Minute
	// patience is how long a call waits for the end of a backoff.
	patience = 5 * time.Second
	// maxWaiting bounds the calls that wait for one instance, and maxCalls those that run at once.
	maxWaiting = 256
	maxCalls   = 32
	// pingMost bounds the answer to a ping that follows a call without an answer.
	pingMost = 3 * time.Second
	// settle is how long further changes of a list are awaited before it is read again.
	settle = 500 * time.Millisecond
)

// ending is why an instance ends.
type ending string

const (
	endedItself  ending = ""
	endedUnused  ending = "it was not used"
	endedSession ending = "its session has ended"
	endedGateway ending = "the gateway is stopping"
	endedRestart ending = "an operator restarted it"
)

// errDropped means that an instance is not the one of its session any more.
var errDropped = errors.New("the instance is gone")

// instance is a server as one session has it, or the gateway. It runs at most once at a time.
type instance struct {
	server  *server
	session string

	mu    sync.Mutex // guards what follows; never held over I/O
	state ops.ServerState
	since time.Time
	// problem is why it does not run, or did not the last time.
	problem string
	// link is the connection while it is ready. busy is closed when the start or the close under way has ended; nil: there is none.
	link *link
	busy chan struct{}
	// cancel ends a start that is under way.
	cancel context.CancelFunc
	// waiting counts the calls that wait, failures the failures in a row. No start is made before next.
	waiting, failures int
	next              time.Time
	calls             int64
	// dropped means that it does not start again, and why then says which end did that.
	dropped bool
	why     ending
}

// acquire returns the connection of a session for one call, and starts the server if it does not run. The caller releases it.
func (s *server) acquire(ctx context.Context, session string) (*instance, *link, error) {
	for {
		i := s.instance(s.key(session))
		if i == nil {
			return nil, nil, ErrClosed
		}
		l, err := i.acquire(ctx)
		if errors.Is(err, errDropped) { // its session has another one
			s.drop(i)
			continue
		}
		return i, l, err
	}
}

func (i *instance) acquire(ctx context.Context) (*link, error) {
	waited := false
	for {
		i.mu.Lock()
		switch left := time.Until(i.next); {
		case i.server.set.ctx.Err() != nil:
			i.mu.Unlock()
			return nil, ErrClosed
		case i.dropped && i.busy == nil:
			i.mu.Unlock()
			return nil, errDropped
		case i.link != nil && i.busy == nil:
			l := i.link
			l.users++
			i.mu.Unlock()
			return l, nil
		case i.busy == nil && left > 0 && (waited || left > patience):
			err := fmt.Errorf("the tool server %s does not run: %s; the next start is possible in %s", i.server.def.Name, i.problem, left.Round(time.Second))
			i.mu.Unlock()
			return nil, err
		case i.busy == nil && left <= 0:
			i.beginStart()
		}
		over, left, dropped := i.busy, time.Until(i.next), i.dropped
		waited = waited || i.state != ops.ServerClosing
		if i.waiting >= maxWaiting {
			i.mu.Unlock()
			return nil, fmt.Errorf("%d calls wait for the tool server %s already", maxWaiting, i.server.def.Name)
		}
		i.waiting++
		i.mu.Unlock()
		err := i.await(ctx, over, left)
		i.mu.Lock()
		i.waiting--
		if err == nil && i.dropped && !dropped && i.why == endedSession {
			err = fmt.Errorf("the tool server %s was ended: %s", i.server.def.Name, i.why)
		}
		i.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// await waits for the start or close under way, or without one for a backoff to pass.
func (i *instance) await(ctx context.Context, over <-chan struct{}, left time.Duration) error {
	var passed <-chan time.Time
	if over == nil {
		passed = time.After(max(left, 0))
	}
	select {
	case <-over:
	case <-passed:
	case <-i.server.set.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("wait for the tool server %s: %w", i.server.def.Name, context.Cause(ctx))
	}
	return nil
}

// beginStart begins a start. i.mu is held.
func (i *instance) beginStart() {
	i.busy, i.state, i.since = make(chan struct{}), ops.ServerStarting, time.Now()
	ctx, cancel := context.WithTimeout(i.server.set.ctx, startMost)
	i.cancel = cancel
	if !i.server.set.start(func() { i.run(ctx, cancel) }) {
		cancel()
		i.idleNow("")
	}
}

// run is the life of one connection, from its start to its close. CloseAll waits for its goroutine.
func (i *instance) run(ctx context.Context, cancel context.CancelFunc) {
	i.notify()
	l, err := i.server.set.connect(ctx, i)
	if asked := context.Cause(ctx); err == nil && asked != nil { // it was ended meanwhile
		_ = l.close()
		err = asked
	}
	asked := errors.Is(context.Cause(ctx), context.Canceled)
	cancel()
	if err != nil {
		i.notStarted(err, asked)
		return
	}
	i.ready(l)
	why := i.watch(l)
	reason := ""
	if why == endedItself {
		if l.awaitExit(); !l.killed() { // the registry ends programs as well: with their session, or for an operator
			reason = l.reason()
		}
	}
	i.over(l, reason, l.close())
}

// notStarted records a start that failed, or was ended because it was asked to.
func (i *instance) notStarted(err error, asked bool) {
	i.mu.Lock()
	if asked || i.dropped {
		i.idleNow("")
	} else {
		i.failedNow(i.server.set.why(err.Error()), err)
	}
	i.mu.Unlock()
	i.notify()
}

// failedNow makes the instance wait for its next start. i.mu is held.
func (i *instance) failedNow(problem string, err error) {
	i.failures++
	backoff := min(firstBackoff<<min(i.failures-1, 16), maxBackoff)
	i.state = ops.ServerBackoff
	if i.failures >= maxFailures || errors.Is(err, errNoProgram) {
		i.state, backoff = ops.ServerFailed, maxBackoff
	}
	i.next, i.problem = time.Now().Add(backoff), problem
	i.settle()
}

// idleNow makes the instance one that does not run. i.mu is held.
func (i *instance) idleNow(problem string) {
	i.state, i.failures, i.next, i.problem = ops.ServerIdle, 0, time.Time{}, problem
	i.settle()
}

// settle ends the start or close under way. i.mu is held.
func (i *instance) settle() {
	i.since, i.link, i.cancel = time.Now(), nil, nil
	if i.busy != nil {
		close(i.busy)
		i.busy = nil
	}
}

// ready puts a connection in use.
func (i *instance) ready(l *link) {
	i.mu.Lock()
	i.settle()
	i.link, i.state = l, ops.ServerReady
	l.used = time.Now()
	i.mu.Unlock()
	if !l.listed {
		nudge(l.changed) // the list that is known may be that of an earlier version
	}
	i.notify()
}

// watch waits until a connection has to end, and says why. From then on no call gets it.
func (i *instance) watch(l *link) ending {
	idle := time.NewTimer(i.server.idle())
	defer idle.Stop()
	var read <-chan time.Time
	for {
		why, over := endedItself, true
		select {
		case <-l.ended:
		case why = <-l.asked:
		case <-i.server.set.ctx.Done():
			why = endedGateway
		case <-l.hurried:
			idle.Reset(i.server.idle())
			over = false
		case <-idle.C:
			why = endedUnused
			var left time.Duration
			if left, over = i.unused(l); !over {
				idle.Reset(left)
			}
		case <-l.changed:
			if over = false; read == nil {
				read = time.After(settle)
			}
		case <-read:
			over, read = false, nil
			i.server.set.start(func() { i.server.refresh(l) })
		}
		if over {
			i.leave()
			return why
		}
	}
}

// unused reports whether no call has used a connection for long enough, and otherwise when to look again.
func (i *instance) unused(l *link) (left time.Duration, is bool) {
	idle := i.server.idle()
	i.mu.Lock()
	defer i.mu.Unlock()
	if l.users > 0 || i.waiting > 0 {
		return idle, false
	}
	if left = time.Until(l.used.Add(idle)); left > 0 {
		return left, false
	}
	i.leaveNow() // with the same lock: no call gets it meanwhile
	return 0, true
}

// leave takes the connection out of use until it is closed.
func (i *instance) leave() {
	i.mu.Lock()
	changed := i.busy == nil
	if changed {
		i.leaveNow()
	}
	i.mu.Unlock()
	if changed {
		i.notify()
	}
}

// leaveNow is leave with i.mu held.
func (i *instance) leaveNow() {
	i.busy, i.state, i.since = make(chan struct{}), ops.ServerClosing, time.Now()
}

// over records that a connection is closed. reason is why it broke; empty: it was ended. left is what its close could not end.
func (i *instance) over(l *link, reason string, left error) {
	name, log := i.server.def.Name, i.server.set.o.Log
	reason = i.server.set.why(reason)
	problem := ""
	if left != nil {
		problem = term.Clean("its close left something: "+left.Error(), maxProblem)
		log.Warn("tool server not closed", "event", ops.LogServer, "server", name, "session", i.session, "error", problem)
	}
	i.mu.Lock()
	if reason == "" {
		i.idleNow(problem)
	} else {
		if time.Since(l.since) > steady {
			i.failures = 0
		}
		i.failedNow(reason, nil)
	}
	i.mu.Unlock()
	i.notify()
	if reason != "" {
		log.Warn("tool server ended", "event", ops.LogServer, "server", name, "session", i.session, "error", reason)
		return
	}
	i.dropUnused()
}

// dropUnused forgets the instance if nothing waits for it.
func (i *instance) dropUnused() {
	i.mu.Lock()
	free := i.waiting == 0 && i.busy == nil && i.link == nil
	i.dropped = i.dropped || free
	i.mu.Unlock()
	if free {
		i.server.drop(i)
	}
}

// release gives a connection back after a call with this outcome.
func (i *instance) release(l *link, err error) {
	i.mu.Lock()
	l.users--
	l.used = time.Now()
	if err == nil {
		i.calls++
	}
	i.mu.Unlock()
	if err == nil {
		i.server.answered()
	}
	if errors.Is(err, errSilent) && l.suspected.CompareAndSwap(false, true) {
		i.server.set.start(func() {
			defer l.suspected.Store(false)
			l.ping(i.server.set.ctx)
		})
	}
}

// hurry makes the watch look again how long the instance may be unused.
func (i *instance) hurry() {
	i.mu.Lock()
	l := i.link
	free := l == nil && i.busy == nil
	i.mu.Unlock()
	if free {
		i.dropUnused()
		return
	}
	if l != nil {
		nudge(l.hurried)
	}
}

// end ends what runs, and returns when that is over, or with ctx. With drop the instance does not start again: a call that waits for it
// fails if its session has ended, and otherwise gets another instance.
func (i *instance) end(ctx context.Context, why ending, drop bool) error {
	i.mu.Lock()
	if drop && !i.dropped {
		i.dropped, i.why = true, why
	}
	over, l := i.busy, i.link
	if l != nil {
		if over == nil {
			i.leaveNow()
			over = i.busy
		}
		select {
		case l.asked <- why:
		default: // it was asked before
		}
	} else if i.cancel != nil {
		i.cancel()
	}
	if over == nil {
		i.idleNow("")
	}
	i.mu.Unlock()
	i.notify()
	if over != nil {
		select {
		case <-over:
		case <-ctx.Done():
			return fmt.Errorf("close the tool server %s: %w", i.server.def.Name, context.Cause(ctx))
		}
	}
	if drop {
		i.server.drop(i)
	} else {
		i.dropUnused()
	}
	return nil
}

// nudge sends without waiting to a channel that holds one.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// notify reports the state to the operator's side.
func (i *instance) notify() {
	if f := i.server.set.o.OnState; f != nil {
		f(i.row())
	}
}

// maxProblem bounds what is kept of a reason, in runes.
const maxProblem = 400
