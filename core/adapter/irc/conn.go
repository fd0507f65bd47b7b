package irc

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/ops"
)

const (
	// maxOut bounds the lines that wait to be written, maxIn the messages that wait to be handled.
	maxOut = 256
	maxIn  = 1024
	// lastWord bounds the last message to a server, and the wait for the end that it causes. A stop may give an adapter a second in all.
	lastWord = 300 * time.Millisecond
)

// conn is one connection to the server, what handles its messages, and the sends of others. It implements adapter.Conn.
type conn struct {
	*bot.Life
	p        *Platform
	receiver adapter.Receiver
	log      *slog.Logger
	words    bot.Words

	// raw is the connection without its encryption, line the one that is spoken over. shut ends when they do.
	raw, line net.Conn
	shut      context.Context
	end       context.CancelFunc
	both      sync.WaitGroup // what reads, writes and looks
	gone      chan struct{}  // closed when nothing reads any more

	out      chan string
	in       chan event
	at       atomic.Int64 // when the server last said something, in Unix nanoseconds
	notices  *bot.Notices[chat]
	returned chan struct{} // closed when run has returned
	chats    adapter.Chats[chat]
	leaves   atomic.Bool   // the bot ends the connection
	speaks   chan struct{} // of one: who waits for a confirmation
	pace     pace

	// mu is held for moments, and never over I/O.
	mu    sync.Mutex
	begin *beginning // nil: the server has let the bot in
	nick  string     // as the server has it
	host  string     // user@host of the bot, as the server has it; empty: not known
	caps  map[string]bool
	rooms rooms
	waits *confirmation
}

func newConn(p *Platform, r adapter.Receiver) *conn {
	c := &conn{
		Life: bot.NewLife(), p: p, receiver: r, log: p.log, words: bot.NewWords(p.o.Password), gone: make(chan struct{}),
		out: make(chan string, maxOut), in: make(chan event, maxIn), returned: make(chan struct{}), speaks: make(chan struct{}, 1),
		nick: p.o.Nick, caps: map[string]bool{}, rooms: newRooms(p.o.Channels), pace: pace{limits: p.limits},
	}
	c.shut, c.end = context.WithCancel(context.Background())
	c.notices = bot.NewNotices[chat](bot.NoticeOptions{
		Life: c.Life, Limit: p.notice, Send: c.Send, Door: r, Log: p.log, Unanswered: &p.unanswered,
		Refused: ops.LogIRCRefused, Failed: ops.LogIRCNotice, Panicked: ops.LogIRCPanic,
	})
	return c
}

// Connect implements adapter.Platform. When it returns without an error, the server has let the bot in.
//
// The errors are of adapter's types: a *CredentialsError that names PasswordSource for a password that the server refuses, a
// *ConflictError for a nick that is in use. Others are worth a retry.
func (p *Platform) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	c := newConn(p, r)
	if err := c.open(ctx, false); err != nil {
		return nil, err
	}
	c.mu.Lock()
	for _, name := range c.rooms.missing(time.Now(), p.limits) {
		c.push("JOIN " + name)
	}
	c.mu.Unlock()
	p.last.Store(c)
	c.both.Go(c.look)
	go c.run()
	go c.notices.Usher()
	return c, nil
}

// open connects and has the server let the bot in; only looks has it log in, where the server has accounts, and go no further.
func (c *conn) open(ctx context.Context, only bool) error {
	if err := c.dial(ctx); err != nil {
		return err
	}
	done := make(chan error, 1)
	c.begin = &beginning{only: only, done: done, offered: map[string]string{}}
	c.heard()
	c.both.Go(c.write)
	c.both.Go(c.read)
	c.locked(func() { c.push("CAP LS 302") })
	defer time.AfterFunc(c.p.legacy, func() { c.locked(c.unheard) }).Stop()
	var err error
	select {
	case err = <-done:
	case <-c.Done():
		err = c.Err()
	case <-ctx.Done():
		err = c.failed("begin", ctx.Err())
	}
	if err != nil {
		c.cut() // a server that has not let the bot in gets no QUIT: one that is silent would be waited for
	}
	return err
}

// locked runs f with mu.
func (c *conn) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// dial makes the connection.
func (c *conn) dial(ctx context.Context) error {
	p := c.p
	host, _, err := net.SplitHostPort(p.o.Server)
	if err != nil {
		return fmt.Errorf("%.80q is not host:port: set adapters.irc.server", p.o.Server)
	}
	if p.o.Plain && p.o.Password != "" && !local(host) {
		return errors.New("the password would go over the network in the clear: set adapters.irc.tls, or remove adapters.irc.password_env")
	}
	dial := p.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	if c.raw, err = dial(ctx, "tcp", p.o.Server); err != nil {
		return c.failed("connect", err)
	}
	c.line = c.raw
	if p.o.Plain {
		return nil
	}
	config := p.tls.Clone()
	config.ServerName = host
	secure := tls.Client(c.raw, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = c.raw.Close() // the handshake says what is wrong
		if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
			return c.failed("encrypt", errors.New("the server does not speak TLS on this port: take another port (mostly 6697)"))
		}
		return c.failed("encrypt", err)
	}
	c.line = secure
	return nil
}

// local reports whether host is this machine.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// failed is the error of a step with the server.
func (c *conn) failed(step string, err error) error {
	return &bot.CallError{Call: step + " at " + c.words.Clean(c.p.o.Server), Why: c.words.Why(err), Cause: err}
}

func (c *conn) heard() { c.at.Store(time.Now().UnixNano()) }

// LastInbound implements adapter.Conn: when the server last said something.
func (c *conn) LastInbound() time.Time { return time.Unix(0, c.at.Load()) }

// push has a line written, or ends the connection if too many wait. It does not wait.
func (c *conn) push(line string) {
	select {
	case c.out <- line:
	default:
		c.over(c.failed("write", errors.New("the server takes no lines")))
	}
}

// write writes the lines.
func (c *conn) write() {
	defer c.raw.Close()
	for {
		select {
		case <-c.shut.Done():
			return
		case line := <-c.out:
			err := c.line.SetWriteDeadline(time.Now().Add(c.p.call))
			if err == nil {
				_, err = io.WriteString(c.line, line+"\r\n")
			}
			if err != nil {
				c.fail("write", err)
				return
			}
		}
	}
}

// fail ends the connection, unless it was closed.
func (c *conn) fail(step string, err error) {
	if c.shut.Err() == nil {
		c.over(c.failed(step, err))
	}
	c.end()
}

// read reads the lines.
func (c *conn) read() {
	defer close(c.gone)
	defer c.end()
	lines := bufio.NewScanner(c.line)
	lines.Buffer(make([]byte, 0, 1024), maxLine)
	for {
		if err := c.line.SetReadDeadline(time.Now().Add(c.p.stale)); err != nil {
			c.fail("read", err)
			return
		}
		if !lines.Scan() {
			err := lines.Err()
			if err == nil {
				err = errors.New("the server closed the connection")
			}
			c.fail("read", err)
			return
		}
		c.heard()
		if m, err := parse(lines.Text()); err == nil {
			c.locked(func() { c.take(m) })
		}
	}
}

// look asks a server that is silent, and joins the channels that the bot is not in.
func (c *conn) look() {
	every := time.NewTicker(c.p.look)
	defer every.Stop()
	for {
		select {
		case <-c.shut.Done():
			return
		case now := <-every.C:
			c.locked(func() {
				if now.Sub(c.LastInbound()) >= c.p.quiet {
					c.push("PING :gatewaytui")
				}
				for _, name := range c.rooms.missing(now, c.p.limits) {
					c.push("JOIN " + name)
				}
			})
		}
	}
}

// close sends QUIT, waits a moment for the server to end the connection, which frees the nick, and ends it.
func (c *conn) close() {
	c.leaves.Store(true)
	if c.shut.Err() == nil {
		_ = c.line.SetWriteDeadline(time.Now().Add(lastWord)) // it is over either way
		if _, err := io.WriteString(c.line, "QUIT\r\n"); err == nil {
			select {
			case <-c.gone:
			case <-time.After(lastWord):
			}
		}
	}
	c.cut()
}

// cut ends the connection without a word, and waits for its goroutines.
func (c *conn) cut() {
	c.leaves.Store(true)
	c.end()
	_ = c.raw.Close() // it is over either way
	c.both.Wait()
}

// CancelTasks implements adapter.Conn: it ends the Receive and the notice that may be under way, and the notices to unknown users, and
// waits for both. Sends go on. Twice is harmless.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.EndTasks()
	if err := adapter.Await(ctx, c.returned, "a message that is being taken"); err != nil {
		return err
	}
	return c.notices.Await(ctx)
}

// Disconnect implements adapter.Conn: it ends the sends and waits for all of it. From its beginning on no Send begins. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	c.EndCalls()
	if err := c.CancelTasks(ctx); err != nil {
		c.end()
		_ = c.raw.Close() // the teardown is late already
		return err
	}
	return c.Alone(ctx, func() error { c.close(); return nil })
}
