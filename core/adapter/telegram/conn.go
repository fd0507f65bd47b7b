package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/ops"
)

// conn is one connection of the bot: a poll loop, the notices to unknown users, and the sends of others. It implements adapter.Conn.
type conn struct {
	*bot.Life
	p        *Platform
	api      *api
	me       self
	receiver adapter.Receiver
	log      *slog.Logger
	notices  *bot.Notices[address]
	returned chan struct{} // closed when the poll loop has returned

	polled atomic.Int64 // when a poll last completed, in Unix nanoseconds
	// confirmed is the offset of the last poll that completed. It belongs to the poll loop until that has returned, and
	// to Disconnect from then on.
	confirmed int64

	chats  adapter.Chats[address]
	albums albums // of the poll loop alone
}

func newConn(p *Platform, api *api, me self, r adapter.Receiver) *conn {
	c := &conn{Life: bot.NewLife(), p: p, api: api, me: me, receiver: r, log: p.log, returned: make(chan struct{})}
	c.notices = bot.NewNotices[address](bot.NoticeOptions{
		Life: c.Life, Limit: p.notice, Send: c.Send, Door: r, Log: p.log, Unanswered: &p.unanswered,
		Refused: ops.LogTelegramMessageRefused, Failed: ops.LogTelegramNotice, Panicked: ops.LogTelegramPanic,
	})
	return c
}

// LastInbound implements adapter.Conn: when a getUpdates was last answered.
func (c *conn) LastInbound() time.Time { return time.Unix(0, c.polled.Load()) }

// polledAt notes that a poll with this offset completed.
func (c *conn) polledAt(offset int64) {
	c.confirmed = offset
	c.polled.Store(time.Now().UnixNano())
}

// CancelTasks implements adapter.Conn: it ends the poll loop, with the Receive and the notice that may be under way in it,
// and the notices to unknown users, and waits for both. Sends go on. Twice is harmless.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.EndTasks()
	return c.awaitTasks(ctx)
}

// awaitTasks waits for the goroutines that tasks ends.
func (c *conn) awaitTasks(ctx context.Context) error {
	if err := adapter.Await(ctx, c.returned, "the poll loop"); err != nil {
		return err
	}
	return c.notices.Await(ctx)
}

// Disconnect implements adapter.Conn: it ends the poll loop and the sends, waits for them, and closes the sockets. It tells
// Telegram of the updates that were handled since the last poll, so that the next life does not get them again. From its
// beginning on no Send begins, with or without an error. An error of the last getUpdates means only that the next connection
// gets those updates again. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	c.EndTasks()
	c.EndCalls()
	defer c.api.close()
	if err := c.awaitTasks(ctx); err != nil {
		return err
	}
	return c.Alone(ctx, func() error { return c.confirm(ctx) })
}

// confirm is the last getUpdates, if there is something to confirm. Where the connection ended over its token or because
// another consumer polls, it is left out: it would fail, or cut off the other consumer.
func (c *conn) confirm(ctx context.Context) error {
	offset := c.p.cursor.offset()
	if offset == c.confirmed {
		return nil
	}
	if _, is := errors.AsType[*adapter.ConflictError](c.Err()); is {
		return nil
	}
	if _, is := errors.AsType[*adapter.CredentialsError](c.Err()); is {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, bot.LastCall(ctx, c.p.confirm))
	defer cancel()
	if _, err := c.api.updates(ctx, offset, 0); err != nil {
		return fmt.Errorf("confirm the last updates: %w", err)
	}
	c.polledAt(offset)
	return nil
}
