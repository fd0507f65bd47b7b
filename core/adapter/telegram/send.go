package telegram

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gatewaytui/core/adapter"
)

// maxUnits is the most of one message in UTF-16 units (https://core.telegram.org/bots/api#sendmessage: 4096 characters
// after entities parsing, which Telegram counts in UTF-16 as it does its entities).
const maxUnits = 4096

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

// call makes one call of the Bot API about the chat at target, for as long as the connection lasts.
func (c *conn) call(ctx context.Context, target string, f func(context.Context, address) error) error {
	to, err := parseAddress(target)
	if err != nil {
		return &adapter.RefusedError{Why: err.Error()}
	}
	if !c.sends.TryAcquire(1) {
		return errDisconnected
	}
	defer c.sends.Release(1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	if c.life.Err() != nil {
		return errDisconnected
	}
	return f(ctx, to)
}

// deliver sends the parts of a text. The message first, if it is not empty, becomes the first of them.
func (c *conn) deliver(ctx context.Context, m adapter.Outgoing, first string) (sent adapter.Sent, err error) {
	err = c.call(ctx, m.Target, func(ctx context.Context, to address) error {
		if !m.Passing {
			leave, err := c.chats.Enter(ctx, to)
			if err != nil {
				return &adapter.UnsentError{Err: fmt.Errorf("wait for the chat's other messages: %w", err)}
			}
			defer leave()
		}
		sent, err = c.parts(ctx, to, m, first)
		return err
	})
	return sent, err
}

func (c *conn) parts(ctx context.Context, to address, m adapter.Outgoing, first string) (sent adapter.Sent, err error) {
	parts := visible(m.Text)
	if len(parts) == 0 {
		return sent, &adapter.RefusedError{Why: "the text is blank"}
	}
	for i := m.Skip; i < len(parts); i++ {
		var id int64
		switch {
		case i == 0 && first != "":
			id, err = c.edit(ctx, to, first, parts[i])
		case i == m.Skip && m.Repeated:
			id, err = c.repeat(ctx, to, parts[i])
		default:
			id, err = c.api.send(ctx, to, parts[i])
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

func (c *conn) edit(ctx context.Context, to address, message, text string) (id int64, err error) {
	if id, err = messageID(message); err == nil {
		err = c.api.edit(ctx, to, id, text)
	}
	return id, err
}

// repeat sends a part that may have arrived before, and says so.
func (c *conn) repeat(ctx context.Context, to address, part string) (int64, error) {
	marked := adapter.RepeatMark + "\n\n" + part
	if len(adapter.Split(marked, maxUnits)) == 1 {
		return c.api.send(ctx, to, marked)
	}
	if _, err := c.api.send(ctx, to, adapter.RepeatMark); err != nil {
		return 0, err
	}
	return c.api.send(ctx, to, part)
}

// visible is text in parts of which each fits into a message, without those that are blank: Telegram refuses them, and they
// would not be visible. It also refuses a text that is not UTF-8.
func visible(text string) []string {
	var parts []string
	for _, part := range adapter.Split(strings.ToValidUTF8(text, "\uFFFD"), maxUnits) {
		if strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// messageID reads the id of a message that the bot sent.
func messageID(s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id <= 0 {
		return 0, &adapter.RefusedError{Why: fmt.Sprintf("%.40q is not the id of a message", s)}
	}
	return id, nil
}

// gone reports whether a call failed because a message is not there any more.
func gone(err error) bool {
	refused, is := errors.AsType[*adapter.RefusedError](err)
	return is && strings.Contains(refused.Why, "not found")
}
