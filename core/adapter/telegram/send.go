package telegram

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gatewaytui/core/adapter"
)

// Send implements adapter.Conn. A text that is too long for one message goes out as several, in order and without another
// text of the gateway for the same chat between them. If one of them fails, so does the Send; another try with the same
// text and Outgoing.Skip goes on with the one that failed.
//
// A *adapter.RefusedError is for ever: the bot was blocked, the chat is gone. A *adapter.RateLimitError is returned and
// never slept on. Nothing is sent twice on our own.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	return c.deliver(ctx, m, "")
}

// Edit implements adapter.Editor.
func (c *conn) Edit(ctx context.Context, id string, m adapter.Outgoing) (adapter.Sent, error) {
	return c.deliver(ctx, m, id)
}

// Remove implements adapter.Editor.
func (c *conn) Remove(ctx context.Context, target, id string) error {
	return c.call(ctx, target, func(ctx context.Context, to address) error {
		message, err := messageID(id)
		if err != nil {
			return err
		}
		return c.api.remove(ctx, to, message)
	})
}

// Typing implements adapter.Typer.
func (c *conn) Typing(ctx context.Context, target string) error {
	return c.call(ctx, target, c.api.typing)
}

// SetMenu implements adapter.MenuSetter.
func (c *conn) SetMenu(ctx context.Context, commands []adapter.MenuCommand) error {
	return c.While(ctx, func(ctx context.Context) error { return c.api.menu(ctx, commands) })
}

// call makes one call of the Bot API about the chat at target, for as long as the connection lasts.
func (c *conn) call(ctx context.Context, target string, f func(context.Context, address) error) error {
	to, _, err := parseTarget(target)
	if err != nil {
		return &adapter.RefusedError{Why: err.Error()}
	}
	return c.While(ctx, func(ctx context.Context) error { return f(ctx, to) })
}

// deliver sends the parts of a text. The message first, if it is not empty, becomes the first of them.
func (c *conn) deliver(ctx context.Context, m adapter.Outgoing, first string) (sent adapter.Sent, err error) {
	err = c.call(ctx, m.Target, func(ctx context.Context, to address) error {
		var err error
		sent, err = c.chats.Send(ctx, to, m, func() (adapter.Sent, error) { return c.parts(ctx, to, m, first) })
		return err
	})
	return sent, err
}

func (c *conn) parts(ctx context.Context, to address, m adapter.Outgoing, first string) (sent adapter.Sent, err error) {
	parts := messagesOf(m.Text, m.Markdown)
	if len(parts) == 0 {
		return sent, &adapter.RefusedError{Why: "the text is blank"}
	}
	if _, answers, err := parseTarget(m.Target); err == nil {
		parts[0].answers = answers
	}
	parts[len(parts)-1].buttons = c.p.presses.board(m.Buttons)
	repeated := m.Repeated
	for i := m.Skip; i < len(parts); i++ {
		var id int64
		switch {
		case i == 0 && first != "":
			id, err = c.edit(ctx, to, first, parts[i])
		case repeated:
			id, err = c.repeat(ctx, to, parts[i])
			repeated = false
		default:
			id, err = c.send(ctx, to, parts[i])
		}
		if err != nil && len(parts) > 1 {
			err = fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
		}
		if err != nil {
			return sent, err
		}
		sent.IDs = append(sent.IDs, strconv.FormatInt(id, 10))
	}
	return sent, nil
}

func (c *conn) edit(ctx context.Context, to address, message string, m formatted) (id int64, err error) {
	if id, err = messageID(message); err != nil {
		return 0, err
	}
	return id, plainly(m, func(m formatted) error { return c.api.edit(ctx, to, id, m) })
}

func (c *conn) send(ctx context.Context, to address, m formatted) (id int64, err error) {
	err = plainly(m, func(m formatted) error {
		id, err = c.api.send(ctx, to, m)
		return err
	})
	return id, err
}

// plainly calls f with the message, and once more with its text alone if Telegram refused its styles, which is a message that
// did not arrive.
func plainly(m formatted, f func(formatted) error) error {
	err := f(m)
	if refused, is := errors.AsType[*adapter.RefusedError](err); is && len(m.entities) > 0 && aboutStyles(refused.Why) {
		return f(m.plain())
	}
	return err
}

// refusedBy reports whether Telegram took a call and will not do what it asks for.
func refusedBy(err error) bool {
	failed, is := errors.AsType[*callError](err)
	return is && refusals[failed.code]
}

// aboutStyles reports whether Telegram's words for a refusal are about entities: "can't parse entities", "Wrong message
// entity", "ENTITY_BOUNDS_INVALID", "ENTITIES_TOO_LONG".
func aboutStyles(why string) bool {
	why = strings.ToLower(why)
	return strings.Contains(why, "entit") || strings.Contains(why, "can't parse")
}

// repeat sends a part that may have arrived before, and says so.
func (c *conn) repeat(ctx context.Context, to address, part formatted) (int64, error) {
	if marked := part.behind(adapter.RepeatMark); length(marked.text) <= maxUnits {
		return c.send(ctx, to, marked)
	}
	if _, err := c.send(ctx, to, formatted{text: adapter.RepeatMark}); err != nil {
		return 0, err
	}
	return c.send(ctx, to, part)
}
