// Package session holds the gateway's conversations and their running turns: keys, reset policies, the mailbox and the
// turn's life.
//
// What it promises:
//
//   - A session has at most one running turn. Its mailbox is ordered and bounded.
//   - A running turn is one struct in one map, Table.turns. Release is the only function that removes one. It is
//     idempotent, and removes the agent, the start, the progress and the busy notice with the turn (S16, hermes#11800).
//   - State that outlives a turn (the queue, the counters) is in the session's own struct and ends only with the session
//     (S19).
//   - Late work of a turn carries the turn's identity: a released turn owns nothing, and cannot harm its successor (D8,
//     D10).
//
// The package does no I/O: Table's lock guards memory alone.
package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/tidwall/btree"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

// Session is one conversation as the store keeps it. Callers get copies; the Table owns the original.
type Session struct {
	Key string
	// ID identifies this incarnation: a reset keeps Key and changes ID.
	ID       string
	Platform string
	User     string
	// Target is the platform's address of the chat, for notices.
	Target       string
	State        ops.SessionState // idle, interrupted or suspended: its state while no turn runs
	Created      time.Time
	LastActivity time.Time
	TokensIn     int64
	TokensOut    int64
	// Caller is the sender of the last message over the API; zero: the message came from elsewhere.
	Caller ops.Caller
	// Stored means that the store has a row of this incarnation: it outlives the gateway.
	Stored bool
}

// Message waits in a mailbox, or a turn works on it.
type Message struct {
	ID     string
	User   string
	Target string
	Text   string
	At     time.Time
	// Caller is the sender over the API; else zero.
	Caller ops.Caller
	// Deliver gets the turn's text, or why there is none, exactly once. Delta gets pieces of it before, and may be nil.
	// Delta never blocks. Deliver blocks within its own bound, unless Instant means that it does not block.
	Deliver func(text string, err error)
	// Send is Deliver for an answer that the store has already; nil for an Instant message, whose answer no store has.
	// Only the first call of either has an effect.
	Send    func(text string, err error)
	Delta   func(text string)
	Instant bool
	// Ended gets the turn's tokens and why the model ended its answer, before Deliver; it may be nil.
	Ended func(in, out int64, finish string)
	// Kept means that an earlier life acknowledged the message: no bound of a mailbox refuses it.
	Kept bool
}

// Options of a Table. A bound of 0 means no bound.
type Options struct {
	// QueueLimit is how many messages each mailbox holds (session.queue_limit).
	QueueLimit int
	// Turns is how many turns may run concurrently (limits.turns). QueuedBytes is how many bytes of text all mailboxes
	// together may hold (limits.queued_bytes).
	Turns       int
	QueuedBytes int64
	// NewID makes unique ids that sort by time.
	NewID func() string
	// Owner is the owner of the share of slots that a waiting session uses; nil: each session owns its share.
	Owner func(key string) string
	// Reached is called with the name of a bound when a message waits for it or is refused for it. It is called with the
	// table's lock held and must not block; it may be nil.
	Reached func(bound string)
}

// Table is the sessions and the running turns of a gateway.
type Table struct {
	o Options

	mu       sync.Mutex
	sessions map[string]*entry
	turns    map[string]*Turn      // by session key; see Release
	order    *btree.BTreeG[*entry] // of all sessions; see reposition
	queued   int                   // messages in all mailboxes
	bytes    int64                 // of their text
	line     limit.Queue[*entry]   // sessions whose oldest message waits for a slot; see align
}

// NewTable makes an empty table.
func NewTable(o Options) *Table {
	if o.Owner == nil {
		o.Owner = func(key string) string { return key }
	}
	if o.Reached == nil {
		o.Reached = func(string) {}
	}
	return &Table{o: o, sessions: map[string]*entry{}, turns: map[string]*Turn{}, order: newOrder()}
}

// Load adds a session from the store. An existing one is newer, and stays.
func (tb *Table) Load(s Session) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.sessions[s.Key] == nil {
		tb.add(s)
	}
}

// add makes the entry of a new session. The caller holds mu.
func (tb *Table) add(s Session) *entry {
	e := &entry{place: unplaced}
	e.set(s)
	tb.sessions[e.Key()] = e
	tb.reposition(e)
	return e
}

// Enqueue puts m into the mailbox of key, and makes the session if it is new. If the session and a slot are free, a turn
// begins and is returned: a placeholder until Attach, which the caller runs. Otherwise position is how many wait, m
// included. notice is whether this is the running turn's first waiting message, so that its sender gets one notice.
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
	if begins && e.queued() == 0 {
		return tb.begin(ctx, e, m), 0, false, nil
	}
	e.box().queue = append(e.box().queue, m)
	tb.queued++
	tb.bytes += int64(len(m.Text))
	e.active(m.At)
	tb.reposition(e)
	if begins { // held messages go first
		return tb.nextOf(ctx, e), 0, false, nil
	}
	if running != nil {
		notice = running.busyNotice.IsZero()
		running.busyNotice = m.At
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
	e.active(m.At)
	now := time.Now()
	t := &Turn{
		ID: tb.o.NewID(), Session: e.session(), Message: m, Started: now,
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

// nextOf begins the turn of the oldest waiting message of e. The caller holds mu and has checked that there is one, and a
// free slot.
func (tb *Table) nextOf(ctx context.Context, e *entry) *Turn {
	return tb.begin(ctx, e, tb.take(e, 0, 1)[0])
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

// Get returns a copy of the session of key.
func (tb *Table) Get(key string) (Session, bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[key]; e != nil {
		return e.session(), true
	}
	return Session{}, false
}

// SetState sets the state of a session while no turn runs.
func (tb *Table) SetState(key string, s ops.SessionState) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[key]; e != nil {
		e.setState(s)
		tb.reposition(e)
	}
}

// Saved records that the store has t's session.
func (tb *Table) Saved(t *Turn) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[t.Session.Key]; e != nil && e.ID() == t.Session.ID {
		e.flags |= flagStored
	}
}

// DropUnsaved forgets the session of t if no store has it, no turn runs in it and no message waits for it. A session that
// was never written must not be listed as if it would last (D15).
func (tb *Table) DropUnsaved(t *Turn) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[t.Session.Key]; e != nil && e.ID() == t.Session.ID {
		tb.dropUnsaved(e)
	}
}

// dropUnsaved is DropUnsaved of e. The caller holds mu.
func (tb *Table) dropUnsaved(e *entry) {
	if e.flags&flagStored == 0 && !e.closing() && e.queued() == 0 && tb.turns[e.Key()] == nil {
		tb.forget(e)
	}
}

// Forget drops the session of key with an id, unless a turn runs in it or a message waits for it.
func (tb *Table) Forget(key, id string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e != nil && e.ID() == id && !e.closing() && e.queued() == 0 && tb.turns[key] == nil {
		tb.forget(e)
	}
}

// Clear drops every session and frees every slot, for the last steps of a stop (S16).
func (tb *Table) Clear() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, t := range tb.turns {
		tb.release(t)
	}
	clear(tb.sessions)
	tb.order, tb.queued, tb.bytes, tb.line = newOrder(), 0, 0, limit.Queue[*entry]{}
}
