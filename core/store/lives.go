package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"gatewaytui/core/ops"
)

// Life is one run of a gateway on this home. The running life has OutcomeRunning and no EndedAt. HeartbeatAt is when it
// was last known to be alive, which remains after a crash.
type Life struct {
	ID string
	// PID, StartTicks and BootID together name the process (B11).
	PID        int
	StartTicks uint64
	BootID     string
	Version    string

	StartedAt   time.Time
	EndedAt     time.Time
	HeartbeatAt time.Time
	// RSS is its resident memory at HeartbeatAt, in bytes; 0: unknown.
	RSS     int64
	Outcome ops.Outcome
	// Phase is the shutdown phase in which a cut-short life ended.
	Phase  string
	Reason string
	By     string
	// ClockDoubted means that the wall clock disagreed with the lives before it. The next life does not compare its clock
	// with these times.
	ClockDoubted bool
}

const lifeColumns = `id, pid, start_ticks, boot_id, version, started_at, ended_at, heartbeat_at, outcome, phase, reason, by, rss, clock_doubted`

func (l *Life) fields() []any {
	return []any{
		&l.ID, &l.PID, (*ticks)(&l.StartTicks), &l.BootID, &l.Version, (*stamp)(&l.StartedAt), (*stamp)(&l.EndedAt), (*stamp)(&l.HeartbeatAt),
		&l.Outcome, &l.Phase, &l.Reason, &l.By, &l.RSS, &l.ClockDoubted,
	}
}

var putLife = insertion("INSERT INTO lives", lifeColumns, `ON CONFLICT (id) DO UPDATE SET pid = excluded.pid, start_ticks = excluded.start_ticks,
	boot_id = excluded.boot_id, version = excluded.version, started_at = excluded.started_at, ended_at = excluded.ended_at,
	heartbeat_at = excluded.heartbeat_at, outcome = excluded.outcome, phase = excluded.phase, reason = excluded.reason,
	by = excluded.by, rss = excluded.rss, clock_doubted = excluded.clock_doubted`)

// PutLife writes a whole life. A life with the same id is overwritten and keeps its place.
func (s *Store) PutLife(ctx context.Context, l Life) error {
	return s.change(ctx, "write life "+l.ID, putLife, l.fields()...)
}

// Heartbeat records that the life with this id was alive at at, with rss bytes resident. A life that has ended keeps its
// record.
func (s *Store) Heartbeat(ctx context.Context, id string, at time.Time, rss int64) error {
	return s.change(ctx, "write the heartbeat of life "+id, `UPDATE lives SET heartbeat_at = ?, rss = ? WHERE id = ? AND outcome = ?`,
		stamp(at), rss, id, ops.OutcomeRunning)
}

// JudgeClock records whether the wall clock of the running life is doubted, and that the life was alive at at.
func (s *Store) JudgeClock(ctx context.Context, id string, doubted bool, at time.Time) error {
	return s.change(ctx, "write the verdict on the clock of life "+id, `UPDATE lives SET heartbeat_at = ?, clock_doubted = ? WHERE id = ? AND outcome = ?`,
		stamp(at), doubted, id, ops.OutcomeRunning)
}

// LastAgreed is when the last life whose clock was not doubted ended, or was last known to run; zero if there is none.
func (s *Store) LastAgreed(ctx context.Context) (at time.Time, err error) {
	err = s.value(ctx, "read when the clock last agreed", `SELECT coalesce(ended_at, heartbeat_at) FROM lives
		WHERE clock_doubted = 0 AND coalesce(ended_at, heartbeat_at) IS NOT NULL ORDER BY seq DESC LIMIT 1`, (*stamp)(&at))
	return at, err
}

// LastLife is the life that began last; false if there was none on this home.
func (s *Store) LastLife(ctx context.Context) (Life, bool, error) {
	return first[Life](ctx, s, "read the last life", `SELECT `+lifeColumns+` FROM lives ORDER BY seq DESC LIMIT 1`)
}

// LivesBegun is how many lives began on this home, deleted ones included.
func (s *Store) LivesBegun(ctx context.Context) (n int64, err error) {
	err = s.value(ctx, "count the lives", `SELECT coalesce(max(seq), 0) FROM lives`, &n)
	return n, err
}

// Lives are the lives that began before the cursor's life, newest first. An empty cursor begins with the newest; next is
// the cursor of the next page, empty on the last. A cursor that Lives did not return is an *ops.Error with CodeInvalid.
// limit is bounded as ops.Query.Limit is.
func (s *Store) Lives(ctx context.Context, limit int, cursor string) (lives []Life, next string, err error) {
	before := int64(1<<63 - 1)
	if cursor != "" {
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil {
			return nil, "", &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("unknown cursor %.20q", cursor), Hint: "begin with the first page"}
		}
	}
	limit = ops.PageSize(limit)
	var seqs []int64
	err = s.read(ctx, "read lives", `SELECT `+lifeColumns+`, seq FROM lives WHERE seq < ? ORDER BY seq DESC LIMIT ?`, []any{before, limit + 1},
		func(rows *sql.Rows) error {
			var l Life
			var seq int64
			err := rows.Scan(append(l.fields(), &seq)...)
			lives, seqs = append(lives, l), append(seqs, seq)
			return err
		})
	if err != nil {
		return nil, "", err
	}
	if len(lives) > limit { // one more than asked for: there is a next page
		lives, next = lives[:limit], strconv.FormatInt(seqs[limit-1], 10)
	}
	return lives, next, nil
}

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
func (s *Store) LastRow(ctx context.Context) (at time.Time, err error) {
	err = s.value(ctx, "read the newest row's time", lastRow, (*stamp)(&at))
	return at, err
}

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

// LivesSince is how many lives began after at.
func (s *Store) LivesSince(ctx context.Context, at time.Time) (n int, err error) {
	err = s.read(ctx, "count lives", `SELECT count(*) FROM lives WHERE started_at > ?`, []any{stamp(at)}, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}
