package external

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/ops"
)

const (
	// readyMost is how long a program may take until it is ready.
	readyMost = 25 * time.Second
	// noticeMost bounds the answer to a message that was not taken, since those behind it wait for it.
	noticeMost = 20 * time.Second
	// endMost is how long a program may take to end by itself.
	endMost = time.Second
	// killMost is what the kill of a process tree may cost in addition to its grace.
	killMost = 2 * time.Second
	// lastWord bounds the last line to a program, which may not read it.
	lastWord = 300 * time.Millisecond
)

// conn is one run of the program. It implements adapter.Conn.
type conn struct {
	*bot.Life
	p        *Platform
	receiver adapter.Receiver
	log      *slog.Logger
	words    bot.Words
	run      *program
	// said is what the program can do. It is set before begun is closed, and not changed then.
	said  *profile
	begun chan struct{}

	// shut ends when the connection is taken down: nothing but stop is written from then on.
	shut context.Context
	end  context.CancelFunc
	all  sync.WaitGroup // what reads, writes, pings and watches

	unread  chan struct{} // closed when nothing reads any more
	out     chan *outgoing
	written chan struct{} // closed when nothing writes any more
	torn    bool          // a line was written in part; set before written is closed
	open    requests
	window  window
	in      chan *message
	heardAt atomic.Int64 // when the program last heard from its platform, in Unix nanoseconds

	notices  *bot.Notices[chat]
	returned chan struct{} // closed when take has returned
	chats    adapter.Chats[chat]

	closing sync.Once
	closed  chan struct{} // closed when close has returned left
	left    error
}

func newConn(p *Platform, run *program, r adapter.Receiver) *conn {
	c := &conn{
		Life: bot.NewLife(), p: p, receiver: r, log: p.log, words: p.words(), run: run, begun: make(chan struct{}),
		unread: make(chan struct{}), out: make(chan *outgoing, maxQueue), written: make(chan struct{}), open: newRequests(), window: newWindow(),
		in: make(chan *message, maxWaiting), returned: make(chan struct{}), closed: make(chan struct{}),
	}
	c.shut, c.end = context.WithCancel(context.Background()) // the caller of Connect ends before the connection
	c.notices = bot.NewNotices[chat](bot.NoticeOptions{
		Life: c.Life, Limit: noticeMost, Send: c.say, Door: r, Log: p.log, Unanswered: &p.unanswered,
		Refused: ops.LogExternalRefused, Failed: ops.LogExternalNotice, Panicked: ops.LogExternalPanic,
	})
	return c
}

// Connect implements adapter.Platform. When it returns without an error, the program is connected to its platform. After an error nothing
// of the program is left.
//
// The errors are of adapter's types: a *CredentialsError, a *ConflictError and a *RateLimitError as the program says. Others are worth a
// retry.
func (p *Platform) Connect(ctx context.Context, r adapter.Receiver) (adapter.Conn, error) {
	run, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	c := newConn(p, run, r)
	for _, work := range []func(){c.read, c.write, c.watch} {
		c.all.Go(work)
	}
	if err := c.begin(ctx); err != nil {
		// ctx may have ended, and the program must end all the same.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endMost+p.o.KillGrace+killMost)
		defer cancel()
		if left := c.close(end); left != nil {
			err = fmt.Errorf("%w; %w", err, left)
		}
		return nil, err
	}
	p.said.Store(c.said)
	c.all.Go(c.ping)
	go c.take()
	go c.notices.Usher()
	return c, nil
}

// begin says hello, and waits until the program is ready.
func (c *conn) begin(ctx context.Context) error {
	hello := command{Type: typeHello, Version: version, Adapter: c.p.o.Name, Settings: c.p.o.Settings, Groups: c.p.o.Groups}
	if _, err := c.push(ctx, hello, nil); err != nil {
		return err
	}
	late := time.NewTimer(readyMost)
	defer late.Stop()
	select {
	case <-c.begun:
		c.heard(0)
		return nil
	case <-c.Done():
		return c.Err()
	case <-late.C:
		return fmt.Errorf("the program is not ready within %s%s", readyMost, c.last())
	case <-ctx.Done():
		return fmt.Errorf("wait until the program is ready: %w", ctx.Err())
	}
}

// heard notes that the program heard from its platform so long ago.
func (c *conn) heard(ago time.Duration) {
	at := time.Now().Add(-ago).UnixNano()
	for {
		last := c.heardAt.Load()
		if at <= last || c.heardAt.CompareAndSwap(last, at) {
			return
		}
	}
}

// LastInbound implements adapter.Conn: when the program last heard from its platform, as it says.
func (c *conn) LastInbound() time.Time { return time.Unix(0, c.heardAt.Load()) }

// CancelTasks implements adapter.Conn: it ends the Receive and the notice that may be under way, and the notices to unknown users, and
// waits for both. What the program writes from then on is to be given again. Sends go on. Twice is harmless.
func (c *conn) CancelTasks(ctx context.Context) error {
	c.EndTasks()
	if err := adapter.Await(ctx, c.returned, "a message that is being taken"); err != nil {
		return err
	}
	return c.notices.Await(ctx)
}

// Disconnect implements adapter.Conn: it ends the sends and the program, and waits for all of it. From its beginning on no Send begins. The
// error names what is left. Twice is harmless.
func (c *conn) Disconnect(ctx context.Context) error {
	c.EndTasks()
	c.EndCalls()
	left := c.close(ctx) // first: a message that hangs in the gateway does not keep the program
	return cmp.Or(left, c.CancelTasks(ctx), c.Alone(ctx, func() error { return nil }))
}

// close ends the program: stop, the end of its input, a second, TERM and KILL. It returns what is left.
func (c *conn) close(ctx context.Context) error {
	c.closing.Do(func() {
		defer close(c.closed)
		c.end()
		<-c.written
		if !c.torn {
			c.stop()
		}
		_ = c.run.in.Close() // it is over either way
		most := endMost
		if deadline, is := ctx.Deadline(); is {
			most = min(most, time.Until(deadline)/3) // TERM and KILL take their time as well
		}
		wait, cancel := context.WithTimeout(ctx, most)
		_, _ = c.run.Wait(wait) // what has not ended is killed
		cancel()
		if report := c.run.Kill(ctx, c.p.o.KillGrace); !report.Verified {
			c.left = fmt.Errorf("end the program: %s", report.Summary())
		}
		_ = c.run.out.Close() // nothing of it is of use any more
		c.all.Wait()
	})
	<-c.closed
	return c.left
}
