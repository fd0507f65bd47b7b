package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"gatewaytui/core/adapter"
)

const (
	// maxUnits is the most of one message in UTF-16 units. Discord counts 2000 characters, of which none has less.
	maxUnits = 2000
	// maxNonce is the most characters of a nonce.
	maxNonce = 25
	// unknownMessage is Discord's number for a message that is gone.
	unknownMessage = 10008
	// suppressEmbeds is the flag for a message whose links get no preview.
	suppressEmbeds = 1 << 2
)

// Send implements adapter.Conn. A text that is too long for one message goes out as several, in order and without another
// text of the gateway for the same channel between them. If one of them fails, so does the Send; another try with the same
// text and Outgoing.Skip goes on with the one that failed.
//
// A *adapter.RefusedError is for ever: the bot was removed, the channel is gone. A *adapter.RateLimitError is returned and
// never slept on. Nothing is sent twice on our own.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	return c.deliver(ctx, m, 0)
}

// Edit implements adapter.Editor.
func (c *conn) Edit(ctx context.Context, message string, m adapter.Outgoing) (adapter.Sent, error) {
	first, err := parseID(message)
	if err != nil {
		return adapter.Sent{}, &adapter.RefusedError{Why: err.Error()}
	}
	return c.deliver(ctx, m, first)
}

// Remove implements adapter.Editor.
func (c *conn) Remove(ctx context.Context, target, message string) error {
	which, err := parseID(message)
	if err != nil {
		return &adapter.RefusedError{Why: err.Error()}
	}
	err = c.call(ctx, target, func(ctx context.Context, to id) error {
		return c.api.act(ctx, http.MethodDelete, messages(to)+"/"+which.String(), nil, nil)
	})
	if gone(err) {
		return nil
	}
	return err
}

// Typing implements adapter.Typer.
func (c *conn) Typing(ctx context.Context, target string) error {
	return c.call(ctx, target, func(ctx context.Context, to id) error {
		return c.api.act(ctx, http.MethodPost, "/channels/"+to.String()+"/typing", nil, nil)
	})
}

// call makes one call of the API about the channel at target, for as long as the connection lasts.
func (c *conn) call(ctx context.Context, target string, f func(context.Context, id) error) error {
	to, err := parseID(adapter.ChatOf(target))
	if err != nil {
		return &adapter.RefusedError{Why: err.Error()}
	}
	return c.While(ctx, func(ctx context.Context) error { return f(ctx, to) })
}

// deliver sends the parts of a text. The message first, if it is not 0, becomes the first of them.
func (c *conn) deliver(ctx context.Context, m adapter.Outgoing, first id) (sent adapter.Sent, err error) {
	to, err := parseID(adapter.ChatOf(m.Target))
	if err != nil {
		return sent, &adapter.RefusedError{Why: err.Error()}
	}
	err = c.While(ctx, func(ctx context.Context) (err error) {
		sent, err = c.chats.Send(ctx, to, m, func() (adapter.Sent, error) { return c.parts(ctx, to, m, first) })
		return err
	})
	return sent, err
}

func (c *conn) parts(ctx context.Context, to id, m adapter.Outgoing, first id) (sent adapter.Sent, err error) {
	parts := textsOf(m.Text, m.Markdown)
	if len(parts) == 0 {
		return sent, &adapter.RefusedError{Why: "the text is blank"}
	}
	for i := m.Skip; i < len(parts); i++ {
		p := post{Text: parts[i], Flags: suppressEmbeds, Rows: []row{}}
		if i == 0 {
			p.Answers = answered(m.Target)
		}
		if i == len(parts)-1 {
			p.Rows = rowsOf(m.Buttons)
		}
		var arrived id
		switch {
		case i == 0 && first != 0:
			p.Answers = nil
			arrived, err = first, c.api.act(ctx, http.MethodPatch, messages(to)+"/"+first.String(), p, nil)
		case i == m.Skip && m.Repeated:
			arrived, err = c.repeat(ctx, to, p, m.Key, i)
		default:
			arrived, err = c.api.post(ctx, to, p.named(m.Key, i))
		}
		if err != nil && len(parts) > 1 {
			err = fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
		}
		if err != nil {
			return sent, err
		}
		sent.IDs = append(sent.IDs, arrived.String())
	}
	return sent, nil
}

// repeat sends a part that may have arrived before, and says so. If it did within minutes, Discord knows its nonce and shows
// nothing new.
func (c *conn) repeat(ctx context.Context, to id, p post, key string, part int) (id, error) {
	marked := adapter.RepeatMark + "\n\n" + p.Text
	if len(adapter.Split(marked, maxUnits)) == 1 {
		p.Text = marked
	}
	return c.api.post(ctx, to, p.named(key, part))
}

// post is a message as the API takes it.
type post struct {
	Text    string `json:"content"`
	Flags   int    `json:"flags,omitempty"`
	Nonce   string `json:"nonce,omitempty"`
	Enforce bool   `json:"enforce_nonce,omitempty"`
	Rows    []row  `json:"components"`
	// Answers is the message that this one answers; nil: none.
	Answers *reference `json:"message_reference,omitempty"`
	// Notified says whom the text may notify: no user, even if a model names one.
	Notified struct {
		Parse [0]string `json:"parse"`
	} `json:"allowed_mentions"`
}

// reference names a message. One that is gone since is not an error.
type reference struct {
	Message id   `json:"message_id"`
	Must    bool `json:"fail_if_not_exists"`
}

// answered is the message that a target says is answered.
func answered(target string) *reference {
	_, message, _ := strings.Cut(target, "#")
	if which, err := parseID(message); err == nil {
		return &reference{Message: which}
	}
	return nil
}

// named is p with the name by which Discord knows a repeat of it; an empty key gives none.
func (p post) named(key string, part int) post {
	if key != "" {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", part, key))
		p.Nonce, p.Enforce = hex.EncodeToString(sum[:])[:maxNonce], true
	}
	return p
}

// post sends one message of at most maxUnits and returns its id. Only ctx bounds it.
func (a *api) post(ctx context.Context, to id, p post) (id, error) {
	var result struct {
		ID id `json:"id"`
	}
	err := a.act(ctx, http.MethodPost, messages(to), p, &result)
	return result.ID, err
}

// act makes a call about a channel. An error of type *adapter.RefusedError or *adapter.RateLimitError, or
// one for which adapter.MayHaveArrived is false, says that it changed nothing.
func (a *api) act(ctx context.Context, verb, path string, in, out any) error {
	return asRefused(a.call(ctx, 0, verb, path, in, out))
}

func asRefused(err error) error {
	if failed, is := errors.AsType[*callError](err); is && failed.refused {
		return &refused{adapter.RefusedError{Why: failed.Why}, failed.code}
	}
	return err
}

// refused is a *adapter.RefusedError with Discord's own number for why.
type refused struct {
	adapter.RefusedError
	code int
}

func (r *refused) Unwrap() error { return &r.RefusedError }

// gone reports whether a call failed because a message is not there any more.
func gone(err error) bool {
	r, is := errors.AsType[*refused](err)
	return is && r.code == unknownMessage
}

func messages(of id) string { return "/channels/" + of.String() + "/messages" }
