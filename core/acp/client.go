package acp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gatewaytui/core/agent"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

var (
	errStopping = errors.New("the gateway is stopping, and starts no agent any more")
	errClosed   = errors.New("the agent is closed")
)

// client is the program of one agent: an agent.External.
type client struct {
	set     *Set
	of      *externals
	session string
	recall  Recall // nil: nothing is kept
	// one is held by the turn that runs; it holds one.
	one chan struct{}

	mu     sync.Mutex // guards what follows; never held over I/O
	link   *link      // nil: no program runs
	closed bool
	row    row
}

// Prompt implements agent.External.
func (c *client) Prompt(ctx context.Context, t agent.ExternalTurn) (agent.ExternalAnswer, error) {
	select {
	case c.one <- struct{}{}:
		defer func() { <-c.one }()
	case <-ctx.Done():
		return agent.ExternalAnswer{}, context.Cause(ctx)
	}
	place, err := c.permitted(ctx, t)
	if err != nil {
		return agent.ExternalAnswer{}, err
	}
	l, fresh, err := c.ready(ctx, t)
	if err != nil {
		return agent.ExternalAnswer{}, c.explain(ctx, "starting it", err)
	}
	t.Call.Progress(ops.DoingModelCall)
	c.works(true)
	defer c.works(false)
	answer, err := l.prompt(ctx, t, place, fresh)
	if err != nil {
		return answer, c.explain(ctx, "its turn", err)
	}
	return answer, nil
}

// explain is an error for the person who asked. What the program wrote is in the log alone: a chat may be a group of other people.
func (c *client) explain(ctx context.Context, doing string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	name := term.Clean(c.of.Name(), 60)
	c.set.o.Log.Warn("external agent failed", "event", ops.LogACP, "session", c.session, "agent", c.of.def.Name, "error", term.Clean(term.Redact(err.Error()), 600))
	if told, is := errors.AsType[*ops.Error](err); is {
		return told
	}
	if errors.Is(err, errStopping) || errors.Is(err, errClosed) {
		return &ops.Error{Code: ops.CodeStopping, Message: err.Error()}
	}
	return &ops.Error{
		Code: ops.CodeUpstream, Message: fmt.Sprintf("the agent %s (%s) failed in %s", c.of.def.Name, name, doing),
		Hint: "try again: it is started again; the gateway's log has the details",
	}
}

// take makes l the client's program. It reports false if the client was closed meanwhile.
func (c *client) take(l *link) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.link = l
	return true
}

// drop forgets a program that has ended.
func (c *client) drop(l *link) {
	c.mu.Lock()
	if c.link == l {
		c.link = nil
	}
	none := c.link == nil
	c.mu.Unlock()
	if none {
		c.set.leave(c)
	}
}

// Close implements agent.External.
func (c *client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	return c.end(ctx)
}

// end ends the program. The next turn of an agent that is not closed starts another one.
func (c *client) end(ctx context.Context) error {
	c.mu.Lock()
	l := c.link
	if l != nil {
		c.row.state = ops.HeldClosing
	}
	c.mu.Unlock()
	if l == nil {
		return nil
	}
	return l.end(ctx, errClosed)
}
