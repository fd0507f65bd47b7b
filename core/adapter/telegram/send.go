package telegram

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"gatewaytui/core/adapter"
)

// maxUnits is the most of one message in UTF-16 units (https://core.telegram.org/bots/api#sendmessage: 4096 characters
// after entities parsing, which Telegram counts in UTF-16 as it does its entities).
const maxUnits = 4096

// Send implements adapter.Conn. A text that is too long for one message goes out as several, in order and without another
// text of the gateway for the same chat between them. If one of them fails, so does the Send; another try with the same
// text, within ten minutes, goes on with the one that failed and repeats none that arrived.
//
// A *adapter.RefusedError is for ever: the bot was blocked, the chat is gone. A *adapter.RateLimitError is returned and
// never slept on. After any other error the last message may or may not have arrived; nothing is sent twice on our own.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) error {
	to, err := parseAddress(m.Target)
	if err != nil {
		return &adapter.RefusedError{Why: err.Error()}
	}
	return c.deliver(ctx, to, m.Text)
}

func (c *conn) deliver(ctx context.Context, to address, text string) error {
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
	leave, err := c.chats.Enter(ctx, to)
	if err != nil {
		return fmt.Errorf("wait for the chat's other messages: %w", err)
	}
	defer leave()
	return c.parts(ctx, to, text)
}

func (c *conn) parts(ctx context.Context, to address, text string) error {
	// Telegram refuses a text that is not UTF-8.
	parts := adapter.Split(strings.ToValidUTF8(text, "\uFFFD"), maxUnits)
	key := sha256.Sum256([]byte(to.String() + "\n" + text))
	sent := false
	for i := c.p.unfinished.take(key); i < len(parts); i++ {
		// Telegram refuses a blank text, and it would not be visible.
		if strings.TrimSpace(parts[i]) == "" {
			continue
		}
		if err := c.api.send(ctx, to, parts[i]); err != nil {
			if len(parts) == 1 {
				return err
			}
			c.p.unfinished.put(key, i)
			return fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
		}
		sent = true
	}
	if !sent {
		return &adapter.RefusedError{Why: "the text is blank"}
	}
	return nil
}
