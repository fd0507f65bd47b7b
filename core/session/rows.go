package session

import (
	"slices"
	"time"

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

// Still is how long model and tool have made no progress in t, running or released.
func (tb *Table) Still(t *Turn) time.Duration {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return time.Since(t.now.Progress)
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

// Len is the number of sessions and of running turns.
func (tb *Table) Len() (sessions, turns int) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return len(tb.sessions), len(tb.turns)
}

// Queued is how many messages wait in all mailboxes.
func (tb *Table) Queued() int {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return tb.queued
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
