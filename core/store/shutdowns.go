package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"gatewaytui/core/ops"
)

// SaveShutdown writes the report of a shutdown as it stands; the report with the same id is overwritten.
func (s *Store) SaveShutdown(ctx context.Context, sd ops.Shutdown) error {
	return s.write(ctx, "write shutdown "+sd.ID, func(t *tx) error { return t.putShutdown(sd) })
}

func (t *tx) putShutdown(sd ops.Shutdown) error {
	report, err := json.Marshal(sd)
	if err != nil {
		return err
	}
	return t.do(`INSERT INTO shutdowns (id, life, report) VALUES (?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET life = excluded.life, report = excluded.report`, sd.ID, sd.Life, string(report))
}

// MarkStop is the first write of a stop, in one commit: life as ending, the audit row of the request, and every running
// turn as possibly interrupted. The turns continue and may still end as done. MarkStop returns how many were marked. The
// commit costs one fsync, or two at the start of a -wal: no checkpoint follows it.
func (s *Store) MarkStop(ctx context.Context, life Life, audit Audit, at time.Time) (int, error) {
	return result(ctx, s, "mark the stop of life "+life.ID, func(t *tx) (int, error) {
		if err := t.holdCheckpoint(); err != nil {
			return 0, err
		}
		if err := t.do(putLife, life.fields()...); err != nil {
			return 0, err
		}
		if err := t.do(putAudit, audit.fields()...); err != nil {
			return 0, err
		}
		return t.exec(`UPDATE turns SET marked_at = ? WHERE state = 'running'`, stamp(at))
	})
}

// MarkEnd is the last write of a stop, one commit: its report, and life as it ended. No checkpoint follows it; Close makes
// the last one.
func (s *Store) MarkEnd(ctx context.Context, sd ops.Shutdown, life Life) error {
	return s.write(ctx, "mark the end of life "+life.ID, func(t *tx) error {
		if err := t.holdCheckpoint(); err != nil {
			return err
		}
		if err := t.putShutdown(sd); err != nil {
			return err
		}
		return t.do(putLife, life.fields()...)
	})
}

// ShutdownOf is the report of the stop of a life, the newest if there were several; false if none was written.
func (s *Store) ShutdownOf(ctx context.Context, life string) (ops.Shutdown, bool, error) {
	return s.shutdown(ctx, "read shutdown of "+life, `SELECT report FROM shutdowns WHERE life = ? ORDER BY seq DESC LIMIT 1`, life)
}

// LastShutdown is the newest report on this home; false if there is none.
func (s *Store) LastShutdown(ctx context.Context) (ops.Shutdown, bool, error) {
	return s.shutdown(ctx, "read the last shutdown", `SELECT report FROM shutdowns ORDER BY seq DESC LIMIT 1`)
}

func (s *Store) shutdown(ctx context.Context, what, query string, args ...any) (sd ops.Shutdown, found bool, err error) {
	err = s.read(ctx, what, query, args, func(rows *sql.Rows) error {
		var report string
		if err := rows.Scan(&report); err != nil {
			return err
		}
		found = true
		return json.Unmarshal([]byte(report), &sd)
	})
	return sd, found && err == nil, err
}
