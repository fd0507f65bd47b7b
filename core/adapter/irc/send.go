package irc

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/adapter"
)

// pace says when lines may go out (RFC 1459, 8.10).
type pace struct {
	limits
	mu   sync.Mutex
	paid time.Time
}

// take takes room for at most so many lines, and least at least; with none it returns the time until there is room.
func (p *pace) take(now time.Time, least, most int) (n int, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paid.Before(now) {
		p.paid = now
	}
	free := int((p.lead - p.paid.Sub(now)) / p.penalty)
	if free < least {
		return 0, p.paid.Sub(now) + time.Duration(least)*p.penalty - p.lead
	}
	n = min(free, most)
	p.paid = p.paid.Add(time.Duration(n) * p.penalty)
	return n, 0
}

// Send implements adapter.Conn: each line of the text is a message, and so is each part of a line that is too long. Lines wait for the
// pace; where that takes longer than ctx allows, the error is a *adapter.RateLimitError and the rest comes with the next call.
//
// A *adapter.RefusedError is for ever: there is no such nick or channel now, or it takes no message of the bot. A person who comes
// back may be another one.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) (sent adapter.Sent, err error) {
	to, answered, err := parseTarget(m.Target)
	if err != nil {
		return sent, err
	}
	lines := c.lines(to, answered, m)
	if len(lines) == 0 {
		return sent, &adapter.RefusedError{Why: "the text is blank"}
	}
	lines = lines[min(m.Skip, len(lines)):]
	if m.Repeated && len(lines) > 0 {
		lines = append([]string{adapter.RepeatMark}, lines...)
	}
	err = c.While(ctx, func(ctx context.Context) error {
		sent, err = c.chats.Send(ctx, to, m, func() (adapter.Sent, error) { return c.say(ctx, to, lines, m) })
		return err
	})
	if m.Repeated && len(sent.IDs) > 0 {
		sent.IDs = sent.IDs[1:] // the mark is not a part of the text
	}
	return sent, err
}

// say sends lines, as many at a time as the pace lets through.
func (c *conn) say(ctx context.Context, to chat, lines []string, m adapter.Outgoing) (sent adapter.Sent, err error) {
	for len(lines) > 0 {
		if err := c.speak(ctx, m.Passing); err != nil {
			return sent, err
		}
		n, err := c.some(ctx, to, lines)
		<-c.speaks
		sent.IDs = append(sent.IDs, make([]string, n)...)
		lines = lines[n:]
		if refused, is := errors.AsType[*adapter.RefusedError](err); is && n == 0 && formatted(lines) {
			for i := range lines { // a channel may take no control codes
				lines[i] = plain(lines[i])
			}
			c.log.Debug("a message is sent again without its format", "error", refused.Error())
			continue
		}
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// formatted reports whether lines have control codes.
func formatted(lines []string) bool {
	for _, l := range lines {
		if plain(l) != l {
			return true
		}
	}
	return false
}

// speak waits until no other message waits for its confirmation. A passing one does not wait.
func (c *conn) speak(ctx context.Context, passing bool) error {
	if passing {
		select {
		case c.speaks <- struct{}{}:
			return nil
		default:
			return unsent(errors.New("another message is being sent"))
		}
	}
	select {
	case c.speaks <- struct{}{}:
		return nil
	case <-ctx.Done():
		return unsent(c.failed("wait behind other messages", ctx.Err()))
	}
}

func unsent(err error) error { return &adapter.UnsentError{Err: err} }

// some sends the first of some lines and returns how many arrived: those that the server has confirmed.
func (c *conn) some(ctx context.Context, to chat, lines []string) (int, error) {
	w := &confirmation{target: to.name, done: make(chan error, 1)}
	cost := 0 // of the question that confirms
	c.locked(func() {
		if !c.caps["echo-message"] {
			w.token, cost = rand.Text(), 1
		}
	})
	n, err := c.room(ctx, cost, len(lines))
	if err != nil {
		return 0, err
	}
	w.echoes = n
	if err := c.Err(); err != nil {
		return 0, unsent(err)
	}
	c.locked(func() {
		c.waits = w
		for _, text := range lines[:n] {
			c.push("PRIVMSG " + to.name + " :" + text)
		}
		if w.token != "" {
			c.push("PING :" + w.token)
		}
	})
	defer c.locked(func() { c.waits = nil })
	late := time.NewTimer(c.p.call)
	defer late.Stop()
	select {
	case err = <-w.done:
	case <-c.Done():
		err = c.Err()
	case <-ctx.Done():
		err = c.failed("send", ctx.Err())
	case <-late.C:
		err = c.failed("send", errUnconfirmed)
	}
	if err != nil {
		arrived := 0
		c.locked(func() {
			if w.token == "" {
				arrived = n - w.echoes
			}
		})
		return arrived, err
	}
	return n, nil
}

// room waits until the pace lets a line through, and returns how many of most. cost lines more are sent with them.
func (c *conn) room(ctx context.Context, cost, most int) (int, error) {
	for {
		n, wait := c.pace.take(time.Now(), 1+cost, most+cost)
		if n > 0 {
			return n - cost, nil
		}
		if end, is := ctx.Deadline(); is && time.Until(end) < wait+c.p.call/2 {
			return 0, &adapter.RateLimitError{RetryAfter: c.p.lead}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, unsent(c.failed("wait for the pace", ctx.Err()))
		case <-c.Done():
			return 0, unsent(c.Err())
		}
	}
}

// line is text that may stand in a line: what would end it, or be a request of a client, becomes a blank or is left out.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\r' || r == '\n' || r == 0 || r == 1:
			return -1
		}
		return r
	}, text)
}
