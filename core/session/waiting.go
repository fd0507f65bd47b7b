package session

import "context"

// dropped empties the mailbox of e. The caller holds mu.
func (tb *Table) dropped(e *entry) []Message {
	out := e.drop()
	tb.popped(out...)
	return out
}

// Drop empties every mailbox, for a stop that will not reach them, and returns the waiting messages by session key.
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
