package store

import (
	"context"
	"database/sql"
	"time"
)

// lastRow reads the newest time of the rows that a life commits, each along the table's key or an index.
const lastRow = `SELECT max(at) FROM (
	SELECT (SELECT at FROM messages ORDER BY seq DESC LIMIT 1) AS at
	UNION ALL SELECT (SELECT at FROM inbox ORDER BY seq DESC LIMIT 1)
	UNION ALL SELECT (SELECT at FROM outbox ORDER BY seq DESC LIMIT 1)
	UNION ALL SELECT (SELECT at FROM audit ORDER BY seq DESC LIMIT 1)
	UNION ALL SELECT (SELECT max(ended_at) FROM outbox WHERE state <> 'waiting')
	UNION ALL SELECT (SELECT max(last_activity_at) FROM sessions WHERE ended_at IS NULL))`

// LastRow is the time of the newest row that was committed; zero if there is none. A life that was killed ran at least
// until then (TF25).
func (s *Store) LastRow(ctx context.Context) (time.Time, error) {
	at, _, err := first(ctx, s, "read the newest row's time", lastRow, nil, func(rows *sql.Rows) (at time.Time, err error) {
		err = rows.Scan((*stamp)(&at))
		return at, err
	})
	return at, err
}
