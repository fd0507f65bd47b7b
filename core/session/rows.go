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
		return tb.view(t), true
	}
	return TurnView{}, false
}

// TurnView is a running turn at one moment.
type TurnView struct {
	*Turn
	// Agent is nil while the turn is a placeholder: it is then never interrupted for its own sake, closed or counted.
	Agent    any
	Progress time.Time
	Doing    string
	// Since is when Doing began.
	Since time.Time
	// StalledAt is when the turn was found to be stalled; zero: it is not.
	StalledAt time.Time
	Interrupt error
}

func (tb *Table) view(t *Turn) TurnView {
	return TurnView{Turn: t, Agent: t.agent, Progress: t.progress, Doing: t.doing, Since: t.since, StalledAt: t.stalled, Interrupt: t.interrupt}
}

// Still is how long model and tool have not moved in t, running or released.
func (tb *Table) Still(t *Turn) time.Duration {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return time.Since(t.progress)
}

// Turns are the running turns, oldest first.
func (tb *Table) Turns() []TurnView {
	tb.mu.Lock()
	out := make([]TurnView, 0, len(tb.turns))
	for _, t := range tb.turns {
		out = append(out, tb.view(t))
	}
	tb.mu.Unlock()
	slices.SortFunc(out, func(a, b TurnView) int { return a.Started.Compare(b.Started) })
	return out
}

// Len is how many sessions and how many running turns there are.
func (tb *Table) Len() (sessions, turns int) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return len(tb.sessions), len(tb.turns)
}

// Rows are the sessions as the operator sees them: running ones first, then by last activity, newest first. The columns
// that the table does not know (processes, cached) are left empty.
func (tb *Table) Rows() []ops.Session {
	tb.mu.Lock()
	out := make([]ops.Session, 0, len(tb.sessions))
	for key, e := range tb.sessions {
		row := ops.Session{
			Key: key, ID: e.ID, State: e.State, Platform: e.Platform, User: e.User, LastActivityAt: ops.At(e.LastActivity),
			Queued: len(e.queue), TokensIn: e.TokensIn, TokensOut: e.TokensOut,
		}
		if t := tb.turns[key]; t != nil {
			row.State, row.Turn, row.Doing = ops.SessionRunning, t.ID, t.doing
			row.TurnStartedAt, row.LastProgressAt = ops.At(t.Started), ops.At(t.progress)
			row.DoingSince = ops.At(t.since)
			if !t.stalled.IsZero() {
				row.State = ops.SessionStalled
			}
			if t.progress.After(e.LastActivity) {
				row.LastActivityAt = ops.At(t.progress)
			}
		} else if len(e.queue) > 0 {
			row.State = ops.SessionQueued
		}
		out = append(out, row)
	}
	tb.mu.Unlock()
	slices.SortFunc(out, compareRows)
	return out
}

func compareRows(a, b ops.Session) int {
	if ra, rb := a.Turn != "", b.Turn != ""; ra != rb {
		if ra {
			return -1
		}
		return 1
	}
	if c := b.LastActivityAt.Compare(a.LastActivityAt.Time); c != 0 {
		return c
	}
	if a.Key < b.Key {
		return -1
	}
	return 1
}
