package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
	"gatewaytui/core/timeline"
)

// Enqueue puts m into the mailbox of key, and makes the session if it is new. If the session and a slot are free, a turn
// begins and is returned: a placeholder until Attach, which the caller runs. Otherwise position is how many wait, m
// included; a message with a Join waits until Gathered, unless one without it follows. notice is whether this is the running turn's first
// message to wait, and none waits before it: while messages wait from turn to turn, their senders get no further notice.
//
// ctx is the parent of the turn's context. The error is an *ops.Error with CodeQueueFull or CodeLimit.
func (tb *Table) Enqueue(ctx context.Context, key string, m Message) (t *Turn, position int, notice bool, err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	running := tb.turns[key]
	begins := running == nil && (e == nil || !e.closing()) && tb.free()
	if alone := e == nil || e.queued() == 0; !begins || !alone {
		if err := tb.refuse(e, m); err != nil {
			return nil, 0, false, err
		}
	}
	if e == nil {
		e = tb.add(Session{Key: key, ID: tb.o.NewID(), Platform: Platform(key), State: ops.SessionIdle, Created: m.At})
	}
	if begins && e.queued() == 0 && m.Join == 0 {
		return tb.begin(ctx, e, m), 0, false, nil
	}
	e.box().queue = append(e.box().queue, m)
	tb.queued++
	tb.bytes += int64(len(m.Text))
	e.active(m.At)
	e.gather(m)
	tb.reposition(e)
	if begins && !e.gathers() { // held messages go first
		return tb.nextOf(ctx, e), 0, false, nil
	}
	if running != nil {
		notice = !running.waitedFor && e.queued() == 1
		running.waitedFor = true
	}
	if e.mail.inLine {
		tb.o.Reached(limit.Turns)
	}
	return nil, e.queued(), notice, nil
}

// refuse is why m may not wait in the mailbox of e, which is nil for a new session. The caller holds mu.
func (tb *Table) refuse(e *entry, m Message) error {
	switch {
	case m.Kept:
		return nil
	case e != nil && e.queued() >= tb.o.QueueLimit:
		return &ops.Error{
			Code:    ops.CodeQueueFull,
			Message: fmt.Sprintf("%d messages already wait behind the running turn", e.queued()),
			Hint:    "wait for the answer, or send /stop to interrupt the turn",
		}
	case tb.o.QueuedBytes > 0 && tb.bytes+int64(len(m.Text)) > tb.o.QueuedBytes:
		tb.o.Reached(limit.QueuedBytes)
		return &ops.Error{
			Code:    ops.CodeLimit,
			Message: fmt.Sprintf("the waiting messages of all conversations are limited to %s (%s), and this one would exceed that", humanize.IBytes(uint64(tb.o.QueuedBytes)), limit.QueuedBytes),
			Hint:    "send it again later, or send a shorter message",
		}
	}
	return nil
}

// begin makes the running turn of e. The caller holds mu and has checked that none runs.
func (tb *Table) begin(ctx context.Context, e *entry, m Message) *Turn {
	e.address(m.User, m.Target, m.Caller)
	before, now := e.lastActivity(), time.Now()
	e.active(m.At)
	t := &Turn{
		ID: tb.o.NewID(), Session: e.session(), Message: m, Started: now, Setup: tb.setup, Line: timeline.New(now, m.At), Loops: tb.paced(e, before, now),
		written: make(chan struct{}), released: make(chan struct{}),
		now: Activity{Progress: now, Doing: "starting", Since: now},
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	tb.turns[t.Session.Key] = t
	tb.reposition(e)
	if e.mail != nil && e.mail.began != nil {
		close(e.mail.began)
		e.mail.began = nil
		e.trim()
	}
	return t
}

// nextOf begins the turn of the oldest waiting message of e, and of those that are worked on with it. The caller holds mu and has checked that there is one, and a
// free slot.
func (tb *Table) nextOf(ctx context.Context, e *entry) *Turn {
	return tb.begin(ctx, e, joined(tb.take(e, 0, unit(e.mail.queue))))
}

// Began returns a channel that is closed once a turn runs in the session of key, at once if one does now. It is nil, and
// blocks for ever, without such a session.
func (tb *Table) Began(key string) <-chan struct{} {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil {
		return nil
	}
	if tb.turns[key] != nil {
		now := make(chan struct{})
		close(now)
		return now
	}
	if e.box().began == nil {
		e.mail.began = make(chan struct{})
	}
	return e.mail.began
}

// next begins the turn of the next session in the line; nil: no slot is free, or no session waits. The caller holds mu.
func (tb *Table) next(ctx context.Context) *Turn {
	if !tb.free() {
		return nil
	}
	e, some := tb.line.Pop()
	if !some {
		return nil
	}
	e.mail.inLine = false
	return tb.nextOf(ctx, e)
}

// Active reports whether a turn runs in the session of key or a message waits there.
func (tb *Table) Active(key string) bool {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	return tb.turns[key] != nil || e != nil && e.queued() > 0
}

// take takes n messages out of the mailbox of e, which has them, from the one at index at on. The caller holds mu, and
// repositions e.
func (tb *Table) take(e *entry, at, n int) []Message {
	if n == 0 {
		return nil
	}
	taken := slices.Clone(e.mail.queue[at : at+n])
	e.mail.queue = slices.Delete(e.mail.queue, at, at+n)
	tb.queued -= n
	for _, m := range taken {
		tb.bytes -= int64(len(m.Text))
	}
	if e.queued() == 0 {
		e.mail.gather = time.Time{}
	}
	e.trim()
	return taken
}

// Drop empties every mailbox, for a stop that will not reach them, and returns the waiting messages by session key.
func (tb *Table) Drop() map[string][]Message {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	out := map[string][]Message{}
	for _, e := range tb.waiting() {
		out[e.Key()] = tb.take(e, 0, e.queued())
		tb.reposition(e)
	}
	return out
}

// Resume begins turns for waiting messages while slots are free: after new turns were held, or after a reset freed a
// slot. The caller runs them.
func (tb *Table) Resume(ctx context.Context) []*Turn {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	var out []*Turn
	for t := tb.next(ctx); t != nil; t = tb.next(ctx) {
		out = append(out, t)
	}
	return out
}

// Withdraw finds the message of key with an id. A waiting one leaves the mailbox and is returned. For a message in work
// it returns the turn's id, for Interrupt. It finds neither once the message has its answer.
func (tb *Table) Withdraw(key, id string) (waiting Message, turn string, found bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if t := tb.turns[key]; t != nil && t.Message.ID == id {
		return Message{}, t.ID, true
	}
	e := tb.sessions[key]
	if e == nil || e.mail == nil {
		return Message{}, "", false
	}
	at := slices.IndexFunc(e.mail.queue, func(m Message) bool { return m.ID == id })
	if at < 0 {
		return Message{}, "", false
	}
	return tb.withdraw(e, at), "", true
}

// WithdrawWaiting removes the oldest message from the mailbox of key if no turn runs there, because the message waits for
// a slot or new turns are held. It reports false if there is none.
func (tb *Table) WithdrawWaiting(key string) (Message, bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || e.mail == nil || !e.mail.inLine && (!e.gathers() || tb.turns[key] != nil) {
		return Message{}, false
	}
	return tb.withdraw(e, 0), true
}

// withdraw takes one message out of the mailbox of e. The caller holds mu.
func (tb *Table) withdraw(e *entry, at int) Message {
	m := tb.take(e, at, 1)[0]
	tb.reposition(e)
	tb.dropUnsaved(e)
	return m
}
