package slack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/markdown"
)

// Send implements adapter.Conn. A text that is too long for one message goes out as several, in order and without another
// text of the gateway for the same place between them. If one of them fails, so does the Send; another try with the same
// text and Outgoing.Skip goes on with the one that failed.
//
// A *adapter.RefusedError is for ever: the bot was removed, the channel is gone. A *adapter.RateLimitError is returned and
// never slept on. Nothing is sent twice on our own.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	return c.deliver(ctx, m, "")
}

// Edit implements adapter.Editor.
func (c *conn) Edit(ctx context.Context, message string, m adapter.Outgoing) (adapter.Sent, error) {
	if err := named(message); err != nil {
		return adapter.Sent{}, err
	}
	return c.deliver(ctx, m, message)
}

// Remove implements adapter.Editor.
func (c *conn) Remove(ctx context.Context, target, message string) error {
	if err := named(message); err != nil {
		return err
	}
	err := c.about(ctx, target, func(ctx context.Context, to place) error {
		return c.api.act(ctx, "chat.delete", url.Values{"channel": {to.channel}, "ts": {message}}, nil)
	})
	if said(err, "message_not_found") {
		return nil
	}
	return err
}

// named refuses what does not name a message.
func named(message string) error {
	if !isStamp(message) {
		return &adapter.RefusedError{Why: fmt.Sprintf("%.40q does not name a message of Slack", message)}
	}
	return nil
}

// about makes calls about the place at target, for as long as the connection lasts.
func (c *conn) about(ctx context.Context, target string, f func(context.Context, place) error) error {
	to, _, err := parseTarget(target)
	if err != nil {
		return err
	}
	return c.While(ctx, func(ctx context.Context) error {
		if to.channel, err = c.channel(ctx, to.channel); err != nil {
			return err
		}
		return f(ctx, to)
	})
}

// deliver sends the parts of a text. The message first, if it is not empty, becomes the first of them.
func (c *conn) deliver(ctx context.Context, m adapter.Outgoing, first string) (sent adapter.Sent, err error) {
	err = c.about(ctx, m.Target, func(ctx context.Context, to place) error {
		sent, err = c.chats.Send(ctx, to, m, func() (adapter.Sent, error) { return c.parts(ctx, to, m, first) })
		return err
	})
	if len(sent.IDs) > 0 {
		c.shown(ctx, m.Target)
	}
	return sent, err
}

func (c *conn) parts(ctx context.Context, to place, m adapter.Outgoing, first string) (sent adapter.Sent, err error) {
	parts := messagesOf(m.Text, m.Markdown)
	if len(parts) == 0 {
		return sent, &adapter.RefusedError{Why: "the text is blank"}
	}
	for i := m.Skip; i < len(parts); i++ {
		p := post{to: to, text: parts[i], key: keyOf(m.Key, i)}
		if i == len(parts)-1 {
			p.buttons = m.Buttons
		}
		arrived := ""
		switch {
		case i == 0 && first != "":
			p.key = ""
			arrived, err = first, c.api.write(ctx, "chat.update", p, url.Values{"ts": {first}}, nil)
		case i == m.Skip && m.Repeated:
			arrived, err = c.api.repeat(ctx, p)
		default:
			arrived, err = c.api.post(ctx, p)
		}
		if err != nil && len(parts) > 1 {
			err = fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
		}
		if err != nil {
			return sent, err
		}
		sent.IDs = append(sent.IDs, arrived)
	}
	return sent, nil
}

// post is one message.
type post struct {
	to      place
	text    []markdown.Block
	buttons [][]adapter.Button
	// key names the message for ever, for a look whether it arrived; empty: it has no name.
	key string
}

// keyOf is the name of a part of the message with this key.
func keyOf(key string, part int) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", part, key))
	return hex.EncodeToString(sum[:16])
}

// metadata is what a message says to programs (https://docs.slack.dev/messaging/message-metadata). People do not see it.
type metadata struct {
	Type    string `json:"event_type"`
	Payload struct {
		Key string `json:"key"`
	} `json:"event_payload"`
}

// sentMessage is the type of the metadata of the gateway's messages.
const sentMessage = "sent_by_gatewaytui"

// post sends one message and returns its id.
func (a *api) post(ctx context.Context, p post) (id string, err error) {
	var result struct {
		Stamp string `json:"ts"`
	}
	in := url.Values{"unfurl_links": {"false"}, "unfurl_media": {"false"}}
	if p.to.thread != "" {
		in.Set("thread_ts", p.to.thread)
	}
	if p.key != "" {
		m := metadata{Type: sentMessage}
		m.Payload.Key = p.key
		in.Set("metadata", encode(m))
	}
	err = a.write(ctx, "chat.postMessage", p, in, &result)
	return result.Stamp, err
}

// write sends or changes one message. One whose blocks Slack refuses goes out as plain text (CV8).
func (a *api) write(ctx context.Context, method string, p post, in url.Values, out any) error {
	in.Set("channel", p.to.channel)
	in.Set("text", escaped.Replace(textOf(p.text)))
	in.Set("blocks", encode(blocksOf(p.text, p.buttons)))
	err := a.act(ctx, method, in, out)
	if said(err, "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long") {
		in.Set("blocks", "[]")
		in.Set("mrkdwn", "false")
		return a.act(ctx, method, in, out)
	}
	return err
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // structs of plain fields
	}
	return string(text)
}

const (
	// maxLook is how many messages of a chat are looked through for one that may have arrived, and lookBack how old it may be.
	maxLook  = 200
	lookBack = 7 * 24 * time.Hour
)

// repeat sends a message that may have arrived before, unless it is in its chat. Where that cannot be seen, the message says so.
func (a *api) repeat(ctx context.Context, p post) (id string, err error) {
	id, certain, err := a.find(ctx, p)
	if err != nil || id != "" {
		return id, err
	}
	if !certain {
		marked := append(markdown.Plain(adapter.RepeatMark), p.text...)
		marked[1].Tight = false
		if weigh(marked) <= maxUnits {
			p.text = marked
		}
	}
	return a.post(ctx, p)
}

// find looks for a message by its key among the last ones of its place. certain means that it is not there.
func (a *api) find(ctx context.Context, p post) (id string, certain bool, err error) {
	if p.key == "" {
		return "", false, nil
	}
	in := url.Values{
		"channel": {p.to.channel}, "limit": {strconv.Itoa(maxLook)}, "include_all_metadata": {"true"},
		"oldest": {fmt.Sprintf("%d.000000", time.Now().Add(-lookBack).Unix())},
	}
	method := "conversations.history"
	if p.to.thread != "" {
		method = "conversations.replies"
		in.Set("ts", p.to.thread)
	}
	var found struct {
		More     bool `json:"has_more"`
		Messages []struct {
			Stamp    string   `json:"ts"`
			Metadata metadata `json:"metadata"`
		} `json:"messages"`
	}
	err = a.act(ctx, method, in, &found)
	if _, is := errors.AsType[*adapter.RefusedError](err); is {
		return "", false, nil // the bot may not look
	}
	if _, limited := errors.AsType[*adapter.RateLimitError](err); limited {
		return "", false, err
	}
	if err != nil {
		return "", false, &adapter.UnsentError{Err: err}
	}
	for _, m := range found.Messages {
		if m.Metadata.Type == sentMessage && m.Metadata.Payload.Key == p.key && isStamp(m.Stamp) {
			return m.Stamp, true, nil
		}
	}
	return "", !found.More, nil
}
