// Package session holds the gateway's conversations and their running turns: keys, reset policies, the mailbox and the
// turn's life.
//
// What it promises:
//
//   - A session has at most one running turn. Its mailbox is ordered and bounded.
//   - A running turn is one struct in one map, Table.turns. Release is the only function that removes one, it is
//     idempotent, and it takes the agent, the start, the progress and the busy notice with it (S16, hermes#11800).
//   - What outlives a turn (the queue, the counters) is in the session's own struct and ends only with the session
//     (S19).
//   - Everything a turn does late carries its identity: whoever was released owns nothing, whoever comes after it is
//     not harmed (D8, D10).
//
// The package does no I/O: Table's lock guards memory alone.
package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/tidwall/btree"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

// Session is one conversation as the store keeps it. Copies of it are handed out; the Table owns the original.
type Session struct {
	Key string
	// ID is this incarnation: a reset keeps Key and changes ID.
	ID       string
	Platform string
	User     string
	// Target is the platform's address of the chat, for notices.
	Target       string
	State        ops.SessionState // idle, interrupted or suspended: what it is while no turn runs
	Created      time.Time
	LastActivity time.Time
	TokensIn     int64
	TokensOut    int64
	// Stored says that the store has a row of this incarnation: it outlives the gateway.
	Stored bool
}

// Message waits in a mailbox or is what a turn works on.
type Message struct {
	ID     string
	User   string
	Target string
	Text   string
	At     time.Time
	// Deliver takes the turn's text, or why there is none, exactly once; Delta takes pieces of it before, and may be
	// nil. Delta never blocks; Deliver does so within its own bound, unless Instant says that it does not.
	Deliver func(text string, err error)
	// Send is Deliver for an answer that the store has already; nil for an Instant message, whose answer no store has. Only
	// the first call of either does anything.
	Send    func(text string, err error)
	Delta   func(text string)
	Instant bool
	// Ended takes what the turn cost in tokens and why the model ended its answer, before Deliver; it may be nil.
	Ended func(in, out int64, finish string)
	// Kept says that an earlier life acknowledged the message: no bound of a mailbox refuses it.
	Kept bool
}

// Reset and its kin end a turn with one of these causes.
var (
	ErrInterrupted = errors.New("interrupted by the operator or the user")
	ErrReset       = errors.New("the session was reset")
	ErrStalled     = errors.New("no progress for too long")
	ErrStopping    = errors.New("the gateway is stopping")
	ErrLeft        = errors.New("its client has left")
)

// Turn is one message being worked on. Its exported fields never change; the rest is read through Table.
type Turn struct {
	ID      string
	Session Session // as it was when the turn began
	Message Message
	Started time.Time

	ctx      context.Context
	cancel   context.CancelCauseFunc
	written  chan struct{} // closed when the store has the turn's begin, or never will
	released chan struct{} // closed when the slot is free
	finished chan struct{} // closed when the worker has returned, which may be much later

	// guarded by Table.mu
	agent      any
	calls      Calls
	progress   time.Time
	doing      string
	since      time.Time // of doing
	waitingFor string    // the bound that it waits for
	busyNotice time.Time
	stalled    time.Time
	interrupt  error
}

// Calls is a turn's budget of model calls.
type Calls interface {
	Used() int
	Most() int
}

// Context ends when the turn is interrupted, with the cause, or when it is released.
func (t *Turn) Context() context.Context { return t.ctx }

// Written is closed when the store has been told of the turn's begin, or never will be. Wrote says so: the worker calls it
// once.
func (t *Turn) Written() <-chan struct{} { return t.written }

// Wrote closes Written.
func (t *Turn) Wrote() { close(t.written) }

// Released is closed when the turn no longer holds its session's slot.
func (t *Turn) Released() <-chan struct{} { return t.released }

// Finished is closed when the turn's worker has returned.
func (t *Turn) Finished() <-chan struct{} { return t.finished }

// Finish says that the worker has returned. The worker calls it once, last of all.
func (t *Turn) Finish() { close(t.finished) }

// Options of a Table. A bound of 0 is none.
type Options struct {
	// QueueLimit is how many messages each mailbox holds (session.queue_limit).
	QueueLimit int
	// Turns is how many turns may run at once (limits.turns), QueuedBytes how many bytes of text all mailboxes may hold
	// together (limits.queued_bytes).
	Turns       int
	QueuedBytes int64
	// NewID makes unique ids that sort by time.
	NewID func() string
	// Owner is whose share of the slots a session takes while it waits for one; nil: its own.
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
	order    *btree.BTreeG[*entry] // of all sessions; see settle
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

// Load puts a session in that the store knew. One that is there already is newer, and stays.
func (tb *Table) Load(s Session) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.sessions[s.Key] == nil {
		tb.add(s)
	}
}

// add makes the entry of a new session. The caller holds mu.
func (tb *Table) add(s Session) *entry {
	e := newEntry(s)
	tb.sessions[e.Key()] = e
	tb.settle(e)
	return e
}

// Enqueue puts m into the mailbox of key, making the session if it is new. If the session is free and so is a slot, a turn
// begins and is returned: a placeholder until Attach, which the caller runs. Otherwise position says how many wait, m
// included, and notice whether this is the running turn's first message to wait, so that its sender is told once.
//
// ctx is what the turn's context hangs on. The error is an *ops.Error with CodeQueueFull or CodeLimit.
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
	tb.push(e, m)
	e.active(m.At)
	tb.settle(e)
	if begins { // what was held goes first
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

// refuse says why m may not wait in the mailbox of e, which is nil for a new session. The caller holds mu.
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
			Message: fmt.Sprintf("the messages that wait in all conversations may hold %s together (%s), and this one would exceed that", humanize.IBytes(uint64(tb.o.QueuedBytes)), limit.QueuedBytes),
			Hint:    "send it again when some of them are answered, or send a shorter one",
		}
	}
	return nil
}

// push puts m behind what waits in e. The caller holds mu and settles e.
func (tb *Table) push(e *entry, m Message) {
	e.push(m)
	tb.queued++
	tb.bytes += int64(len(m.Text))
}

// popped counts messages that left a mailbox. The caller holds mu.
func (tb *Table) popped(messages ...Message) {
	tb.queued -= len(messages)
	for _, m := range messages {
		tb.bytes -= int64(len(m.Text))
	}
}

// begin makes the running turn of e. The caller holds mu and has seen that none runs.
func (tb *Table) begin(ctx context.Context, e *entry, m Message) *Turn {
	e.address(m.User, m.Target)
	e.active(m.At)
	now := time.Now()
	t := &Turn{
		ID: tb.o.NewID(), Session: e.session(), Message: m, Started: now,
		written: make(chan struct{}), released: make(chan struct{}), finished: make(chan struct{}),
		progress: now, doing: "starting", since: now,
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	tb.turns[t.Session.Key] = t
	tb.settle(e)
	if e.mail != nil && e.mail.began != nil {
		close(e.mail.began)
		e.mail.began = nil
		e.trim()
	}
	return t
}

// nextOf begins the turn of the oldest waiting message of e. The caller holds mu and has seen one, and a free slot.
func (tb *Table) nextOf(ctx context.Context, e *entry) *Turn {
	m := e.pop()
	tb.popped(m)
	return tb.begin(ctx, e, m)
}

// Began returns a channel that is closed once a turn runs in the session of key: at once if one does now. It is nil, and
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
	if e.mail == nil {
		e.mail = &mailbox{}
	}
	if e.mail.began == nil {
		e.mail.began = make(chan struct{})
	}
	return e.mail.began
}

// Attach gives the placeholder its agent and its budget of model calls, which is nil for a turn without one. It reports
// false, and does nothing, if the turn was released meanwhile.
func (tb *Table) Attach(t *Turn, agent any, calls Calls) bool {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if !tb.owns(t) {
		return false
	}
	t.agent, t.calls = agent, calls
	return true
}

// Progress notes that model or tool moved in t, and what it does now. Liveness notices to users are no progress (D13).
func (tb *Table) Progress(t *Turn, doing string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	now, stalled := time.Now(), !t.stalled.IsZero()
	if doing != t.doing {
		t.doing, t.since = doing, now
	}
	t.progress, t.stalled, t.waitingFor = now, time.Time{}, ""
	if stalled && tb.owns(t) {
		tb.settle(tb.sessions[t.Session.Key])
	}
}

// Wait notes that t waits for a bound of the gateway, until its next Progress. It is no progress: a turn that waits for as
// long as a turn may stall is ended like one.
func (tb *Table) Wait(t *Turn, bound, doing string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	t.waitingFor, t.doing, t.since = bound, doing, time.Now()
}

// Owns reports whether t still holds its session's slot: what it wants to write or say is then its own to say.
func (tb *Table) Owns(t *Turn) bool {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return tb.owns(t)
}

func (tb *Table) owns(t *Turn) bool { return tb.turns[t.Session.Key] == t }

// End is what a finished turn leaves in its session.
type End struct {
	State     ops.SessionState // idle or interrupted
	TokensIn  int64
	TokensOut int64
	// Hold keeps the next message waiting, because the gateway takes no new turns.
	Hold bool
}

// Release ends t's hold on its session's slot and returns the turn that begins in its place, for the caller to run: of the
// session whose turn it is to get a slot, which may be another one. It reports false, and changes nothing, if t does not
// hold the slot (any more): releasing twice, or late, is harmless.
func (tb *Table) Release(ctx context.Context, t *Turn, end End) (next *Turn, owned bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if !tb.release(t) {
		return nil, false
	}
	if e := tb.sessions[t.Session.Key]; e != nil {
		e.activity = time.Now().UnixMicro()
		e.setState(end.State)
		e.tokensIn += end.TokensIn
		e.tokensOut += end.TokensOut
		tb.settle(e)
	}
	if end.Hold {
		return nil, true
	}
	return tb.next(ctx), true
}

// release frees the slot that t holds, together with all that belongs to a running turn: the agent, its start, its
// progress, its busy notice. It is the one place that removes a running turn (S16, D10). The caller holds mu.
func (tb *Table) release(t *Turn) bool {
	if !tb.owns(t) {
		return false
	}
	delete(tb.turns, t.Session.Key)
	t.agent = nil
	t.cancel(context.Canceled)
	close(t.released)
	return true
}

// Interrupt cancels the running turn of key with cause, if want is empty or its id. It returns the turn, or nil if there
// is none like it. A placeholder is never interrupted: it has nothing to interrupt yet, and begins with its context
// cancelled instead of being counted as an agent.
func (tb *Table) Interrupt(key, want string, cause error) *Turn {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	t := tb.turns[key]
	if t == nil || want != "" && t.ID != want {
		return nil
	}
	if t.interrupt == nil {
		t.interrupt = cause
	}
	t.cancel(cause)
	return t
}

// Interrupted is the cause with which t was interrupted, nil if it was not.
func (tb *Table) Interrupted(t *Turn) error {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return t.interrupt
}

// BeginReset ends the conversation of key. The running turn, if any, is cancelled with ErrReset and its slot freed at
// once, whatever its worker does (D10); what waited is returned, so that each sender is told. Until EndReset messages
// wait, because the old conversation's agent and processes are being closed. It reports false if there is no such
// session, or if it is being reset already.
func (tb *Table) BeginReset(key string) (old Session, turn *Turn, dropped []Message, ok bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || e.closing() {
		return Session{}, nil, nil, false
	}
	old, turn, dropped = tb.beginReset(e)
	return old, turn, dropped, true
}

// beginReset is BeginReset of e. tb.mu is held.
func (tb *Table) beginReset(e *entry) (old Session, turn *Turn, dropped []Message) {
	e.setClosing(true)
	dropped = tb.dropped(e)
	if turn = tb.turns[e.Key()]; turn != nil {
		if turn.interrupt == nil {
			turn.interrupt = ErrReset
		}
		turn.cancel(ErrReset)
		tb.release(turn)
	}
	tb.settle(e)
	return e.session(), turn, dropped
}

// dropped empties the mailbox of e. The caller holds mu.
func (tb *Table) dropped(e *entry) []Message {
	out := e.drop()
	tb.popped(out...)
	return out
}

// EndReset starts the fresh conversation under the key of a BeginReset, and the turn that is next, for the caller to run;
// hold keeps it waiting. With forget a session that nobody wrote to since is dropped instead.
func (tb *Table) EndReset(ctx context.Context, key string, forget, hold bool) (next *Turn) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || !e.closing() {
		return nil
	}
	if forget && e.queued() == 0 {
		tb.forget(e)
		return nil
	}
	now := time.Now()
	e.setClosing(false)
	fresh := e.session()
	fresh.ID, fresh.State, fresh.Created, fresh.LastActivity = tb.o.NewID(), ops.SessionIdle, now, now
	fresh.TokensIn, fresh.TokensOut, fresh.Stored = 0, 0, false
	e.set(fresh)
	tb.settle(e)
	if hold {
		return nil
	}
	return tb.next(ctx)
}

// Replace makes s the session of its key, for a conversation that is taken up again. It reports false if the session is
// in use.
func (tb *Table) Replace(s Session) bool {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[s.Key]
	if e == nil {
		tb.add(s)
		return true
	}
	if e.closing() || tb.turns[s.Key] != nil {
		return false
	}
	e.set(s)
	tb.settle(e)
	return true
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

// SetState sets what a session is while no turn runs.
func (tb *Table) SetState(key string, s ops.SessionState) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[key]; e != nil {
		e.setState(s)
		tb.settle(e)
	}
}

// MarkStalled notes since when t is known not to move. It reports whether that is news.
func (tb *Table) MarkStalled(t *Turn, at time.Time) bool {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if !t.stalled.IsZero() {
		return false
	}
	t.stalled = at
	if tb.owns(t) {
		tb.settle(tb.sessions[t.Session.Key])
	}
	return true
}

// Saved notes that the store has t's session.
func (tb *Table) Saved(t *Turn) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[t.Session.Key]; e != nil && e.ID() == t.Session.ID {
		e.flags |= flagStored
	}
}

// DropUnsaved forgets the session of t if no store has it, no turn runs in it and nothing waits for it: what was never
// written is not listed as if it would last (D15).
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

// Withdraw finds the message of key with an id. A waiting one leaves the mailbox and is returned; of one that is worked on
// the turn's id is returned, for Interrupt. Neither is found once the message has its answer.
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
	return tb.take(e, at), "", true
}

// WithdrawWaiting takes the oldest message out of the mailbox of key if no turn runs there, because the message waits for a
// slot or new turns are held. It reports false if there is none.
func (tb *Table) WithdrawWaiting(key string) (Message, bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || e.mail == nil || !e.mail.inLine {
		return Message{}, false
	}
	return tb.take(e, 0), true
}

// take takes one message out of the mailbox of e. The caller holds mu.
func (tb *Table) take(e *entry, at int) Message {
	m := e.mail.queue[at]
	e.mail.queue = slices.Delete(e.mail.queue, at, at+1)
	tb.popped(m)
	e.trim()
	tb.settle(e)
	tb.dropUnsaved(e)
	return m
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

// Drop empties every mailbox, for a stop that will not come to them, and returns what waited, by session key.
func (tb *Table) Drop() map[string][]Message {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	out := map[string][]Message{}
	for _, e := range tb.waiting() {
		out[e.Key()] = tb.dropped(e)
		tb.settle(e)
	}
	return out
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

// Resume begins turns for the messages that wait, as far as slots are free: after new turns were held, or after a slot
// became free by a reset. The caller runs them.
func (tb *Table) Resume(ctx context.Context) []*Turn {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	var out []*Turn
	for t := tb.next(ctx); t != nil; t = tb.next(ctx) {
		out = append(out, t)
	}
	return out
}

// waiting are the sessions with messages that wait. The caller holds mu.
func (tb *Table) waiting() []*entry {
	var out []*entry
	tb.working(func(e *entry) {
		if e.queued() > 0 {
			out = append(out, e)
		}
	})
	return out
}
