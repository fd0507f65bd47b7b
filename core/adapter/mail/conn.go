package mail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/adapter/mail/imap"
	"gatewaytui/core/ops"
)

// conn is one connection to the mailbox, what handles its mails, and the sends of others. It implements adapter.Conn.
type conn struct {
	*bot.Life
	p        *Platform
	receiver adapter.Receiver
	log      *slog.Logger

	notices  *bot.Notices[chat]
	returned chan struct{} // closed when run has returned
	chats    adapter.Chats[chat]
	at       atomic.Int64 // when the server last said something, in Unix nanoseconds
	// validity is the UIDVALIDITY of the folder.
	validity uint32
}

func newConn(p *Platform, r adapter.Receiver) *conn {
	c := &conn{Life: bot.NewLife(), p: p, receiver: r, log: p.log, returned: make(chan struct{})}
	c.notices = bot.NewNotices[chat](bot.NoticeOptions{
		Life: c.Life, Limit: p.notice, Send: c.Send, Door: r, Log: p.log, Unanswered: &p.unanswered,
		Refused: ops.LogMailRefused, Failed: ops.LogMailNotice, Panicked: ops.LogMailPanic,
	})
	return c
}

// Connect implements adapter.Platform. When it returns without an error, both servers have taken the login.
//
// The errors are of adapter's types: a *CredentialsError that names PasswordSource for a login that a server refuses, a
// *RateLimitError. Others are worth a retry.
func (p *Platform) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	switch {
	case p.o.Password == "":
		return nil, &adapter.CredentialsError{Variable: p.o.PasswordSource}
	case address(p.o.Address) == "":
		return nil, fmt.Errorf("%.80q is not an address: set adapters.mail.address to the address of the bot", p.o.Address)
	}
	if err := p.submitting(ctx, func(submission) error { return nil }); err != nil {
		if login, is := errors.AsType[*adapter.CredentialsError](err); is {
			return nil, login
		}
		return nil, err
	}
	c := newConn(p, r)
	box, err := c.open(ctx, false)
	if err != nil {
		return nil, err
	}
	go c.run(box)
	go c.notices.Usher()
	return c, nil
}

// open logs in to the IMAP server and opens the folder. The caller closes what it returns.
func (c *conn) open(ctx context.Context, readOnly bool) (*imap.Client, error) {
	p := c.p
	ctx, cancel := context.WithTimeout(ctx, p.call)
	defer cancel()
	raw, host, secure, err := p.dialed(ctx, p.o.IMAP, "993")
	if err != nil {
		return nil, p.failed("connect", p.o.IMAP, ended(ctx, err))
	}
	box, err := imap.New(ctx, heard{raw, &c.at})
	if err != nil {
		return nil, p.failed("greet", p.o.IMAP, err)
	}
	if secure == upgraded {
		if err := box.StartTLS(ctx, p.tlsFor(host)); err != nil {
			box.Close()
			return nil, p.failed("encrypt", p.o.IMAP, err)
		}
	}
	if err := box.Login(ctx, p.o.User, p.o.Password); err != nil {
		box.Close()
		return nil, p.loginError(err)
	}
	validity, err := box.Select(ctx, p.o.Folder, readOnly)
	if err != nil {
		box.Close()
		return nil, p.failed(fmt.Sprintf("open the folder %.80q", p.o.Folder), p.o.IMAP, err)
	}
	if !readOnly {
		c.validity = validity
	} else if validity != c.validity {
		box.Close()
		return nil, &adapter.RefusedError{Why: "the folder was made again, and the file is gone"}
	}
	return box, nil
}

// loginError says what a refused login means (RFC 5530).
func (p *Platform) loginError(err error) error {
	failed := p.failed("log in", p.o.IMAP, err)
	refused, is := errors.AsType[*imap.StatusError](err)
	switch {
	case !is || refused.Status != "NO":
		return failed
	case refused.Code == "LIMIT":
		return &adapter.RateLimitError{RetryAfter: wait}
	case refused.Code == "UNAVAILABLE" || refused.Code == "INUSE" || refused.Code == "SERVERBUG":
		return failed
	}
	return p.credentials("the IMAP server refuses the login: %s", failed)
}

// LastInbound implements adapter.Conn: when the IMAP server last said something.
func (c *conn) LastInbound() time.Time { return time.Unix(0, c.at.Load()) }

// CancelTasks implements adapter.Conn: it ends the connection to the mailbox, with the Receive and the notice that may be under way, and
// the notices to unknown users, and waits for both. Sends go on. Twice is harmless.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.EndTasks()
	if err := adapter.Await(ctx, c.returned, "a mail that is being taken"); err != nil {
		return err
	}
	return c.notices.Await(ctx)
}

// Disconnect implements adapter.Conn: it ends the sends and waits for all of it. From its beginning on no Send begins. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	c.EndCalls()
	if err := c.CancelTasks(ctx); err != nil {
		return err
	}
	return c.Alone(ctx, func() error { return nil })
}

// run handles the mails, one after the other, until tasks ends or the connection to the mailbox does.
func (c *conn) run(box *imap.Client) {
	defer close(c.returned)
	defer box.Close()
	for {
		err := c.round(box)
		if c.Tasks.Err() != nil {
			return
		}
		if err != nil {
			c.Fail(err)
			return
		}
	}
}

// round handles the mails that are there, and waits for others.
func (c *conn) round(box *imap.Client) error {
	began := time.Now()
	var uids []uint32
	err := c.within(c.p.call, func(ctx context.Context) (err error) {
		uids, err = box.Unseen(ctx, time.Now().Add(-c.p.old))
		return err
	})
	if err != nil {
		return c.p.failed("search", c.p.o.IMAP, err)
	}
	for _, uid := range uids {
		if err := c.take(box, uid); err != nil {
			return err
		}
	}
	if idles(box) {
		err = c.within(c.p.idle+c.p.call, func(ctx context.Context) error { return box.Idle(ctx, c.p.idle) })
	} else if c.Sleep(c.p.poll) {
		err = c.within(c.p.call, box.Noop)
	}
	if err != nil {
		return c.p.failed("wait for mails", c.p.o.IMAP, err)
	}
	c.Sleep(c.p.pause - time.Since(began))
	return nil
}

// idles reports whether the server tells of mails as they arrive.
func idles(box *imap.Client) bool { return box.Can("IDLE") || box.Can("IMAP4REV2") }

// within runs a command of the mailbox for at most d.
func (c *conn) within(d time.Duration, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(c.Tasks, d)
	defer cancel()
	return f(ctx)
}

// take handles one mail and marks it as read.
func (c *conn) take(box *imap.Client, uid uint32) error {
	place := fmt.Sprintf("%d/%d", c.validity, uid)
	most := c.p.handled.most(place)
	var e event
	var found bool
	err := c.within(c.p.read, func(ctx context.Context) (err error) {
		found, err = box.Fetch(ctx, uid, most, func(r io.Reader) { e = c.p.parse(r, place) })
		return err
	})
	if err != nil {
		return c.p.failed("read a mail", c.p.o.IMAP, err)
	}
	if !found {
		return nil
	}
	if !c.p.handled.has(e.name) {
		if err := c.handle(e); err != nil {
			return err
		}
		c.p.handled.add(e.name)
	}
	if err := c.within(c.p.call, func(ctx context.Context) error { return box.MarkSeen(ctx, uid) }); err != nil {
		return c.p.failed("mark a mail as read", c.p.o.IMAP, err)
	}
	return nil
}

// fileRef is the name of the file with this number, from 1, of the mail at this place.
func fileRef(place string, n int) string { return place + "/" + strconv.Itoa(n) }

// Fetch implements adapter.Fetcher. It has a connection of its own, because that of the mails waits.
func (c *conn) Fetch(ctx context.Context, ref string, most int64) (content []byte, err error) {
	parts := strings.Split(ref, "/")
	var numbers [3]uint32
	for i, s := range parts {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil || len(parts) != len(numbers) {
			return nil, &adapter.RefusedError{Why: "the name of the file is not one of a mail"}
		}
		numbers[i] = uint32(n)
	}
	if numbers[0] != c.validity {
		return nil, &adapter.RefusedError{Why: "the folder was made again, and the file is gone"}
	}
	err = c.While(ctx, func(ctx context.Context) error {
		box, err := c.open(ctx, true)
		if err != nil {
			return err
		}
		defer box.Close()
		ctx, cancel := context.WithTimeout(ctx, c.p.read)
		defer cancel()
		var has bool
		found, err := box.Fetch(ctx, numbers[1], maxMail, func(r io.Reader) { content, has = fileOf(r, int(numbers[2]), most) })
		switch {
		case err != nil:
			return c.p.failed("read a file", c.p.o.IMAP, err)
		case !found || !has:
			return &adapter.RefusedError{Why: "the file is gone"}
		case int64(len(content)) > most:
			content = nil
			return bot.TooLarge(most)
		}
		return nil
	})
	return content, err
}
