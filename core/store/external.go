package store

import (
	"context"
	"database/sql"
	"time"
)

// ExternalSession is the name that the program of an agent gave its own session of a conversation (HR7); empty: none is kept.
func (s *Store) ExternalSession(ctx context.Context, sessionID, agent string) (id string, err error) {
	err = s.read(ctx, "read the external session of "+sessionID, `SELECT id FROM external_sessions WHERE session_id = ? AND agent = ?`, []any{sessionID, agent}, func(rows *sql.Rows) error {
		return rows.Scan(&id)
	})
	return id, err
}

// KeepExternalSession keeps such a name in the place of an earlier one. A conversation that does not exist any more keeps none.
func (s *Store) KeepExternalSession(ctx context.Context, sessionID, agent, id string, at time.Time) error {
	return s.change(ctx, "keep the external session of "+sessionID, `INSERT INTO external_sessions (session_id, agent, id, at) SELECT id, ?, ?, ? FROM sessions WHERE id = ?
		ON CONFLICT (session_id, agent) DO UPDATE SET id = excluded.id, at = excluded.at`, agent, id, stamp(at), sessionID)
}
