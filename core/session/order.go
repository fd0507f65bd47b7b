package session

import (
	"fmt"
	"strconv"
	"strings"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

// row is e as the operator sees it, without its ID. Columns that the table does not know (processes, cached) are empty.
func (tb *Table) row(e *entry) ops.Session {
	t := (*Turn)(nil)
	if groupOf(e.place) != ops.GroupIdle {
		t = tb.turns[e.Key()]
	}
	r := ops.Session{
		Key: e.Key(), State: e.shown(t), Platform: e.part(e.platform), User: e.part(e.user), LastActivityAt: ops.At(e.lastActivity()),
		Queued: e.queued(), TokensIn: e.tokensIn, TokensOut: e.tokensOut, Title: e.title(),
	}
	n := e.names.Value()
	r.Agent, r.Model, r.TokensCached, r.ConfigGeneration = n.agent, n.model, e.tokensCached, n.generation
	r.ContextUsed, r.ContextWindow = int(e.used), int(e.window)
	if cost := e.cost; e.flags&flagPriced != 0 {
		r.Cost = &cost
	}
	if c := e.caller(); c.By != "" {
		r.Caller = &c
	}
	if t != nil {
		r.Turn, r.Doing, r.WaitingFor, r.ConfigGeneration = t.ID, t.now.Doing, t.waitingFor, t.generation()
		r.TurnStartedAt, r.LastProgressAt, r.DoingSince = ops.At(t.Started), ops.At(t.now.Progress), ops.At(t.now.Since)
		if t.now.Progress.After(r.LastActivityAt.Time) {
			r.LastActivityAt = ops.At(t.now.Progress)
		}
		if t.now.Approval != "" {
			r.WaitingFor = ops.WaitsForApproval + t.now.Approval
		}
		if t.show != nil {
			r.Shows = t.show.Shows()
		}
		if t.calls != nil {
			r.Calls, r.CallsLimit = t.calls.Used(), t.calls.Most()
		}
	} else if r.State == ops.SessionQueued && e.mail.inLine && !tb.free() {
		r.State, r.WaitingFor, r.Doing, r.DoingSince = ops.SessionWaiting, limit.Turns, ops.DoingTurnSlot, ops.At(e.mail.since)
	} else if e.gathers() {
		r.Doing, r.DoingSince = ops.DoingGather, ops.At(e.mail.queue[e.queued()-1].At)
	}
	e.attention(&r, t)
	return r
}

// full is row with the ID.
func (tb *Table) full(e *entry) ops.Session {
	r := tb.row(e)
	r.ID = e.ID()
	return r
}

// Row returns the row of one session.
func (tb *Table) Row(key string) (ops.Session, bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil {
		return ops.Session{}, false
	}
	return tb.full(e), true
}

// Selection chooses the rows of a Page.
type Selection struct {
	// After is the cursor of the previous page; the zero value begins at the first row.
	After Cursor
	// Limit is the most rows, at least 1.
	Limit int
	// Scan is the most rows that are checked; 0: no bound.
	Scan int
	// Groups are the groups that are checked; nil: all.
	Groups func(ops.SessionGroup) bool
	// Match picks the rows; nil for all. It sees a row without ID, is called under the table's lock, and must not call
	// the table.
	Match func(*ops.Session) bool
}

// Cursor is a place in the order. It stays valid when its row changes or ends: the next page begins after the place where
// that row was.
type Cursor struct {
	place uint64
	key   string
}

// String is the cursor on the wire, empty for the zero value.
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return ""
	}
	return strconv.FormatUint(c.place, 36) + "." + c.key
}

// ParseCursor reads Cursor.String. The error is an *ops.Error with CodeInvalid.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	place, key, found := strings.Cut(s, ".")
	n, err := strconv.ParseUint(place, 36, 64)
	if !found || err != nil || len(key) > maxKey {
		return Cursor{}, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("%.80q is not a cursor of this list", s), Hint: "pass the next of the page before, or start without a cursor"}
	}
	return Cursor{n, key}, nil
}

// stride is how many rows are checked under one hold of the lock: a filter over a million rows never makes a turn wait
// for more than about a millisecond.
const stride = 4096

// Page returns the selected rows in the order of ops.CompareSessions. next is the cursor of the next page, the zero value
// if there is none; scanned is how many rows were checked. Sessions that move while pages are read may be seen twice or
// not at all; the others are seen exactly once.
func (tb *Table) Page(sel Selection) (rows []ops.Session, next Cursor, scanned int) {
	at, last := sel.After, sel.After
	var r ops.Session // one for all: Match gets its address
	for {
		done := tb.walk(&at, stride, sel.Groups, func(e *entry) bool {
			if sel.Scan > 0 && scanned == sel.Scan {
				next = last
				return false
			}
			scanned++
			r = tb.row(e)
			if sel.Match == nil || sel.Match(&r) {
				if len(rows) == sel.Limit { // the page is full and one row remains: there is a next page
					next = last
					return false
				}
				r.ID = e.ID()
				rows = append(rows, r)
			}
			last = Cursor{e.place, e.Key()}
			return true
		})
		if done {
			return rows, next, scanned
		}
	}
}

// walk calls each for the entries after *at, at most n of them, under one hold of the lock, and moves *at. It reports
// whether the table has ended, or each returned false. Unwanted groups cost one step each.
func (tb *Table) walk(at *Cursor, n int, groups func(ops.SessionGroup) bool, each func(*entry) bool) (done bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	rows := tb.order.Iter()
	defer rows.Release()
	seek := func() bool { return rows.Seek(&entry{place: at.place, text: at.key, key: uint16(len(at.key))}) }
	for more := seek(); more; more = rows.Next() {
		e := rows.Item()
		for g := groupOf(e.place); groups != nil && !groups(g); g = groupOf(e.place) {
			if *at = (Cursor{place: uint64(g+1) << 62}); g == ops.GroupIdle || !seek() {
				return true
			}
			e = rows.Item()
		}
		if e.place == at.place && e.Key() == at.key {
			continue
		}
		if !each(e) {
			return true
		}
		*at = Cursor{e.place, e.Key()}
		if n--; n == 0 {
			return false
		}
	}
	return true
}

// working calls each for the sessions that are not idle: those that need attention, have a turn, or have waiting
// messages. The caller holds mu; each must not move entries.
func (tb *Table) working(each func(*entry)) {
	tb.order.Scan(func(e *entry) bool {
		if groupOf(e.place) == ops.GroupIdle {
			return false
		}
		each(e)
		return true
	})
}

// waiting are the sessions with waiting messages. The caller holds mu.
func (tb *Table) waiting() []*entry {
	var out []*entry
	tb.working(func(e *entry) {
		if e.queued() > 0 {
			out = append(out, e)
		}
	})
	return out
}

// Counts are numbers about the whole table.
type Counts struct {
	Sessions, Turns int
	// Queued is how many messages wait in all mailboxes, and QueuedBytes the bytes of their text.
	Queued      int
	QueuedBytes int64
	// Parked are those of Turns that wait for a person, and hold no slot.
	Parked int
	// InLine is how many sessions wait for a slot. While a slot is free, sessions in the line are held for another reason.
	InLine int
	// MostCalls is the largest number of model calls that a running turn has made.
	MostCalls int
}

// Counts counts what the table holds.
func (tb *Table) Counts() Counts {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	c := Counts{Sessions: len(tb.sessions), Turns: len(tb.turns), Parked: tb.parked, Queued: tb.queued, QueuedBytes: tb.bytes}
	if !tb.free() {
		c.InLine = tb.line.Len()
	}
	for _, t := range tb.turns {
		if t.calls != nil {
			c.MostCalls = max(c.MostCalls, t.calls.Used())
		}
	}
	return c
}

// Waiting are the rows of the sessions with waiting messages, in the order of the list.
func (tb *Table) Waiting() []ops.Session {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	var out []ops.Session
	for _, e := range tb.waiting() {
		out = append(out, tb.full(e))
	}
	return out
}
