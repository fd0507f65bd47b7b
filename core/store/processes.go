package store

import (
	"context"
	"database/sql"
	"time"
)

// Process is one row of the process journal: a subprocess tree that a life started, named by its leader. Life, PID and
// StartTicks identify it.
type Process struct {
	Life       string
	PID        int
	StartTicks uint64 // /proc/PID/stat, field 22
	BootID     string
	Session    string
	Command    string
	Policy     string
	StartedAt  time.Time
	// EndedAt is zero while the tree may live; How is what ended it.
	EndedAt time.Time
	How     string
}

// putProcess writes a row of the journal; the row of the same name is overwritten.
func putProcess(t *tx, p Process) error {
	_, err := t.exec(`INSERT OR REPLACE INTO processes (life, pid, start_ticks, boot_id, session, command, policy, started_at, ended_at, how)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		p.Life, p.PID, int64(p.StartTicks), p.BootID, p.Session, p.Command, p.Policy, stamp(p.StartedAt), stamp(p.EndedAt), p.How)
	return err
}

// EndProcess records that a tree is gone, and what ended it. A row that has ended does not change. It is not an error if
// the row was never written.
func (s *Store) EndProcess(ctx context.Context, life string, pid int, startTicks uint64, at time.Time, how string) error {
	return s.write(ctx, "end process", func(t *tx) error {
		return endProcess(t, Process{Life: life, PID: pid, StartTicks: startTicks, EndedAt: at, How: how})
	})
}

func endProcess(t *tx, p Process) error {
	_, err := t.exec(`UPDATE processes SET ended_at = ?, how = ? WHERE life = ? AND pid = ? AND start_ticks = ? AND ended_at IS NULL`,
		stamp(p.EndedAt), p.How, p.Life, p.PID, int64(p.StartTicks))
	return err
}

// RecordProcesses writes rows in their order in one commit, all of them or none: rows without an end as PutProcess does,
// rows with an end as EndProcess does.
func (s *Store) RecordProcesses(ctx context.Context, rows []Process) error {
	return s.write(ctx, "record processes", func(t *tx) error {
		for _, p := range rows {
			record := putProcess
			if !p.EndedAt.IsZero() {
				record = endProcess
			}
			if err := record(t, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// EndEarlierProcesses records that every tree of the other lives is gone.
func (s *Store) EndEarlierProcesses(ctx context.Context, life string, at time.Time, how string) error {
	return s.write(ctx, "end the processes of earlier lives", func(t *tx) error {
		_, err := t.exec(`UPDATE processes SET ended_at = ?, how = ? WHERE ended_at IS NULL AND life <> ?`, stamp(at), how, life)
		return err
	})
}

// LiveProcesses are the rows without an end, of every life, oldest first: these trees may still live.
func (s *Store) LiveProcesses(ctx context.Context) ([]Process, error) {
	return collect(ctx, s, "read live processes", `SELECT life, pid, start_ticks, boot_id, session, command, policy, started_at
		FROM processes WHERE ended_at IS NULL ORDER BY started_at`, nil,
		func(rows *sql.Rows) (p Process, err error) {
			var ticks int64
			err = rows.Scan(&p.Life, &p.PID, &ticks, &p.BootID, &p.Session, &p.Command, &p.Policy, (*stamp)(&p.StartedAt))
			p.StartTicks = uint64(ticks)
			return p, err
		})
}
