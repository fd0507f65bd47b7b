package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"gatewaytui/core/ops"
)

// SaveShutdown writes the report of a shutdown as it stands; the report with the same id is overwritten.
func (s *Store) SaveShutdown(ctx context.Context, sd ops.Shutdown) error {
	report, err := json.Marshal(sd)
	if err != nil {
		return fmt.Errorf("write shutdown %s: %w", sd.ID, err)
	}
	return s.write(ctx, "write shutdown "+sd.ID, func(t *tx) error {
		_, err := t.exec(`INSERT INTO shutdowns (id, life, report) VALUES (?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET life = excluded.life, report = excluded.report`, sd.ID, sd.Life, string(report))
		return err
	})
}

// ShutdownOf is the report of the stop of a life, the newest if there were several; false if none was written.
func (s *Store) ShutdownOf(ctx context.Context, life string) (ops.Shutdown, bool, error) {
	return first(ctx, s, "read shutdown of "+life, `SELECT report FROM shutdowns WHERE life = ? ORDER BY seq DESC LIMIT 1`, []any{life}, scanShutdown)
}

// LastShutdown is the newest report on this home; false if there is none.
func (s *Store) LastShutdown(ctx context.Context) (ops.Shutdown, bool, error) {
	return first(ctx, s, "read the last shutdown", `SELECT report FROM shutdowns ORDER BY seq DESC LIMIT 1`, nil, scanShutdown)
}

func scanShutdown(rows *sql.Rows) (sd ops.Shutdown, err error) {
	var report string
	if err := rows.Scan(&report); err != nil {
		return sd, err
	}
	err = json.Unmarshal([]byte(report), &sd)
	return sd, err
}
