package session

import (
	"slices"

	"gatewaytui/core/ops"
)

// Running returns a view of the running turn of key.
func (tb *Table) Running(key string) (TurnView, bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if t := tb.turns[key]; t != nil {
		return TurnView{t, t.now}, true
	}
	return TurnView{}, false
}

// Turns are the running turns, oldest first.
func (tb *Table) Turns() []TurnView {
	tb.mu.Lock()
	out := make([]TurnView, 0, len(tb.turns))
	for _, t := range tb.turns {
		out = append(out, TurnView{t, t.now})
	}
	tb.mu.Unlock()
	slices.SortFunc(out, func(a, b TurnView) int { return a.Started.Compare(b.Started) })
	return out
}

// Counts are numbers about the whole table.
type Counts struct {
	Sessions, Turns int
	// Queued is how many messages wait in all mailboxes, and QueuedBytes the bytes of their text.
	Queued      int
	QueuedBytes int64
	// InLine is how many sessions wait for a slot. While a slot is free, sessions in the line are held for another reason.
	InLine int
	// MostCalls is the largest number of model calls that a running turn has made.
	MostCalls int
}

// Counts counts what the table holds.
func (tb *Table) Counts() Counts {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	c := Counts{Sessions: len(tb.sessions), Turns: len(tb.turns), Queued: tb.queued, QueuedBytes: tb.bytes}
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
