package feishu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/adapter/feishu/longconn"
	"gatewaytui/core/ops"
)

const (
	// maxWaiting bounds the events that wait while one is handled, and patience how long the socket is not read where there are
	// more. Then the connection ends, and Feishu sends them again.
	maxWaiting = 1024
	patience   = 20 * time.Second
	// writeTimeout bounds one write of a frame.
	writeTimeout = 5 * time.Second
)

// conn is one long connection, what handles its events, and the sends of others. It implements adapter.Conn.
//
// listen reads the socket and knock sends the pings, while run handles one event after the other.
type conn struct {
	*bot.Life
	p        *Platform
	api      *api
	me       string
	receiver adapter.Receiver
	log      *slog.Logger

	notices  *bot.Notices[address]
	returned chan struct{} // closed when run has returned
	events   chan incoming
	chats    adapter.Chats[address]

	// line is the life of the socket, which may be over before that of the sends.
	line    context.Context
	hangUp  context.CancelFunc
	socket  *websocket.Conn
	service int32
	workers sync.WaitGroup // listen and knock, and with them all that the socket has
	heard   chan struct{}  // closed when they have returned
	joined  chan struct{}  // closed with the first frame
	frame   atomic.Int64   // when a frame last came, in Unix nanoseconds
	ping    atomic.Int64   // the time between two pings
	paced   chan struct{}  // of one: that time is another one now
}

// incoming is an event with the last of its frames, which is what is acknowledged.
type incoming struct {
	frame   longconn.Frame
	payload []byte
}

func newConn(p *Platform, api *api, r adapter.Receiver, me string) *conn {
	c := &conn{
		Life: bot.NewLife(), p: p, api: api, me: me, receiver: r, log: p.log,
		returned: make(chan struct{}), heard: make(chan struct{}), joined: make(chan struct{}), paced: make(chan struct{}, 1), events: make(chan incoming, maxWaiting),
	}
	c.notices = bot.NewNotices[address](bot.NoticeOptions{
		Life: c.Life, Limit: p.notice, Send: c.Send, Door: r, Log: p.log, Unanswered: &p.unanswered,
		Refused: ops.LogFeishuMessageRefused, Failed: ops.LogFeishuNotice, Panicked: ops.LogFeishuPanic,
	})
	c.line, c.hangUp = context.WithCancel(c.Calls)
	return c
}

// dial opens the socket. Its network connection closes with the line, also in the middle of a handshake.
func (c *conn) dial(ctx context.Context, at endpoint) error {
	ctx, cancel := context.WithTimeout(ctx, c.p.call)
	defer cancel()
	dial := c.p.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	client := bot.Client(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			context.AfterFunc(c.line, func() { _ = conn.Close() }) // it is over in any case
		}
		return conn, err
	})
	socket, resp, err := websocket.Dial(ctx, at.url, &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		return c.api.unwelcome(resp, err)
	}
	socket.SetReadLimit(maxFrame)
	c.socket, c.service = socket, at.service
	c.ping.Store(int64(at.ping))
	return nil
}

// start begins the work of the connection, once it has its socket.
func (c *conn) start() {
	c.workers.Go(c.listen)
	c.workers.Go(c.knock)
	go func() {
		c.workers.Wait()
		close(c.heard)
	}()
	go c.run()
	go c.notices.Usher()
}

// over ends the socket for a reason.
func (c *conn) over(err error) {
	if c.line.Err() == nil {
		c.Fail(err)
	}
	c.hangUp()
}

// listen reads what comes until the socket has ended.
func (c *conn) listen() {
	defer func() { _ = c.socket.CloseNow() }() // it is over in any case
	var torn joiner
	for {
		kind, text, err := c.next()
		if err != nil {
			c.over(err)
			return
		}
		if kind != websocket.MessageBinary {
			continue
		}
		now := time.Now()
		if c.frame.Swap(now.UnixNano()) == 0 {
			close(c.joined)
		}
		f, err := longconn.Read(text)
		if err != nil {
			c.log.Warn(ops.LogFeishuEventUnreadable, "type", "frame", "error", c.api.Why(err))
			continue
		}
		if f.Method == longconn.Control {
			c.answered(f)
			continue
		}
		payload, whole := torn.join(f, now)
		if !whole {
			continue
		}
		if err := c.queue(incoming{f, payload}); err != nil {
			c.over(err)
			return
		}
	}
}

// next reads one message of the socket.
func (c *conn) next() (websocket.MessageType, []byte, error) {
	quiet := silence(time.Duration(c.ping.Load()))
	ctx, cancel := context.WithTimeout(c.line, quiet)
	defer cancel()
	kind, text, err := c.socket.Read(ctx)
	switch {
	case err == nil:
		return kind, text, nil
	case ctx.Err() != nil && c.line.Err() == nil:
		return 0, nil, fmt.Errorf("nothing came from Feishu for %s", quiet)
	}
	return 0, nil, fmt.Errorf("the connection broke off: %s", c.api.Why(err))
}

// answered takes a control frame. The answer to a ping may say how often the next ones come.
func (c *conn) answered(f longconn.Frame) {
	var config clientConfig
	if f.Header(longconn.HeaderType) != longconn.TypePong || len(f.Payload) == 0 || decode(f.Payload, &config) != nil {
		return
	}
	every := config.interval(c.p.ping)
	if every == 0 || c.ping.Swap(int64(every)) == int64(every) {
		return
	}
	select {
	case c.paced <- struct{}{}:
	default:
	}
}

// queue has run handle an event.
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

// knock sends a ping now and then, until the socket has ended.
func (c *conn) knock() {
	for {
		if err := c.write(c.line, longconn.Ping(c.service).Marshal()); err != nil {
			c.over(err)
			return
		}
		if !c.rest() {
			return
		}
	}
}

// rest waits for the time of the next ping, and reports whether the socket lasted. Where Feishu asks for another time in between, that
// one begins: the answer to a ping may come before or after the wait has.
func (c *conn) rest() bool {
	for {
		timer := time.NewTimer(time.Duration(c.ping.Load()))
		select {
		case <-timer.C:
			return true
		case <-c.paced:
			timer.Stop()
		case <-c.line.Done():
			timer.Stop()
			return false
		}
	}
}

// write sends one frame. A peer that takes none ends the connection.
func (c *conn) write(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := c.socket.Write(ctx, websocket.MessageBinary, text); err != nil {
		return fmt.Errorf("write a frame: %s", c.api.Why(err))
	}
	return nil
}

// LastInbound implements adapter.Conn: when Feishu last sent a frame.
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
// no Send begins. What was not acknowledged comes again with the next connection. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	c.EndCalls()
	defer c.api.close()
	if err := c.CancelTasks(ctx); err != nil {
		return err
	}
	if err := adapter.Await(ctx, c.heard, "the reader of the long connection"); err != nil {
		return err
	}
	return c.Alone(ctx, func() error { return nil })
}
