package feishu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"gatewaytui/core/adapter"
)

const (
	messages = "/open-apis/im/v1/messages"
	// maxKey is the most characters of a uuid that are used; Feishu takes 50.
	maxKey = 40
)

// Send implements adapter.Conn. A text that is too long for one message goes out as several, in order and without another
// text of the gateway for the same chat between them. If one of them fails, so does the Send; another try with the same
// text and Outgoing.Skip goes on with the one that failed.
//
// A *adapter.RefusedError is for ever: the bot was removed, the group is gone. A *adapter.RateLimitError is returned and
// never slept on. Nothing is sent twice on our own.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	return c.deliver(ctx, m, "")
}

// Edit implements adapter.Editor. Feishu takes edits of a card for 14 days.
func (c *conn) Edit(ctx context.Context, message string, m adapter.Outgoing) (adapter.Sent, error) {
	if err := checkMessage(message); err != nil {
		return adapter.Sent{}, err
	}
	return c.deliver(ctx, m, message)
}

// Remove implements adapter.Editor: the message is withdrawn, which the chat shows.
func (c *conn) Remove(ctx context.Context, _, message string) error {
	if err := checkMessage(message); err != nil {
		return err
	}
	err := c.While(ctx, func(ctx context.Context) error {
		return c.api.act(ctx, request{verb: http.MethodDelete, path: messages + "/" + message}, nil)
	})
	if saysOne(err, isGone) {
		return nil
	}
	return err
}

// deliver sends the parts of a text. The message first, if there is one, becomes the first of them.
func (c *conn) deliver(ctx context.Context, m adapter.Outgoing, first string) (sent adapter.Sent, err error) {
	to, err := targetOf(m.Target)
	if err != nil {
		return sent, err
	}
	err = c.While(ctx, func(ctx context.Context) (err error) {
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
	for i := m.Skip; i < len(parts); i++ {
		p := parts[i]
		if i == m.Skip && m.Repeated && first == "" {
			p = p.repeated()
		}
		var rows []piece
		if i == len(parts)-1 {
			rows = rowsOf(m.Buttons, to)
		}
		at := place{address: to}
		if i == 0 {
			at.answers, at.edits = answered(m.Target), first
		}
		id, err := c.part(ctx, at, p, rows, uuid(m.Key, i))
		if err != nil && len(parts) > 1 {
			err = fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
		}
		if err != nil {
			return sent, err
		}
		sent.IDs = append(sent.IDs, id)
	}
	return sent, nil
}

// part sends a part as a card, and as a plain one where Feishu cannot make it (CV8).
func (c *conn) part(ctx context.Context, at place, p text, rows []piece, uuid string) (string, error) {
	id, err := c.api.put(ctx, at, outgoing{kind: "interactive", content: cardOf(p.element(), rows), uuid: uuid})
	if p.markdown && saysOne(err, noCard) {
		p.markdown = false
		return c.api.put(ctx, at, outgoing{kind: "interactive", content: cardOf(p.element(), rows), uuid: uuid})
	}
	return id, err
}

// uuid is the name by which Feishu knows a repeat of a part; an empty key gives none.
func uuid(key string, part int) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", part, key))
	return hex.EncodeToString(sum[:])[:maxKey]
}

// place is where a message goes: an address, the message that it answers, and the one that it takes the place of. Both may be empty.
type place struct {
	address
	answers, edits string
}

// outgoing is a message as the API takes it: content is JSON of the kind.
type outgoing struct{ kind, content, uuid string }

// put sends one message and returns its id. Only ctx bounds it. One that answers a message which is gone since answers none.
func (a *api) put(ctx context.Context, at place, o outgoing) (string, error) {
	in := map[string]any{"content": o.content, "msg_type": o.kind}
	if at.edits != "" {
		r := request{verb: http.MethodPatch, path: messages + "/" + at.edits, in: map[string]string{"content": o.content}}
		return at.edits, a.act(ctx, r, nil)
	}
	if o.uuid != "" {
		in["uuid"] = o.uuid
	}
	answers := at.answers
	if at.thread != "" {
		answers, in["reply_in_thread"] = at.root, true
	}
	if answers != "" {
		id, err := a.post(ctx, messages+"/"+answers+"/reply", in)
		if at.thread != "" || !saysOne(err, isGone) {
			return id, err
		}
	}
	in["receive_id"] = at.to
	kind := "chat_id"
	if at.private() {
		kind = "open_id"
	}
	return a.post(ctx, messages+"?receive_id_type="+kind, in)
}

func (a *api) post(ctx context.Context, path string, in any) (string, error) {
	var out struct {
		ID string `json:"message_id"`
	}
	r := request{verb: http.MethodPost, path: path, in: in}
	err := a.act(ctx, r, &out)
	if err == nil && !isID(out.ID, messageID) {
		err = a.failed(r, errors.New("the answer has no id of a message"))
	}
	return out.ID, err
}
