package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"gatewaytui/core/adapter"
)

// maxSends is a number that is never reached: Supervisor lets fewer through.
const maxSends = math.MaxInt32

// conn is one life of the bot: a poll loop, the notices to unknown users, and the sends of others. It implements adapter.Conn.
type conn struct {
	p        *Platform
	api      *api
	me       self
	receiver adapter.Receiver
	log      *slog.Logger

	// tasks is the life of the poll loop, of what it has the Receiver do, and of usher; CancelTasks ends it. No caller's context
	// bounds it.
	tasks    context.Context
	cancel   context.CancelFunc
	returned chan struct{} // closed when the poll loop has returned

	// life is that of the sends; Disconnect ends it, later than tasks.
	life  context.Context
	leave context.CancelFunc
	// sends counts those under way. The holder of all of it, a Disconnect, knows that there are none, and that none can begin.
	sends *semaphore.Weighted

	// ended ends when the poll loop does without a Disconnect; its cause says why.
	ended  context.Context
	fail   context.CancelCauseFunc
	polled atomic.Int64 // when a poll last completed, in Unix nanoseconds

	// confirmed is the offset of the last poll that completed. It belongs to the poll loop until that has returned, and
	// to the holder of all sends from then on.
	confirmed int64

	chats adapter.Chats[address]

	// notices are the unknown users who wait for an answer; ushered is closed when usher, which sends it, has returned.
	notices chan event
	ushered chan struct{}

	// What belongs to the poll loop alone.
	refusing   map[address]string // the last notice to a chat, if it covers the next messages as well
	albums     albums
	quietUntil time.Time // no notices that are merely polite before then
}

func newConn(p *Platform, api *api, me self, r adapter.Receiver) *conn {
	c := &conn{
		p: p, api: api, me: me, receiver: r, log: p.log,
		returned: make(chan struct{}),
		sends:    semaphore.NewWeighted(maxSends), refusing: map[address]string{},
		notices: make(chan event, maxNotices), ushered: make(chan struct{}),
	}
	c.tasks, c.cancel = context.WithCancel(context.Background())
	c.life, c.leave = context.WithCancel(context.Background())
	c.ended, c.fail = context.WithCancelCause(context.Background())
	return c
}

// Done implements adapter.Conn. It stays open where CancelTasks ended the poll loop.
func (c *conn) Done() <-chan struct{} { return c.ended.Done() }

// Err implements adapter.Conn: why the poll loop ended without a Disconnect; nil while it has not.
func (c *conn) Err() error { return context.Cause(c.ended) }

// LastInbound implements adapter.Conn: when a getUpdates was last answered.
func (c *conn) LastInbound() time.Time { return time.Unix(0, c.polled.Load()) }

// polledAt notes that a poll with this offset completed.
func (c *conn) polledAt(offset int64) {
	c.confirmed = offset
	c.polled.Store(time.Now().UnixNano())
}

// sleep waits and reports whether tasks lasted.
func (c *conn) sleep(d time.Duration) bool {
	return adapter.Await(c.tasks, time.After(d), "the next call") == nil && c.tasks.Err() == nil
}

// CancelTasks implements adapter.Conn: it ends the poll loop, with the Receive and the notice that may be under way in it,
// and the notices to unknown users, and waits for both. Sends go on. Twice is harmless.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.cancel()
	return c.awaitTasks(ctx)
}

// awaitTasks waits for the goroutines that tasks ends.
func (c *conn) awaitTasks(ctx context.Context) error {
	if err := adapter.Await(ctx, c.returned, "the poll loop"); err != nil {
		return err
	}
	return adapter.Await(ctx, c.ushered, "a notice to an unknown user")
}

// Disconnect implements adapter.Conn: it ends the poll loop and the sends, waits for them, and closes the sockets. It tells
// Telegram of the updates that were handled since the last poll, so that the next life does not get them again. From its
// beginning on no Send begins, with or without an error. An error of the last getUpdates means only that the next connection
// gets those updates again. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	c.cancel()
	c.leave()
	defer c.api.close()
	if err := c.awaitTasks(ctx); err != nil {
		return err
	}
	if err := c.sends.Acquire(ctx, maxSends); err != nil {
		return fmt.Errorf("wait for sends: %w", err)
	}
	defer c.sends.Release(maxSends)
	return c.confirm(ctx)
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
	ctx, cancel := context.WithTimeout(ctx, c.p.confirm)
	defer cancel()
	if _, err := c.api.updates(ctx, offset, 0); err != nil {
		return fmt.Errorf("confirm the last updates: %w", err)
	}
	c.polledAt(offset)
	return nil
}
