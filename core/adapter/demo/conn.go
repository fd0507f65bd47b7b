package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// conn is one connection to a made-up platform.
type conn struct {
	p     *Platform
	to    adapter.Receiver
	since time.Time
	quiet context.CancelFunc // ends the chatter
	gone  chan struct{}      // closed when the chatter has ended
}

// Connect makes a connection, or fails as the behaviour says.
func (p *Platform) Connect(_ context.Context, r adapter.Receiver) (adapter.Conn, error) {
	n := p.attempts.Add(1)
	switch {
	case p.how.hangConnect:
		return nil, p.hang()
	case p.how.fatal:
		return nil, &adapter.CredentialsError{Variable: "DEMO_TOKEN", Why: "refused, as this made-up platform always does"}
	case p.how.flaky && n <= failures:
		return nil, fmt.Errorf("connection reset (attempt %d of %d that fail)", n, failures)
	}
	c := &conn{p: p, to: r, since: time.Now(), gone: make(chan struct{})}
	// Not Connect's context, which bounds the attempt: people talk for as long as the connection lasts.
	ctx, cancel := context.WithCancel(context.Background())
	c.quiet = cancel
	if p.how.deaf {
		close(c.gone)
	} else {
		go c.chatter(ctx)
	}
	return c, nil
}

// Done is never closed: these platforms never end a connection.
func (c *conn) Done() <-chan struct{} { return nil }

func (c *conn) Err() error { return nil }

// LastInbound is now, as for a platform that is polled all the time, and never again for one that is deaf.
func (c *conn) LastInbound() time.Time {
	if c.p.how.deaf {
		return c.since
	}
	return time.Now()
}

// Send takes the message and drops it: made-up people do not read.
func (c *conn) Send(_ context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	if err := c.called(); err != nil {
		return adapter.Sent{}, err
	}
	c.show(m)
	return adapter.Sent{IDs: []string{c.p.messages.add(m.Text)}}, nil
}

// Edit implements adapter.Editor.
func (c *conn) Edit(_ context.Context, id string, m adapter.Outgoing) (adapter.Sent, error) {
	if err := c.called(); err != nil {
		return adapter.Sent{}, err
	}
	if err := c.p.messages.edit(id, m.Text); err != nil {
		return adapter.Sent{}, err
	}
	c.show(m)
	return adapter.Sent{IDs: []string{id}}, nil
}

// Remove implements adapter.Editor.
func (c *conn) Remove(_ context.Context, _, id string) error {
	if err := c.called(); err != nil {
		return err
	}
	c.p.messages.remove(id)
	return nil
}

// Typing implements adapter.Typer.
func (c *conn) Typing(_ context.Context, target string) error {
	if err := c.called(); err != nil {
		return err
	}
	c.p.o.Log.Debug(ops.LogDemoTyping, "adapter", c.p.spec.Name, "target", target)
	return nil
}

// called is what every call of the platform comes to.
func (c *conn) called() error {
	switch {
	case c.p.how.hangSend:
		return c.p.hang()
	case c.p.how.failSend:
		return errors.New("503 from the platform")
	}
	return nil
}

// show keeps what was said, but for drafts.
func (c *conn) show(m adapter.Outgoing) {
	if !m.Passing {
		c.p.o.Talk.add(c.p.spec.Name, "", m.Target, m.Text)
	}
	c.p.o.Log.Debug(ops.LogDemoSent, "adapter", c.p.spec.Name, "target", m.Target, "bytes", len(m.Text), "draft", m.Passing)
}

// CancelTasks makes everyone fall silent.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.quiet()
	if c.p.how.hangCancel {
		return c.p.hang()
	}
	return adapter.Await(ctx, c.gone, "the people to fall silent")
}

// Disconnect ends the connection.
func (c *conn) Disconnect(ctx context.Context) error {
	c.quiet()
	if c.p.how.hangDisconnect {
		return c.p.hang()
	}
	if c.p.how.slowDisconnect {
		if err := adapter.Await(ctx, time.After(slowness), "a slow disconnect"); err != nil {
			return err
		}
	}
	return adapter.Await(ctx, c.gone, "the people to fall silent")
}

// chatter has the platform's people say their lines, one at each interval or after its own pause, for as long as the
// connection lasts.
func (c *conn) chatter(ctx context.Context) {
	defer close(c.gone)
	for i := 0; adapter.Await(ctx, time.After(c.p.pause(i)), "the next line") == nil; i++ {
		l := c.p.line(i)
		if !l.Once || c.p.first(i) {
			c.say(ctx, l)
		}
	}
}

// say brings one line to the gateway.
func (c *conn) say(ctx context.Context, l Line) {
	m := adapter.Inbound{
		Adapter: c.p.spec.Name, Session: c.p.spec.Name + ":dm:" + l.User, User: l.User, Target: l.User, Text: l.Text,
		Chat: adapter.ChatDM,
	}
	c.p.o.Talk.add(c.p.spec.Name, l.User, "", l.Text)
	if _, err := c.to.Receive(ctx, m); err != nil {
		// A gateway that drains, or a full mailbox: a person would try again later, as these do.
		c.p.o.Log.Debug(ops.LogDemoRefused, "adapter", c.p.spec.Name, "user", l.User, "error", err)
	}
}
