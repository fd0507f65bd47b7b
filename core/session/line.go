package session

import (
	"context"
	"time"
)

// free reports whether one more turn may run. The caller holds mu.
func (tb *Table) free() bool { return tb.o.Turns <= 0 || len(tb.turns) < tb.o.Turns }

// align puts e into the line of sessions that wait for a slot, or removes it. e is in the line while it has waiting
// messages and they wait neither for a running turn nor for the end of its conversation. settle calls it, with mu held.
func (tb *Table) align(e *entry) {
	should := e.queued() > 0 && !e.closing() && tb.turns[e.Key()] == nil
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

// InLine is how many sessions wait for a slot. While a slot is free, sessions in the line are held for another reason.
func (tb *Table) InLine() int {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.free() {
		return 0
	}
	return tb.line.Len()
}

// QueuedBytes is how many bytes of text all mailboxes hold.
func (tb *Table) QueuedBytes() int64 {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return tb.bytes
}

// MostCalls is the largest number of model calls that a running turn has made.
func (tb *Table) MostCalls() (most int) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, t := range tb.turns {
		if t.calls != nil {
			most = max(most, t.calls.Used())
		}
	}
	return most
}
