package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// lingerTimeout is what a connection without a request has to take its last bytes before it is cut.
const lingerTimeout = time.Second

// conn is one listener with its requests. It implements adapter.Conn.
type conn struct {
	platform *Platform
	receiver adapter.Receiver
	log      *slog.Logger
	listener *limited
	server   *http.Server

	// answers are the turns and answers that a client may ask for again.
	answers *answers
	// tasks ends when the requests under way must.
	tasks       context.Context
	cancelTasks context.CancelFunc
	// served is closed when the accept loop has ended; ended ends only if it did so without a Disconnect, with why as its cause.
	served chan struct{}
	ended  context.Context
	fail   context.CancelCauseFunc
	// closed says that the listener was closed on purpose.
	closed atomic.Bool
	// heard is when the last request was let in; nil before the first.
	heard atomic.Pointer[time.Time]

	// mu guards what follows.
	mu       sync.Mutex
	refusing bool          // no new requests
	active   int           // requests under way
	serving  int           // those of them whose body is complete
	idle     chan struct{} // closed when refusing and active is 0

	open sync.WaitGroup // the goroutines of connections
}

// serve answers what comes through listener, which it owns, until Disconnect.
func (p *Platform) serve(listener *limited, r adapter.Receiver) *conn {
	c := &conn{
		platform: p, receiver: r, log: p.log, listener: listener, answers: newAnswers(),
		served: make(chan struct{}),
		idle:   make(chan struct{}),
	}
	// The life of the requests under way, which CancelTasks ends; no call's context bounds it.
	c.tasks, c.cancelTasks = context.WithCancel(context.Background())
	c.ended, c.fail = context.WithCancelCause(context.Background())
	c.server = &http.Server{
		Handler:           http.HandlerFunc(c.route),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      readTimeout + receiveTimeout + writeTimeout, // an answer sets its own
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnState:         c.track,
		ConnContext:       c.withPeer,
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
	p.live.Store(c)
	go c.accept()
	return c
}

// accept serves until the listener is closed. Disconnect waits for it.
func (c *conn) accept() {
	defer close(c.served)
	err := c.server.Serve(c.listener)
	c.platform.live.CompareAndSwap(c, nil)
	if !c.closed.Load() {
		c.fail(fmt.Errorf("serve %s: %w", c.listener.Addr(), err))
	}
}

// stopAccepting closes the listener, and takes no new requests over the connections that there are.
func (c *conn) stopAccepting() {
	c.closed.Store(true)
	c.platform.live.CompareAndSwap(c, nil)
	c.listener.Close() // a second time is harmless

	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.refusing && c.active == 0 {
		close(c.idle)
	}
	c.refusing = true
}

// Done implements adapter.Conn.
func (c *conn) Done() <-chan struct{} { return c.ended.Done() }

// Err implements adapter.Conn.
func (c *conn) Err() error { return context.Cause(c.ended) }

// LastInbound is when the last request was let in, probes of /health not counted; zero before the first. A listener needs
// no sign of life: Done says when it no longer listens.
func (c *conn) LastInbound() time.Time {
	if at := c.heard.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// Send always fails: HTTP has no way to a client that does not ask.
func (c *conn) Send(context.Context, adapter.Outgoing) (adapter.Sent, error) {
	return adapter.Sent{}, &adapter.RefusedError{Why: "an api client is answered, never written to"}
}

// CancelTasks closes the listener, tells every request under way that the gateway stops, and waits for them.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.stopAccepting()
	c.cancelTasks()
	c.answers.close()
	return c.await(ctx)
}

// await waits for the requests under way.
func (c *conn) await(ctx context.Context) error {
	return adapter.Await(ctx, c.idle, "the api requests under way")
}

// Disconnect closes the listener at once, waits for the requests under way until ctx ends, and then cuts the connections
// that are left. Without an error, neither connections nor goroutines are left.
func (c *conn) Disconnect(ctx context.Context) error {
	c.stopAccepting()
	<-c.served // at once, but for the second that a server without file descriptors sleeps
	err := c.await(ctx)
	c.cancelTasks()
	c.answers.close()
	c.platform.bodies.close()

	c.listener.closeFresh()
	linger, cancel := context.WithTimeout(ctx, lingerTimeout)
	defer cancel()
	if c.server.Shutdown(linger) != nil {
		err = errors.Join(err, c.server.Close())
	}
	gone := make(chan struct{})
	go func() { // it ends with the last connection
		defer close(gone)
		c.open.Wait()
	}()
	return errors.Join(err, adapter.Await(ctx, gone, "the api connections"))
}

// begin counts a request in, unless no more are taken.
func (c *conn) begin() *problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusing {
		return stopping()
	}
	if p := c.tooMany(); p != nil {
		return p
	}
	c.active++
	return nil
}

// enter counts a request whose body is complete among those that are served. A request whose body is still to come takes no
// place of another: it may never come (HF11).
func (c *conn) enter() *problem {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.tooMany(); p != nil {
		return p
	}
	c.serving++
	return nil
}

// tooMany refuses a request while as many as may are served. c.mu is held.
func (c *conn) tooMany() *problem {
	if c.serving < c.platform.options.Requests {
		return nil
	}
	return &problem{
		status: http.StatusTooManyRequests, code: "too_many_requests", retryAfter: time.Second,
		message: fmt.Sprintf("%d requests are under way, twice limits.model_calls", c.platform.options.Requests),
	}
}

// leave counts a request that was served out.
func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving--
}

// end counts a request out.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active--
	if c.refusing && c.active == 0 {
		close(c.idle)
	}
}

// track notes what the server says of its connections. The server calls it for a new one before it accepts the next.
func (c *conn) track(nc net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.open.Add(1)
	case http.StateActive:
		nc.(*counted).become(connBusy)
	case http.StateIdle:
		nc.(*counted).become(connIdle)
	case http.StateClosed:
		c.open.Done()
	}
}

// refusal is the answer to a client when Receive returned err.
func (c *conn) refusal(err error) *problem {
	if e, ok := errors.AsType[*ops.Error](err); ok {
		return refused(e)
	}
	if c.tasks.Err() != nil {
		return stopping()
	}
	// Neither accepted nor refused: the connection is being taken down, or Receive ran out of time.
	c.log.Warn("api message not taken", "error", clean(err.Error()))
	return refused(&ops.Error{Code: ops.CodeUnavailable, Message: "the gateway did not take the message"})
}
