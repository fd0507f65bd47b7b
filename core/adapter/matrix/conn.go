package matrix

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

// conn is one connection of the bot: a loop of /sync, the notices to unknown users, and the sends of others. It implements
// adapter.Conn.
type conn struct {
	*bot.Life
	p        *Platform
	api      *api
	me       mine
	filter   string
	receiver adapter.Receiver
	log      *slog.Logger
	notices  *bot.Notices[address]
	returned chan struct{} // closed when the loop has returned

	synced atomic.Int64 // when a /sync last completed, in Unix nanoseconds
	chats  adapter.Chats[address]
	typing typing
}

func newConn(p *Platform, api *api, me mine, filter string, r adapter.Receiver) *conn {
	c := &conn{Life: bot.NewLife(), p: p, api: api, me: me, filter: filter, receiver: r, log: p.log, returned: make(chan struct{})}
	c.notices = bot.NewNotices[address](bot.NoticeOptions{
		Life: c.Life, Limit: p.notice, Send: c.Send, Door: r, Log: p.log, Unanswered: &p.unanswered,
		Refused: ops.LogMatrixMessageRefused, Failed: ops.LogMatrixNotice, Panicked: ops.LogMatrixPanic,
	})
	return c
}

// LastInbound implements adapter.Conn: when a /sync was last answered.
func (c *conn) LastInbound() time.Time { return time.Unix(0, c.synced.Load()) }

// CancelTasks implements adapter.Conn: it ends the loop, with the Receive and the notice that may be under way in it, and the
// notices to unknown users, and waits for both. Sends go on. Twice is harmless.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.EndTasks()
	if err := adapter.Await(ctx, c.returned, "the loop of /sync"); err != nil {
		return err
	}
	return c.notices.Await(ctx)
}

// Disconnect implements adapter.Conn: it ends the loop and the sends, waits for them, and closes the sockets. It gives the
// homeserver the place of the last batch. From its beginning on no Send begins. An error of that last call means only that the
// next life gets events again that it does not need. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	c.EndTasks()
	c.EndCalls()
	defer c.api.close()
	if err := c.CancelTasks(ctx); err != nil {
		return err
	}
	return c.Alone(ctx, func() error {
		if _, is := errors.AsType[*adapter.CredentialsError](c.Err()); is {
			return nil
		}
		if err := c.keep(ctx, bot.LastCall(ctx, c.p.last), true); err != nil {
			return fmt.Errorf("keep the place of the last batch: %w", err)
		}
		return nil
	})
}
