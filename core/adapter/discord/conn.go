package discord

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/ops"
)

const (
	// maxWaiting bounds the events that wait while one is handled, and patience how long the socket is not read where there are
	// more, which is less than Discord waits for a heartbeat. Then the connection ends, and they come again with the next.
	maxWaiting = 1024
	patience   = 20 * time.Second
)

// conn is one gateway connection, what handles its events, and the sends of others. It implements adapter.Conn.
//
// listen reads the socket and beat sends heartbeats, while run handles one event after the other.
type conn struct {
	*bot.Life
	p        *Platform
	api      *api
	receiver adapter.Receiver
	log      *slog.Logger
	socket   *websocket.Conn

	notices  *bot.Notices[id]
	returned chan struct{} // closed when run has returned
	events   chan incoming

	// line is the life of the socket, which may be over before that of the sends.
	line   context.Context
	hangUp context.CancelFunc
	heard  chan struct{} // closed when listen has returned, and with it all that the socket has
	beats  sync.WaitGroup
	chats  adapter.Chats[id]
	frame  atomic.Int64 // when a frame last came, in Unix nanoseconds

	seq     atomic.Int64 // of the last event that came
	awaited atomic.Bool  // a heartbeat was not answered yet

	// session is written by listen before joined is closed, and greeted is listen's own: the gateway has said hello.
	session resumable
	joined  chan struct{}
	greeted bool
}

// incoming is an event of the session; one with neither a message nor a press only counts.
type incoming struct {
	seq   int64
	event any
}

func newConn(p *Platform, api *api, r adapter.Receiver, from resumable) *conn {
	c := &conn{
		Life: bot.NewLife(), p: p, api: api, receiver: r, log: p.log, session: from,
		returned: make(chan struct{}), heard: make(chan struct{}), joined: make(chan struct{}), events: make(chan incoming, maxWaiting),
	}
	c.notices = bot.NewNotices[id](bot.NoticeOptions{
		Life: c.Life, Limit: p.notice, Send: c.Send, Door: r, Log: p.log, Unanswered: &p.unanswered,
		Refused: ops.LogDiscordMessageRefused, Failed: ops.LogDiscordNotice, Panicked: ops.LogDiscordPanic,
	})
	c.line, c.hangUp = context.WithCancel(c.Calls)
	return c
}

// hear takes one frame. Its error is why the connection is over.
func (c *conn) hear(f frame) error {
	switch f.Op {
	case opDispatch:
		return c.dispatched(f)
	case opHeartbeat:
		return c.heartbeat()
	case opHeartbeatAck:
		c.awaited.Store(false)
	case opReconnect:
		return errors.New("the gateway of Discord asked for a new connection")
	}
	switch said := f.event.(type) {
	case *hello:
		return c.greet(said.every())
	case *invalid:
		if !bool(*said) || !c.hasJoined() { // a session that was refused once is not tried again
			c.p.session.drop(c.session.id)
		}
		return errors.New("the session is over for Discord")
	}
	return nil
}

// dispatched takes an event of the session.
func (c *conn) dispatched(f frame) error {
	c.seq.Store(max(c.seq.Load(), f.Seq))
	switch said := f.event.(type) {
	case *ready:
		if c.hasJoined() || said.Session == "" {
			return errors.New("the gateway of Discord began no session, or a second one")
		}
		c.session = resumable{id: said.Session, url: said.Resume, me: said.User.ID, app: said.App.ID, seq: f.Seq}
		c.seq.Store(f.Seq)
		c.p.session.begin(c.session)
		close(c.joined)
	case *resumed:
		if !c.hasJoined() && c.session.id != "" {
			close(c.joined)
		}
	}
	return c.queue(incoming{f.Seq, f.event})
}

// queue hands an event to run. Where too many wait, the socket is not read for a moment.
func (c *conn) queue(in incoming) error {
	select {
	case c.events <- in:
		return nil
	default:
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case c.events <- in:
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

// LastInbound implements adapter.Conn: when the gateway last sent a frame.
func (c *conn) LastInbound() time.Time { return time.Unix(0, c.frame.Load()) }

// CancelTasks implements adapter.Conn: it ends the handling of events, with the Receive and the notice that may be under way, and
// the notices to unknown users, and waits for both. Sends go on. Twice is harmless.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.EndTasks()
	if err := adapter.Await(ctx, c.returned, "a message that is being taken"); err != nil {
		return err
	}
	return c.notices.Await(ctx)
}

// Disconnect implements adapter.Conn: it closes the socket at once, ends the sends, and waits for all of it. From its beginning on
// no Send begins. The session stays, so that the next connection of this life goes on with it. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	c.EndCalls()
	defer c.api.close()
	if err := c.CancelTasks(ctx); err != nil {
		return err
	}
	if err := adapter.Await(ctx, c.heard, "the gateway's reader"); err != nil {
		return err
	}
	return c.Alone(ctx, func() error { return nil })
}

// run handles the events, one after the other, until tasks ends or one cannot be handled.
func (c *conn) run() {
	defer close(c.returned)
	for {
		select {
		case <-c.Tasks.Done():
			return
		case in := <-c.events:
			if c.Tasks.Err() != nil {
				return
			}
			if err := c.take(in.event); err != nil {
				if c.Tasks.Err() == nil {
					c.Fail(err)
				}
				return
			}
			c.p.session.handled(c.session.id, in.seq)
		}
	}
}

// take handles one event. The event is handled if take returns no error.
func (c *conn) take(from any) error {
	switch from := from.(type) {
	case *message:
		return c.handle(from.read(c.session.me))
	case *change:
		return c.handle(from.read(c.session.me))
	case *interaction:
		e := from.read()
		if e.kind == readable && c.receiver.Admits(e.sender()) {
			c.acknowledge(from)
		}
		return c.handle(e)
	case *other:
		if from.wrong != nil {
			c.log.Warn(ops.LogDiscordEventUnreadable, "type", from.kind, "error", c.api.Why(from.wrong))
		}
	}
	return nil
}
