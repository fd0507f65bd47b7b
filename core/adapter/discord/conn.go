package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/diamondburned/arikawa/v3/gateway"
	"github.com/diamondburned/arikawa/v3/utils/ws"
	"golang.org/x/sync/semaphore"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

const (
	// maxSends is a number that is never reached: Supervisor lets fewer through.
	maxSends = math.MaxInt32
	// maxWaiting bounds the events that wait while one is handled, and patience how long the socket is not read where there are
	// more, which is less than Discord waits for a heartbeat. Then the connection ends, and they come again with the next.
	maxWaiting = 1024
	patience   = 20 * time.Second
)

// conn is one gateway connection, what handles its events, and the sends of others. It implements adapter.Conn.
//
// listen reads the socket, so that the heartbeat goes on while run handles one event after the other.
type conn struct {
	p        *Platform
	api      *api
	receiver adapter.Receiver
	log      *slog.Logger
	socket   *socket

	// tasks is the life of run and usher; CancelTasks ends it. No caller's context bounds it.
	tasks    context.Context
	cancel   context.CancelFunc
	returned chan struct{} // closed when run has returned
	ushered  chan struct{} // the same of usher
	events   chan incoming
	notices  chan event // unknown users who wait for an answer

	// life is that of the sends; Disconnect ends it, later than tasks. line is that of the socket, which may be over before.
	life   context.Context
	leave  context.CancelFunc
	line   context.Context
	hangUp context.CancelFunc
	heard  chan struct{} // closed when listen has returned, and with it all that the socket has
	// sends counts those under way. The holder of all of it, a Disconnect, knows that there are none, and that none can begin.
	sends *semaphore.Weighted
	chats adapter.Chats[id]

	// ended ends when the connection does without a Disconnect; its cause says why.
	ended context.Context
	fail  context.CancelCauseFunc
	frame atomic.Int64 // when a frame last came, in Unix nanoseconds

	// session is written by listen before joined is closed.
	session resumable
	joined  chan struct{}

	// What belongs to run alone.
	refusing   map[id]string // the last notice to a channel, if it covers the next messages as well
	quietUntil time.Time     // no notices that are merely polite before then
}

// incoming is an event of the session; one with neither a message nor a press only counts.
type incoming struct {
	seq   int64
	event ws.Event
}

func newConn(p *Platform, api *api, r adapter.Receiver, from resumable) *conn {
	c := &conn{
		p: p, api: api, receiver: r, log: p.log, session: from,
		returned: make(chan struct{}), ushered: make(chan struct{}), heard: make(chan struct{}), joined: make(chan struct{}),
		events: make(chan incoming, maxWaiting), notices: make(chan event, maxNotices),
		sends: semaphore.NewWeighted(maxSends), refusing: map[id]string{},
	}
	c.tasks, c.cancel = context.WithCancel(context.Background())
	c.life, c.leave = context.WithCancel(context.Background())
	c.ended, c.fail = context.WithCancelCause(context.Background())
	c.line, c.hangUp = context.WithCancel(c.life)
	c.socket = newSocket(c.line, p.dial, p.call)
	return c
}

// listen reads what the gateway sends until the library has ended, and ends it where the connection is over.
func (c *conn) listen(ops <-chan ws.Op) {
	defer close(c.heard)
	defer c.socket.reader.Wait()
	over := func(err error) {
		if c.line.Err() == nil {
			c.fail(err)
		}
		c.hangUp()
	}
	for op := range ops {
		if op.Code >= 0 {
			c.frame.Store(time.Now().UnixNano())
		}
		if err := c.hear(op); err != nil {
			over(err)
		}
	}
	over(errors.New("the gateway ended"))
}

// hear takes one frame. Its error is why the connection is over.
func (c *conn) hear(op ws.Op) error {
	switch data := op.Data.(type) {
	case *ws.CloseEvent:
		return c.closed(data)
	case *ws.BackgroundErrorEvent:
		return fmt.Errorf("the gateway failed: %s", c.api.why(data.Err))
	case *gateway.ReconnectEvent:
		return errors.New("the gateway of Discord asked for a new connection")
	case *gateway.InvalidSessionEvent:
		c.p.session.drop(c.session.id)
		return errors.New("the session is over for Discord")
	case *ready:
		if c.hasJoined() || data.Session == "" {
			return errors.New("the gateway of Discord began no session, or a second one")
		}
		c.session = resumable{id: data.Session, url: data.Resume, me: data.User.ID, app: data.App.ID, seq: op.Sequence}
		c.p.session.begin(c.session)
		close(c.joined)
	case *gateway.ResumedEvent:
		if !c.hasJoined() && c.session.id != "" {
			close(c.joined)
		}
	}
	if op.Code != dispatch {
		return nil
	}
	select {
	case c.events <- incoming{op.Sequence, op.Data}:
		return nil
	default:
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case c.events <- incoming{op.Sequence, op.Data}:
		return nil
	case <-c.line.Done():
		return errors.New("the connection is closed")
	case <-limit.C:
		return fmt.Errorf("%d messages wait to be taken", maxWaiting)
	}
}

func (c *conn) hasJoined() bool {
	select {
	case <-c.joined:
		return true
	default:
		return false
	}
}

// Done implements adapter.Conn.
func (c *conn) Done() <-chan struct{} { return c.ended.Done() }

// Err implements adapter.Conn: why the connection ended without a Disconnect; nil while it has not.
func (c *conn) Err() error { return context.Cause(c.ended) }

// LastInbound implements adapter.Conn: when the gateway last sent a frame.
func (c *conn) LastInbound() time.Time { return time.Unix(0, c.frame.Load()) }

// sleep waits and reports whether tasks lasted.
func (c *conn) sleep(d time.Duration) bool {
	return adapter.Await(c.tasks, time.After(d), "the next call") == nil && c.tasks.Err() == nil
}

// CancelTasks implements adapter.Conn: it ends the handling of events, with the Receive and the notice that may be under way, and
// the notices to unknown users, and waits for both. Sends go on. Twice is harmless.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.cancel()
	if err := adapter.Await(ctx, c.returned, "a message that is being taken"); err != nil {
		return err
	}
	return adapter.Await(ctx, c.ushered, "a notice to an unknown user")
}

// Disconnect implements adapter.Conn: it closes the socket at once, ends the sends, and waits for all of it. From its beginning on
// no Send begins. The session stays, so that the next connection of this life goes on with it. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	c.leave()
	defer c.api.close()
	if err := c.CancelTasks(ctx); err != nil {
		return err
	}
	if err := adapter.Await(ctx, c.heard, "the gateway's reader"); err != nil {
		return err
	}
	if err := c.sends.Acquire(ctx, maxSends); err != nil {
		return fmt.Errorf("wait for sends: %w", err)
	}
	c.sends.Release(maxSends)
	return nil
}

// run handles the events, one after the other, until tasks ends or one cannot be handled.
func (c *conn) run() {
	defer close(c.returned)
	for {
		select {
		case <-c.tasks.Done():
			return
		case in := <-c.events:
			if c.tasks.Err() != nil {
				return
			}
			if err := c.take(in.event); err != nil {
				if c.tasks.Err() == nil {
					c.fail(err)
				}
				return
			}
			c.p.session.handled(c.session.id, in.seq)
		}
	}
}

// take handles one event. The event is handled if take returns no error.
func (c *conn) take(from ws.Event) error {
	switch from := from.(type) {
	case *message:
		return c.handle(from.read(c.session.me))
	case *change:
		return c.handle(from.read(c.session.me))
	case *interaction:
		e := from.read()
		if e.kind == readable && c.p.allows(e.user) {
			c.acknowledge(from)
		}
		return c.handle(e)
	case *other:
		if from.wrong != nil {
			c.log.Warn(ops.LogDiscordEventUnreadable, "type", string(from.kind), "error", c.api.why(from.wrong))
		}
	}
	return nil
}
