package mail

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/adapter"
)

// maxFile is the most bytes of a file that the bot sends. As base64 it has 25 MB, which is what providers take.
const maxFile = 18 << 20

// Send implements adapter.Conn: one mail of any length. It answers the mail that the target names, or else the last one of the
// thread in this life. Its Message-ID is made of Outgoing.Key, so that servers that drop a repeat of a Message-ID show one that was sent
// again once; others show both, and so the second one says that it is a repeat.
//
// A *adapter.RefusedError is for ever: the server takes no mail for that address. A *adapter.RateLimitError is returned and never slept on.
func (c *conn) Send(ctx context.Context, m adapter.Outgoing) (adapter.Sent, error) {
	switch {
	case strings.TrimSpace(m.Text) == "":
		return adapter.Sent{}, &adapter.RefusedError{Why: errBlank.Error()}
	case m.Skip > 0:
		return adapter.Sent{}, nil // it is one mail, and has arrived
	}
	d := draft{plain: strings.ToValidUTF8(m.Text, "\uFFFD")}
	if m.Repeated {
		d.plain = adapter.RepeatMark + "\n\n" + d.plain
	}
	if m.Markdown {
		d.html = formatted(d.plain)
	}
	return c.deliver(ctx, m.Target, m, d)
}

// SendFile implements adapter.FileSender.
func (c *conn) SendFile(ctx context.Context, target string, f adapter.OutgoingFile) (adapter.Sent, error) {
	if len(f.Content) > maxFile {
		return adapter.Sent{}, &adapter.RefusedError{Why: fmt.Sprintf("the file has %d bytes, and a mail takes %d", len(f.Content), maxFile)}
	}
	d := draft{plain: strings.ToValidUTF8(f.Caption, "\uFFFD"), file: &f}
	return c.deliver(ctx, target, adapter.Outgoing{Key: f.Key}, d)
}

// deliver sends d to a target.
func (c *conn) deliver(ctx context.Context, target string, m adapter.Outgoing, d draft) (sent adapter.Sent, err error) {
	to, about, err := parseTarget(target)
	if err != nil {
		return sent, &adapter.RefusedError{Why: err.Error()}
	}
	if about == (mailed{}) {
		about = c.p.threads.get(to)
	}
	key := m.Key
	if key == "" {
		key = rand.Text()
	}
	if to.thread == "" { // it begins one
		to.thread = hash(threadSize, "begin", key)
	}
	d.id = fmt.Sprintf("<gatewaytui.%s.%s@%s>", to.thread, hash(24, key), domain(c.p.o.Address))
	d.from, d.to, d.about, d.at = c.p.o.Address, []string{to.to}, about, time.Now()
	if about.sender != "" && about.sender != to.to {
		d.to = append(d.to, about.sender)
	}
	d.subject = subjectOf(about, d.plain)
	text, err := d.write()
	if err != nil {
		return sent, &adapter.RefusedError{Why: err.Error()}
	}
	err = c.While(ctx, func(ctx context.Context) error {
		sent, err = c.chats.Send(ctx, to, m, func() (adapter.Sent, error) {
			if err := c.p.submit(ctx, d.from, d.to, text); err != nil {
				return adapter.Sent{}, err
			}
			return adapter.Sent{IDs: []string{d.id}}, nil
		})
		return err
	})
	return sent, err
}
