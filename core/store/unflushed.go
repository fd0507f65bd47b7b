package store

import (
	"context"
	"time"
)

// Unflushed is a conversation with messages that the memory's provider has not had (HR5).
type Unflushed struct {
	// Session is the id, Key the key of the conversation. Ended means that it has ended.
	Session, Key string
	Ended        bool
	// After is the number of the last message that the provider has.
	After int64
	// Life is the run of the gateway that wrote the row, Since when that was.
	Life  string
	Since time.Time
	// Tries is how many flushes failed, Reason why the last one did, and TriedAt when.
	Tries   int
	TriedAt time.Time
	Reason  string
}

func (v *Unflushed) fields() []any {
	return []any{&v.Session, &v.Key, &v.Ended, &v.After, &v.Life, (*stamp)(&v.Since), &v.Tries, (*stamp)(&v.TriedAt), &v.Reason}
}

const unflushedRows = `SELECT u.session_id, s.key, s.ended_at IS NOT NULL, u.after, u.life, u.since, u.tries, u.tried_at, u.reason FROM unflushed u JOIN sessions s ON s.id = u.session_id `

// remember records that the messages of a turn which begins are for the memory's provider.
func (t *tx) remember(turn Turn) error {
	if !turn.Remember {
		return nil
	}
	return t.do(`INSERT INTO unflushed (session_id, after, life, since) VALUES (?1, coalesce((SELECT max(seq) FROM messages WHERE session_id = ?1), 0), ?2, ?3) ON CONFLICT DO NOTHING`,
		turn.SessionID, turn.Life, stamp(turn.StartedAt))
}

// Unflushed is what the provider has not had of a conversation; false: nothing.
func (s *Store) Unflushed(ctx context.Context, sessionID string) (Unflushed, bool, error) {
	return first[Unflushed](ctx, s, "read what is not flushed of "+sessionID, unflushedRows+`WHERE u.session_id = ?`, sessionID)
}

// UnflushedOlder are the conversations with something that is not flushed, and that were written in another life or of which a flush
// failed, oldest first.
func (s *Store) UnflushedOlder(ctx context.Context, life string, limit int) ([]Unflushed, error) {
	return list[Unflushed](ctx, s, "read what is not flushed", unflushedRows+`WHERE u.life <> ? OR u.tries > 0 ORDER BY u.since, u.session_id LIMIT ?`, life, limit)
}

// Flushed records that the provider has the messages of a conversation up to one with this number.
func (s *Store) Flushed(ctx context.Context, sessionID string, upto int64) error {
	return s.write(ctx, "record a flush of "+sessionID, func(t *tx) error {
		if err := t.do(`DELETE FROM unflushed WHERE session_id = ?1 AND NOT EXISTS (SELECT 1 FROM messages WHERE session_id = ?1 AND seq > ?2)`, sessionID, upto); err != nil {
			return err
		}
		return t.do(`UPDATE unflushed SET after = max(after, ?2) WHERE session_id = ?1`, sessionID, upto)
	})
}

// FlushFailed records why a flush of a conversation failed.
func (s *Store) FlushFailed(ctx context.Context, sessionID, reason string, at time.Time) error {
	return s.change(ctx, "record a failed flush of "+sessionID, `UPDATE unflushed SET tries = tries + 1, tried_at = ?, reason = ? WHERE session_id = ?`, stamp(at), reason, sessionID)
}
