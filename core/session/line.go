package session

import (
	"context"
	"slices"
	"time"
)

// free reports whether one more turn may run. The caller holds mu.
func (tb *Table) free() bool { return tb.o.Turns <= 0 || len(tb.turns) < tb.o.Turns }

// align puts e into the line of sessions that wait for a slot, or removes it. e is in the line while it has waiting
// messages and they wait neither for a running turn nor for the end of its conversation. reposition calls it, with mu held.
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
	if e == nil || e.mail == nil || !e.mail.inLine {
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
