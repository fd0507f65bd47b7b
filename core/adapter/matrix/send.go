package matrix

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// Send implements adapter.Conn. A text that is too long for one message goes out as several, in order and without another
// text of the gateway for the same chat between them. If one of them fails, so does the Send; another try with the same
// text and Outgoing.Skip goes on with the one that failed.
//
// A *adapter.RefusedError is for ever: the bot was removed, the room is gone. A *adapter.RateLimitError is returned and
// never slept on. Nothing is sent twice on our own.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	return c.deliver(ctx, m, "")
}

// Edit implements adapter.Editor.
func (c *conn) Edit(ctx context.Context, message string, m adapter.Outgoing) (adapter.Sent, error) {
	if !knownEvent(message) {
		return adapter.Sent{}, &adapter.RefusedError{Why: fmt.Sprintf("%.80q is not a message of Matrix", message)}
	}
	return c.deliver(ctx, m, message)
}

// Remove implements adapter.Editor.
func (c *conn) Remove(ctx context.Context, target, message string) error {
	return c.about(ctx, target, message, func(ctx context.Context, to address) error {
		if err := c.api.redact(ctx, to.room, message); !refusedAs(err, codeNotFound) {
			return err
		}
		return nil
	})
}

// redact takes away an event.
func (a *api) redact(ctx context.Context, room, event string) error {
	return a.act(ctx, request{verb: http.MethodPut, path: path(v3, "rooms", room, "redact", event, transaction("", 0)), in: struct{}{}}, nil)
}

// about makes calls about a message in the chat at target, for as long as the connection lasts.
func (c *conn) about(ctx context.Context, target, message string, f func(context.Context, address) error) error {
	if !knownEvent(message) {
		return &adapter.RefusedError{Why: fmt.Sprintf("%.80q is not a message of Matrix", message)}
	}
	return c.call(ctx, target, f)
}

// call makes calls about the chat at target, for as long as the connection lasts.
func (c *conn) call(ctx context.Context, target string, f func(context.Context, address) error) error {
	to, err := parseAddress(target)
	if err != nil {
		return err
	}
	return c.While(ctx, func(ctx context.Context) error { return f(ctx, to) })
}

// deliver sends the parts of a text. The message first, if it is not empty, becomes the first of them.
func (c *conn) deliver(ctx context.Context, m adapter.Outgoing, first string) (sent adapter.Sent, err error) {
	err = c.call(ctx, m.Target, func(ctx context.Context, to address) (err error) {
		sent, err = c.chats.Send(ctx, to, m, func() (adapter.Sent, error) { return c.parts(ctx, to, m, first) })
		return err
	})
	return sent, err
}

func (c *conn) parts(ctx context.Context, to address, m adapter.Outgoing, first string) (sent adapter.Sent, err error) {
	parts := textsOf(m.Text, m.Markdown)
	if len(parts) == 0 {
		return sent, &adapter.RefusedError{Why: "the text is blank"}
	}
	if m.Passing {
		for i := range parts {
			parts[i].Kind = "m.notice" // it rings no one
		}
	}
	buttons := buttonsOf(m.Buttons)
	for i := m.Skip; i < len(parts); i++ {
		p, edits := parts[i], i == 0 && first != ""
		if i == len(parts)-1 {
			p.Buttons = buttons
		}
		p.Relates = to.relation("")
		if i == 0 {
			p.Relates = to.relation(answered(m.Target))
		}
		if i == m.Skip && m.Repeated && !edits {
			p = p.behind(adapter.RepeatMark)
		}
		arrived := first
		if edits {
			err = c.edit(ctx, to, first, p, m.Passing)
		} else {
			arrived, err = c.api.post(ctx, to.room, p, transaction(m.Key, i))
		}
		if err != nil && len(parts) > 1 {
			err = fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
		}
		if err != nil {
			return sent, err
		}
		sent.IDs = append(sent.IDs, arrived)
		if len(p.Buttons) > 0 && !edits {
			c.show(ctx, to.room, arrived, p.Buttons)
		}
	}
	c.typing.end(ctx, c, to.room)
	return sent, nil
}

// relation is where a message to the chat stands: in its thread, and as the answer to a message; nil: in the room.
func (a address) relation(answers string) *relation {
	switch {
	case a.thread == "" && answers == "":
		return nil
	case a.thread == "":
		return &relation{Answers: &related{answers}}
	case answers == "":
		return &relation{Kind: relThread, Event: a.thread, Falls: true, Answers: &related{a.thread}}
	}
	return &relation{Kind: relThread, Event: a.thread, Falls: true, Answers: &related{answers}}
}

// transaction is the id by which the homeserver knows a repeat of a part of the message with this key. Without a key it is a new one.
func transaction(key string, part int) string {
	if key == "" {
		return rand.Text()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", part, key))
	return hex.EncodeToString(sum[:16])
}

// post sends one message and returns its id. One whose format the homeserver does not take goes out as plain text.
func (a *api) post(ctx context.Context, room string, p content, transaction string) (id string, err error) {
	id, err = a.put(ctx, room, typeMessage, p, transaction)
	if p.Formatted == "" || !refusedAs(err, codeTooLarge, codeBadJSON) {
		return id, err
	}
	return a.put(ctx, room, typeMessage, p.plain(), transaction)
}

// put sends an event and returns its id.
func (a *api) put(ctx context.Context, room, typed string, in any, transaction string) (id string, err error) {
	var result struct {
		ID string `json:"event_id"`
	}
	r := request{verb: http.MethodPut, path: path(v3, "rooms", room, "send", typed, transaction), in: in}
	err = a.act(ctx, r, &result)
	return result.ID, err
}

// edit makes p the content of a message. A passing edit does not ask whether the message is still there, because a homeserver takes
// an edit of a message that is gone and shows nothing.
func (c *conn) edit(ctx context.Context, to address, message string, p content, passing bool) error {
	if !passing {
		switch e, _, err := c.api.event(ctx, to.room, message); {
		case err != nil:
			return err
		case e.redacted() || e.Sender != c.me.id:
			return &adapter.RefusedError{Why: "the message is gone"}
		}
	}
	p.Relates = nil
	whole := p
	whole.New, whole.Body, whole.Buttons = &p, "* "+p.Body, nil
	if p.Formatted != "" {
		whole.Formatted = "* " + p.Formatted
	}
	whole.Relates = &relation{Kind: relReplace, Event: message}
	if _, err := c.api.post(ctx, to.room, whole, transaction("", 0)); err != nil || passing {
		return err
	}
	c.change(ctx, to.room, message, p.Buttons)
	return nil
}

// polite notes that a call failed without which the message is complete.
func (c *conn) polite(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		c.log.Debug(ops.LogMatrixNotice, "error", c.api.Why(err))
	}
}
