package ops

import (
	"cmp"
	"strings"
	"time"
)

// SessionGroup is the part of the sessions' order that a session belongs to.
type SessionGroup uint8

// The groups, in their order: what waits for a person, what has work, and the rest.
const (
	GroupAttention SessionGroup = iota
	GroupBusy
	GroupIdle
)

// Group returns the group of a session in state s. A state that this build does not know counts as busy: a newer
// gateway has it for some kind of work.
func (s SessionState) Group() SessionGroup {
	switch s {
	case SessionStalled, SessionWaitingApproval, SessionSuspended:
		return GroupAttention
	case SessionIdle, SessionInterrupted:
		return GroupIdle
	}
	return GroupBusy
}

// SessionPlace is where a session stands in the order of the sessions, lowest first: see CompareSessions. Sessions with
// the same place are ordered by key. The resolution is one millisecond, as on the wire, so that every reader of the rows
// finds the order of the gateway again.
func SessionPlace(state SessionState, turnStarted, lastActivity time.Time) uint64 {
	const groupShift, late = 62, uint64(1) << 61
	group := state.Group()
	var at uint64
	switch {
	case group == GroupIdle:
		at = late - 1 - millis(lastActivity) // newest first
	case turnStarted.IsZero():
		at = late + millis(lastActivity) // behind those with a turn
	default:
		at = millis(turnStarted)
	}
	return uint64(group)<<groupShift | at
}

// millis is t in milliseconds since 1970, 0 for the zero time and what was before.
func millis(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(max(t.UnixMilli(), 0))
}

// Place is SessionPlace of the row.
func (s *Session) Place() uint64 {
	return SessionPlace(s.State, s.TurnStartedAt.Time, s.LastActivityAt.Time)
}

// CompareSessions is the default order of sessions everywhere: what needs attention first, then those with work, then
// the idle ones. Attention and work are ordered by the start of their turn, oldest first, and rows without a turn come
// behind those; idle ones are ordered by their last activity, newest first. Nothing that a running turn does moves its
// row, so that a list stands still while its ages tick.
func CompareSessions(a, b *Session) int {
	if c := cmp.Compare(a.Place(), b.Place()); c != 0 {
		return c
	}
	return strings.Compare(a.Key, b.Key)
}
