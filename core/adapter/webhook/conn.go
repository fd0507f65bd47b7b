package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"

	"gatewaytui/core/adapter"
)

// The bounds of the server. A sender of webhooks is quick and sends little.
const (
	maxConnections = 64
	maxBody        = 1 << 20
	maxHeader      = 32 << 10
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	idleTimeout    = 30 * time.Second
	// receiveTimeout bounds how long a message may take to become durable.
	receiveTimeout = 20 * time.Second
)

// conn is one listener with its requests. It implements adapter.Conn.
type conn struct {
	p        *Platform
	receiver adapter.Receiver
	listener net.Listener
	server   *http.Server

	// tasks ends when the requests under way must.
	tasks       context.Context
	cancelTasks context.CancelFunc
	// served is closed when the accept loop has ended; ended ends only if it did so without a Disconnect, with why as its cause.
	served chan struct{}
	ended  context.Context
	fail   context.CancelCauseFunc
	// closed says that the listener was closed on purpose.
	closed atomic.Bool
	// heard is when the last signed request came, in Unix nanoseconds; 0: none has.
	heard atomic.Int64
}

// serve answers what comes through listener, which it owns, until Disconnect.
func (p *Platform) serve(listener net.Listener, r adapter.Receiver) *conn {
	c := &conn{p: p, receiver: r, listener: netutil.LimitListener(listener, maxConnections), served: make(chan struct{})}
	// The life of the requests under way, which CancelTasks ends; no call's context bounds it.
	c.tasks, c.cancelTasks = context.WithCancel(context.Background())
	c.ended, c.fail = context.WithCancelCause(context.Background())
	c.server = &http.Server{
		Handler: http.HandlerFunc(c.handle), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: readTimeout + receiveTimeout + headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
	p.live.Store(c)
	go c.accept()
	return c
}

// accept serves until the listener is closed. Disconnect waits for it.
func (c *conn) accept() {
	defer close(c.served)
	err := c.server.Serve(c.listener)
	c.p.live.CompareAndSwap(c, nil)
	if !c.closed.Load() {
		c.fail(fmt.Errorf("serve %s: %w", c.listener.Addr(), err))
	}
}

// Done implements adapter.Conn.
func (c *conn) Done() <-chan struct{} { return c.ended.Done() }

// Err implements adapter.Conn.
func (c *conn) Err() error { return context.Cause(c.ended) }

// LastInbound is when the last signed request came; zero before the first. A listener needs no sign of life: Done says when it
// no longer listens.
func (c *conn) LastInbound() time.Time {
	if at := c.heard.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// CancelTasks implements adapter.Conn: it closes the listener, ends the wait of the requests under way, and waits for them.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.closed.Store(true)
	c.p.live.CompareAndSwap(c, nil)
	c.cancelTasks()
	if err := c.server.Shutdown(ctx); err != nil {
		return fmt.Errorf("wait for the requests of webhooks under way: %w", err)
	}
	return nil
}

// Disconnect implements adapter.Conn: it ends the listener and waits for the requests under way until ctx ends. Then it cuts the
// connections that are left. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	err := c.CancelTasks(ctx)
	if err != nil {
		err = errors.Join(err, c.server.Close())
	}
	return errors.Join(err, adapter.Await(ctx, c.served, "the listener of webhooks"))
}

// Send implements adapter.Conn: it passes an answer to the chat of the route's Deliver. A notice, which has no key, is for a person who
// waits, and a webhook has none.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	route, known := c.p.routes[adapter.ChatOf(m.Target)]
	switch {
	case !known:
		return adapter.Sent{}, &adapter.RefusedError{Why: "the webhook has no such route any more"}
	case route.Deliver == "" || m.Key == "":
		return adapter.Sent{}, nil
	}
	to, is := c.receiver.(adapter.Forwarder)
	if !is {
		return adapter.Sent{}, &adapter.RefusedError{Why: "the gateway passes no messages on"}
	}
	m.Target = ""
	sent, err := to.Forward(ctx, route.Deliver, m)
	if limit, is := errors.AsType[*adapter.RateLimitError](err); is { // it is that platform's, and not of this one
		err = &adapter.UnsentError{Err: errors.New(limit.Error())}
	}
	return sent, err
}
