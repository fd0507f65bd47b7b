package adapter

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"gatewaytui/core/bound"
)

const (
	// maxCalls is how many sends may be under way in one connection. A connection that swallows them holds up no more
	// goroutines than this, however often its messages are tried again.
	maxCalls = 16
	// maxPassing is the same for calls that are not sends, which have room of their own.
	maxPassing = 16
	// sendGrace is the longest that a teardown waits for sends under way, so that an answer that is just being delivered
	// is not delivered a second time by the next life.
	sendGrace = time.Second
)

// connection is one connection in use. Once its adapter has dropped it, it is never used again.
type connection struct {
	conn     Conn
	done     <-chan struct{}
	receiver *receiver
	since    time.Time
	calls    *semaphore.Weighted
	ended    chan struct{} // closed when takeDown has ended

	// ctx ends the sends that are under way in the connection.
	ctx    context.Context
	cancel context.CancelFunc
	// passing and passingCtx are calls and ctx for calls that are not worth a teardown's wait.
	passing       *semaphore.Weighted
	passingCtx    context.Context
	cancelPassing context.CancelFunc
}

// newConnection takes conn into use. It fails if conn is none or panics.
func newConnection(conn Conn, g *receiver) (c *connection, err error) {
	if conn == nil {
		return nil, errors.New("no connection and no error")
	}
	defer caught(&err)
	done := conn.Done()
	ctx, cancel := context.WithCancel(context.Background())
	passingCtx, cancelPassing := context.WithCancel(ctx)
	return &connection{
		conn: conn, done: done, receiver: g, since: time.Now(), calls: semaphore.NewWeighted(maxCalls),
		ended: make(chan struct{}), ctx: ctx, cancel: cancel,
		passing: semaphore.NewWeighted(maxPassing), passingCtx: passingCtx, cancelPassing: cancelPassing,
	}, nil
}

// caught makes a panic of a platform the error of the function that defers it.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("panic: %v", p)
	}
}

// lastInbound is the connection's LastInbound, or an error if that panics.
func (c *connection) lastInbound() (at time.Time, err error) {
	defer caught(&err)
	return c.conn.LastInbound(), nil
}

// cause is why the connection ended without a Disconnect.
func (c *connection) cause() (err error) {
	defer caught(&err)
	if err := c.conn.Err(); err != nil {
		return err
	}
	return errors.New("ended by the platform")
}

// takeDown ends the connection. It shuts the receiver, cancels the background tasks, gives the last sends a moment if
// graceful, and disconnects. All of it takes at most limit. The tasks may use half of that, so that hung tasks do not
// prevent the disconnect. With a limit of zero or less only ctx bounds it. The caller is the one that took the connection
// from its adapter, and calls it once.
func (c *connection) takeDown(ctx context.Context, limit time.Duration, graceful bool) error {
	defer close(c.ended)
	began := time.Now()
	c.receiver.shut.Store(true)
	c.cancelPassing()
	if !graceful {
		c.cancel()
	}
	var errs []error
	if err := bound.Run(ctx, limit/2, c.conn.CancelTasks); err != nil {
		errs = append(errs, fmt.Errorf("cancel tasks: %w", err))
	}
	if graceful {
		grace := sendGrace
		if limit > 0 {
			grace = min(grace, limit/4)
		}
		wait, stop := context.WithTimeout(ctx, grace)
		// Whether the sends ended or not, the next step is the same.
		_ = c.calls.Acquire(wait, maxCalls)
		stop()
		c.cancel()
	}
	rest := limit
	if limit > 0 {
		rest = max(limit-time.Since(began), time.Millisecond)
	}
	if err := bound.Run(ctx, rest, c.conn.Disconnect); err != nil {
		errs = append(errs, fmt.Errorf("disconnect: %w", err))
	}
	return together(errs...)
}

var (
	_ Forwarder = (*receiver)(nil)
	_ Historian = (*receiver)(nil)
	_ Commander = (*receiver)(nil)
)

// receiver passes messages from one connection to the gateway. After it is shut, a connection that was abandoned while it
// hung never delivers a message again (S4, E4).
type receiver struct {
	Receiver
	shut atomic.Bool
}

var errTakenDown = errors.New("this connection was taken down")

// Receive hands m on. The error of a shut receiver is not an *ops.Error: the message was neither accepted nor refused. A
// platform that can deliver it again should.
func (g *receiver) Receive(ctx context.Context, m Inbound) (string, error) {
	if g.shut.Load() {
		return "", errTakenDown
	}
	return g.Receiver.Receive(ctx, m)
}

// Forward implements Forwarder, where the Receiver does. A shut receiver passes nothing on.
func (g *receiver) Forward(ctx context.Context, session string, m Outgoing) (Sent, error) {
	if g.shut.Load() {
		return Sent{}, &UnsentError{errTakenDown}
	}
	to, is := g.Receiver.(Forwarder)
	if !is {
		return Sent{}, &RefusedError{Why: "the gateway passes no messages on"}
	}
	return to.Forward(ctx, session, m)
}

// Greets implements Door: a connection that was taken down greets no one. Whom Door admits is the same, since a platform acknowledges
// the message of a user who is not admitted.
func (g *receiver) Greets(u User) bool { return !g.shut.Load() && g.Receiver.Greets(u) }

// Remembers implements Historian, where the Receiver does.
func (g *receiver) Remembers(session string) bool {
	of, is := g.Receiver.(Historian)
	return is && of.Remembers(session)
}

// Commands implements Commander, where the Receiver does.
func (g *receiver) Commands(text string) bool {
	of, is := g.Receiver.(Commander)
	return is && of.Commands(text)
}

// Withdraw withdraws nothing of a connection that was taken down: its clients did not leave.
func (g *receiver) Withdraw(session, id string) {
	if !g.shut.Load() {
		g.Receiver.Withdraw(session, id)
	}
}
