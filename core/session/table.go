package session

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

// Setup is what a config says of turns. A turn keeps the one that was in force when it began.
type Setup interface {
	// Generation numbers the config, from 1.
	Generation() int
}

// Bounds are those of a Table. 0 means no bound.
type Bounds struct {
	// QueueLimit is how many messages each mailbox holds (session.queue_limit).
	QueueLimit int
	// Turns is how many turns may run concurrently (limits.turns). QueuedBytes is how many bytes of text all mailboxes
	// together may hold (limits.queued_bytes).
	Turns       int
	QueuedBytes int64
}

// Options of a Table. Use may change the Bounds later.
type Options struct {
	Bounds
	// NewID makes unique ids that sort by time.
	NewID func() string
	// Owner is the owner of the share of slots that a waiting session uses; nil: each session owns its share.
	Owner func(key string) string
	// NamesOnly leaves out what a tool works on: the activity of a turn names the tool alone (console.texts).
	NamesOnly bool
	// Reached is called with the name of a bound when a message waits for it or is refused for it. It is called with the
	// table's lock held and must not block; it may be nil.
	Reached func(bound string)
}

// Table is the sessions and the running turns of a gateway.
type Table struct {
	o Options

	mu       sync.Mutex // guards what follows, and the bounds in o
	setup    Setup
	sessions map[string]*entry
	turns    map[string]*Turn      // by session key; see Release
	order    *btree.BTreeG[*entry] // of all sessions; see reposition
	queued   int                   // messages in all mailboxes
	bytes    int64                 // of their text
	line     limit.Queue[*entry]   // sessions whose oldest message waits for a slot; see align
	parked   int                   // turns that hold no slot; see Park
	back     limit.Queue[*Turn]    // those of them that may go on and wait for a slot
	quick    map[*entry]struct{}   // sessions with a pace
}

// NewTable makes an empty table.
func NewTable(o Options) *Table {
	if o.Owner == nil {
		o.Owner = func(key string) string { return key }
	}
	if o.Reached == nil {
		o.Reached = func(string) {}
	}
	return &Table{o: o, sessions: map[string]*entry{}, turns: map[string]*Turn{}, quick: map[*entry]struct{}{}, order: newOrder()}
}

// Use gives the table other bounds, and the turns that begin from now on another setup. What waits and what runs stays, also beyond a
// bound that became smaller.
func (tb *Table) Use(b Bounds, s Setup) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.o.Bounds, tb.setup = b, s
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

// newOrder makes the tree that keeps the sessions in the order of ops.CompareSessions. It needs no lock: Table.mu guards
// it.
func newOrder() *btree.BTreeG[*entry] {
	return btree.NewBTreeGOptions(func(a, b *entry) bool {
		if a.place != b.place {
			return a.place < b.place
		}
		return a.Key() < b.Key()
	}, btree.Options{NoLocks: true})
}

// reposition moves e to its place in the order. Every function that may change a session's state, its turn, its queue or its activity
// calls it before it unlocks mu. It costs a few microseconds at a million sessions, and nothing if e stays.
func (tb *Table) reposition(e *entry) {
	tb.align(e)
	var started time.Time
	t := tb.turns[e.Key()]
	if t != nil {
		started = t.Started
	}
	place := ops.SessionPlace(e.shown(t), e.loopsSince(t), started, e.lastActivity())
	if place == e.place {
		return
	}
	tb.order.Delete(e)
	e.place = place
	tb.order.Set(e)
}

// unplaced is the place of an entry that is not in the order.
const unplaced = math.MaxUint64

// align puts e into the line of sessions that wait for a slot, or removes it. e is in the line while it has waiting
// messages and they wait neither for a running turn, nor for the end of its conversation, nor for more of the last one. reposition calls it, with mu held.
func (tb *Table) align(e *entry) {
	should := e.queued() > 0 && !e.closing() && !e.gathers() && tb.turns[e.Key()] == nil
	switch {
	case should && !e.mail.inLine:
		e.mail.inLine, e.mail.since = true, time.Now()
		e.mail.place = tb.line.Push(tb.o.Owner(e.Key()), e)
	case !should && e.mail != nil && e.mail.inLine:
		tb.line.Remove(e.mail.place)
		e.mail.inLine = false
		e.trim()
	}
}

// free reports whether one more turn may run. The caller holds mu.
func (tb *Table) free() bool { return tb.o.Turns <= 0 || len(tb.turns)-tb.parked < tb.o.Turns }

func groupOf(place uint64) ops.SessionGroup { return ops.SessionGroup(place >> 62) }

// Target is the platform's address of the chat of a session; false if the session is not known.
func (tb *Table) Target(key string) (target string, known bool) {
	s, known := tb.Get(key)
	return s.Target, known
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

// Unsuspend lets a suspended session take messages again. It reports false, and changes nothing, for any other.
func (tb *Table) Unsuspend(key string) bool {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || e.State() != ops.SessionSuspended {
		return false
	}
	e.setState(ops.SessionIdle)
	tb.reposition(e)
	return true
}

// Saved records that the store has t's session, with this title if it had none.
func (tb *Table) Saved(t *Turn, title string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[t.Session.Key]; e != nil && e.ID() == t.Session.ID {
		if title != "" && e.title() == "" {
			e.name(title)
		}
		e.flags |= flagStored
	}
}

// SetTitle names the conversation with an id, if it is the current one of key.
func (tb *Table) SetTitle(key, id, title string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[key]; e != nil && e.ID() == id {
		e.name(title)
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

// forget removes e from the table.
func (tb *Table) forget(e *entry) {
	delete(tb.sessions, e.Key())
	delete(tb.quick, e)
	tb.order.Delete(e)
	e.place = unplaced
}

func (tb *Table) owns(t *Turn) bool { return tb.turns[t.Session.Key] == t }

// release frees the slot that t holds, together with everything that belongs to a running turn: the agent, its start, its
// progress, its busy notice. Only this function removes a running turn (S16, D10). The caller holds mu.
func (tb *Table) release(t *Turn) bool {
	if !tb.owns(t) {
		return false
	}
	delete(tb.turns, t.Session.Key)
	t.now.Attached = false
	t.cancel(context.Canceled)
	close(t.released)
	tb.leave(t)
	tb.readmit()
	return true
}

// Clear drops every session and frees every slot, for the last steps of a stop (S16).
func (tb *Table) Clear() {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, t := range tb.turns {
		tb.release(t)
	}
	clear(tb.sessions)
	clear(tb.quick)
	tb.order, tb.queued, tb.bytes, tb.line, tb.back = newOrder(), 0, 0, limit.Queue[*entry]{}, limit.Queue[*Turn]{}
}
