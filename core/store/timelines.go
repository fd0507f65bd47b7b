package store

import (
	"context"
	"time"
)

// TurnRow is a turn as it is in the store.
type TurnRow struct {
	ID, SessionID string
	// Key is the key of its session.
	Key                string
	StartedAt, EndedAt time.Time
	State, Reason      string
	TokensIn           int64
	TokensCached       int64
	TokensOut          int64
	Cost               float64
	Priced             bool
}

func (t *TurnRow) fields() []any {
	return []any{&t.ID, &t.SessionID, &t.Key, (*stamp)(&t.StartedAt), (*stamp)(&t.EndedAt), &t.State, &t.Reason, &t.TokensIn, &t.TokensCached, &t.TokensOut, money{&t.Cost, &t.Priced}}
}

const turnRow = `SELECT t.id, t.session_id, s.key, t.started_at, t.ended_at, t.state, t.reason, t.tokens_in, t.tokens_cached, t.tokens_out, t.cost
	FROM turns t JOIN sessions s ON s.id = t.session_id`

// Turns are the turns of a session, newest first: at most limit, and those before the turn with an id, if it is not empty.
func (s *Store) Turns(ctx context.Context, sessionID, before string, limit int) ([]TurnRow, error) {
	return list[TurnRow](ctx, s, "read the turns of "+sessionID, turnRow+` WHERE t.session_id = ?1 AND (?2 = '' OR t.id < ?2) ORDER BY t.id DESC LIMIT ?3`, sessionID, before, limit)
}

// Turn is the turn with an id, if there is one.
func (s *Store) Turn(ctx context.Context, id string) (TurnRow, bool, error) {
	return first[TurnRow](ctx, s, "read turn "+id, turnRow+` WHERE t.id = ?`, id)
}

// neighbours are texts of one row.
type neighbours struct{ earlier, later, record string }

func (n *neighbours) fields() []any { return []any{&n.earlier, &n.later, &n.record} }

// Timeline is what a turn of a session did, as it was written with its end; empty: nothing is kept of it. earlier and later are the ids
// of the turns before and after it.
func (s *Store) Timeline(ctx context.Context, sessionID, id string) (record, earlier, later string, err error) {
	n, _, err := first[neighbours](ctx, s, "read the timeline of turn "+id, `SELECT coalesce((SELECT max(id) FROM turns WHERE session_id = ?1 AND id < ?2), ''),
		coalesce((SELECT min(id) FROM turns WHERE session_id = ?1 AND id > ?2), ''), coalesce((SELECT record FROM timelines WHERE turn_id = ?2), '')`, sessionID, id)
	return n.record, n.earlier, n.later, err
}

// TurnEntries are the messages of a turn, in order, at most limit, without their texts.
func (s *Store) TurnEntries(ctx context.Context, id string, limit int) ([]Entry, error) {
	return list[Entry](ctx, s, "read the messages of turn "+id, `SELECT m.seq, m.turn_id, 0, m.role, '', '', m.tool_calls, m.tool_call_id, m.at FROM messages m
		WHERE m.turn_id = ? ORDER BY m.seq LIMIT ?`, id, limit)
}

// putTimeline writes what a turn did, unless nothing was recorded. A turn has one end, so there is one row.
func (t *tx) putTimeline(turn Turn) error {
	if turn.Timeline == "" {
		return nil
	}
	return t.do(`INSERT INTO timelines (turn_id, at, record) VALUES (?, ?, ?)`, turn.ID, stamp(turn.EndedAt), turn.Timeline)
}
