package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

const (
	// minRetry and maxRetry bound the rest before a chat is tried again; it doubles with each failure.
	minRetry = 2 * time.Second
	maxRetry = 5 * time.Minute
)

// outbox delivers what chats are told, in order for each chat, until their platform took it or says that it never will.
// What is in it is in the store too, so that the next life goes on where this one ends (field notes, E12).
type outbox struct {
	g *Gateway

	mu    sync.Mutex
	chats map[string]*chat // by adapter and target
}

// chat is what one chat still has to be told, in order.
type chat struct {
	letters []letter
	busy    bool // somebody delivers them
	fails   int
	after   time.Time // nobody tries before this
}

// letter is one message on its way. tried is closed when it was tried once, however that went.
type letter struct {
	store.Outbox
	tried chan struct{}
}

func newOutbox(g *Gateway) *outbox { return &outbox{g: g, chats: map[string]*chat{}} }

// post adds a message that is in the store already. What it returns is closed when a first try is over, or when there will
// be none in this life.
func (o *outbox) post(row store.Outbox) (tried <-chan struct{}) {
	l := letter{row, make(chan struct{})}
	o.mu.Lock()
	defer o.mu.Unlock()
	name := row.Adapter + " " + row.Target
	c := o.chats[name]
	if c == nil {
		c = &chat{}
		o.chats[name] = c
	}
	c.letters = append(c.letters, l)
	if time.Now().Before(c.after) {
		close(l.tried) // its turn comes with the others'
		c.letters[len(c.letters)-1].tried = nil
		return l.tried
	}
	o.begin(name, c)
	return l.tried
}

// begin has the letters of a chat delivered on a tracked task, unless somebody does. mu is held.
func (o *outbox) begin(name string, c *chat) {
	if c.busy || len(c.letters) == 0 {
		return
	}
	key := c.letters[0].Session
	if c.busy = o.g.background.Start(o.g.turns, "deliver", key, func(ctx context.Context) { o.deliver(ctx, name, c) }); !c.busy {
		c.giveUp()
	}
}

// giveUp lets go of those who wait for a first try. mu is held.
func (c *chat) giveUp() {
	for i := range c.letters {
		if c.letters[i].tried != nil {
			close(c.letters[i].tried)
			c.letters[i].tried = nil
		}
	}
}

// deliver sends the letters of a chat in their order, until one fails that may succeed later.
func (o *outbox) deliver(ctx context.Context, name string, c *chat) {
	for {
		o.mu.Lock()
		if len(c.letters) == 0 {
			delete(o.chats, name)
			o.mu.Unlock()
			return
		}
		l := c.letters[0]
		o.mu.Unlock()

		err := o.send(ctx, l.Outbox)
		refused, final := errors.AsType[*adapter.RefusedError](err)
		switch {
		case err == nil:
			o.end(ctx, l.Outbox, "")
		case final:
			o.g.log.Warn("reply refused by its platform", "session", l.Session, "adapter", l.Adapter, "error", term.Clean(err.Error(), 300))
			o.end(ctx, l.Outbox, term.Clean(refused.Why, 300))
		default:
			o.mu.Lock()
			c.fails++
			rest := min(minRetry<<min(c.fails-1, 10), maxRetry)
			if limit, is := errors.AsType[*adapter.RateLimitError](err); is {
				rest = max(rest, limit.RetryAfter)
			}
			c.after, c.busy = time.Now().Add(rest), false
			c.giveUp()
			waiting := len(c.letters)
			o.mu.Unlock()
			if ctx.Err() == nil {
				o.g.log.Warn("reply not delivered yet", "session", l.Session, "adapter", l.Adapter, "waiting", waiting, "next_in", rest.Round(time.Second), "error", term.Clean(err.Error(), 300))
			}
			return
		}
		o.mu.Lock()
		c.fails, c.letters = 0, c.letters[1:]
		if l.tried != nil {
			close(l.tried)
		}
		o.mu.Unlock()
	}
}

func (o *outbox) send(ctx context.Context, row store.Outbox) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	return o.g.deliver(ctx, row.Session, row.Adapter, adapter.Outgoing{Target: row.Target, Text: row.Text})
}

// end notes what became of a letter. If that cannot be written the next life may send it a second time: better than never.
func (o *outbox) end(ctx context.Context, row store.Outbox, refused string) {
	ctx, cancel := o.g.store.Patient(ctx)
	defer cancel()
	if err := o.g.store.EndOutbox(ctx, row.ID, refused, time.Now()); err != nil && !errors.Is(err, store.ErrReadOnly) {
		o.g.log.Warn("delivery not recorded", "session", row.Session, "error", term.Clean(err.Error(), 300))
	}
}

// kick tries those again whose rest is over, and with an adapter's name those of that adapter at once: it has a
// connection again.
func (o *outbox) kick(now time.Time, adapterName string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, c := range o.chats {
		if len(c.letters) > 0 && (!now.Before(c.after) || c.letters[0].Adapter == adapterName) {
			c.after = time.Time{}
			o.begin(name, c)
		}
	}
}

// waiting is how many messages are on their way, for the operator.
func (o *outbox) waiting() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range o.chats {
		n += len(c.letters)
	}
	return n
}

// answerChat writes the answer to a message into the outbox and sends it. It returns when a first try is over.
func (g *Gateway) answerChat(in store.Inbox, text string) {
	row := letterTo(in, text)
	ctx, cancel := g.store.Patient(g.turns)
	defer cancel()
	if err := g.store.Answer(ctx, in.ID, &row); err != nil && !errors.Is(err, store.ErrReadOnly) {
		g.log.Warn("reply not persisted", "session", in.Session, "error", term.Clean(err.Error(), 300))
	}
	g.sendAnswer(row)
}

// sendAnswer sends an answer that the store has. It returns when a first try is over.
func (g *Gateway) sendAnswer(row store.Outbox) {
	<-g.outbox.post(row) // bounded by sendTimeout, and by those before it in the same chat
}

// letterTo is the answer to a message. Its id is the message's: one message has one answer.
func letterTo(in store.Inbox, text string) store.Outbox {
	return store.Outbox{ID: in.ID, Session: in.Session, Adapter: in.Adapter, Target: in.Target, Text: text, At: time.Now()}
}

// post writes a message that answers none into the outbox and has it sent. It does not wait for that.
func (g *Gateway) post(key, adapterName, target, text string) {
	row := store.Outbox{ID: g.newID(), Session: key, Adapter: adapterName, Target: target, Text: text, At: time.Now()}
	ctx, cancel := g.store.Patient(g.turns)
	defer cancel()
	if err := g.store.PutOutbox(ctx, row); err != nil {
		g.log.Warn("message not kept", "session", key, "error", term.Clean(err.Error(), 300))
	}
	g.outbox.post(row)
}

// connectedAgain is told of every adapter that has a connection.
func (g *Gateway) connectedAgain(a ops.Adapter) {
	if a.State == ops.AdapterConnected && g.outbox.waiting() > 0 {
		g.outbox.kick(time.Now(), a.Name)
	}
}
