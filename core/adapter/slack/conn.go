package slack

import (
	"context"
	"errors"
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
	// maxWaiting bounds the frames that wait while one is handled, and patience how long the socket is not read where there are
	// more, which is less than Slack waits for the answer to a ping. Then the connection ends, and they come again with the next.
	maxWaiting = 1024
	patience   = 20 * time.Second
)

// self is the bot: its user, and the workspace that it is in.
type self struct {
	User string `json:"user_id"`
	Team string `json:"team_id"`
}

// conn is one socket, what handles its frames, and the calls of others. It implements adapter.Conn.
//
// listen reads the socket and beat pings it, while run handles one frame after the other.
type conn struct {
	*bot.Life
	p        *Platform
	api      *api
	receiver adapter.Receiver
	log      *slog.Logger
	me       self
	socket   *websocket.Conn

	notices *bot.Notices[place]
	events  chan envelope

	// line is the life of the socket, which may be over before that of the sends.
	line   context.Context
	hangUp context.CancelFunc
	joined chan struct{} // closed when Slack has said hello
	// Each is closed when its goroutine has returned.
	returned, heard, beaten chan struct{}

	chats adapter.Chats[place]
	frame atomic.Int64 // when a frame last came, in Unix nanoseconds

	mu sync.Mutex
	// shows is guarded by mu: by channel, the message next to which a chat with one person shows that the bot works.
	shows map[string]string
}

func newConn(p *Platform, api *api, me self, r adapter.Receiver) *conn {
	c := &conn{
		Life: bot.NewLife(), p: p, api: api, receiver: r, log: p.log, me: me, shows: map[string]string{},
		returned: make(chan struct{}), heard: make(chan struct{}), beaten: make(chan struct{}), joined: make(chan struct{}),
		events: make(chan envelope, maxWaiting),
	}
	c.notices = bot.NewNotices[place](bot.NoticeOptions{
		Life: c.Life, Limit: p.notice, Send: c.Send, Door: r, Log: p.log, Unanswered: &p.unanswered,
		Refused: ops.LogSlackMessageRefused, Failed: ops.LogSlackNotice, Panicked: ops.LogSlackPanic,
	})
	c.line, c.hangUp = context.WithCancel(c.Calls)
	return c
}

func (c *conn) hasJoined() bool {
	select {
	case <-c.joined:
		return true
	default:
		return false
	}
}

// LastInbound implements adapter.Conn: when Slack last sent a frame.
func (c *conn) LastInbound() time.Time { return time.Unix(0, c.frame.Load()) }

// CancelTasks implements adapter.Conn: it ends the handling of frames, with the Receive and the notice that may be under way, and
// the notices to unknown users, and waits for both. Sends go on. Twice is harmless.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.EndTasks()
	if err := adapter.Await(ctx, c.returned, "a message that is being taken"); err != nil {
		return err
	}
	return c.notices.Await(ctx)
}

// Disconnect implements adapter.Conn: it closes the socket at once, ends the sends, and waits for all of it. From its beginning on
// no Send begins. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	c.EndCalls()
	defer c.api.close()
	c.p.ended.Store(time.Now().UnixNano())
	if err := c.CancelTasks(ctx); err != nil {
		return err
	}
	for _, ended := range []<-chan struct{}{c.heard, c.beaten} {
		if err := adapter.Await(ctx, ended, "the socket"); err != nil {
			return err
		}
	}
	return c.Alone(ctx, func() error { return nil })
}

// run handles the frames, one after the other, until tasks ends or one cannot be handled.
func (c *conn) run() {
	defer close(c.returned)
	for {
		select {
		case <-c.Tasks.Done():
			return
		case e := <-c.events:
			if c.Tasks.Err() != nil {
				return
			}
			if e.Type == "disconnect" { // what came before it is handled
				c.broke(errors.New("a new connection was asked for by Slack"))
				c.hangUp()
				return
			}
			if err := c.take(e); err != nil {
				if c.Tasks.Err() == nil {
					c.broke(err)
				}
				return
			}
		}
	}
}

// shared takes how many sockets of the app Slack counts as a connection begins. With another program's Slack gives each message to one
// of them alone, which the log says once in a connection. A connection of this life that ended a moment ago may still be counted: then
// what an earlier one found stands.
func (c *conn) shared(sockets int) {
	if sockets <= 1 {
		c.p.others.Store(0)
		return
	}
	if ended := c.p.ended.Load(); ended == 0 || time.Since(time.Unix(0, ended)) > c.p.settled {
		c.p.others.Store(int64(sockets - 1))
		c.log.Warn(ops.LogSlackShared, "sockets", sockets)
	}
}
