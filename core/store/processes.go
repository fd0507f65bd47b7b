package store

import (
	"context"
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

const processColumns = `life, pid, start_ticks, boot_id, session, command, policy, started_at, ended_at, how`

func (p *Process) fields() []any {
	return []any{
		&p.Life, &p.PID, (*ticks)(&p.StartTicks), &p.BootID, &p.Session, &p.Command, &p.Policy, (*stamp)(&p.StartedAt), (*stamp)(&p.EndedAt), &p.How,
	}
}

// putProcess overwrites the row of the same name, and endProcess changes only a row without an end.
var putProcess = insertion("INSERT OR REPLACE INTO processes", processColumns, "")

const endProcess = `UPDATE processes SET ended_at = ?, how = ? WHERE life = ? AND pid = ? AND start_ticks = ? AND ended_at IS NULL`

// RecordProcesses writes rows in their order in one commit, all of them or none. A row without an end is a tree that may
// live. A row with one records that the tree is gone, and How: it is not an error if the tree was never written.
func (s *Store) RecordProcesses(ctx context.Context, rows []Process) error {
	return s.write(ctx, "record processes", func(t *tx) error {
		for _, p := range rows {
			statement, args := putProcess, p.fields()
			if !p.EndedAt.IsZero() {
				statement, args = endProcess, []any{stamp(p.EndedAt), p.How, p.Life, p.PID, ticks(p.StartTicks)}
			}
			if err := t.do(statement, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// EndEarlierProcesses records that every tree of the other lives is gone.
func (s *Store) EndEarlierProcesses(ctx context.Context, life string, at time.Time, how string) error {
	return s.change(ctx, "end the processes of earlier lives", `UPDATE processes SET ended_at = ?, how = ? WHERE ended_at IS NULL AND life <> ?`,
		stamp(at), how, life)
}

// LiveProcesses are the rows without an end, of every life, oldest first: these trees may still live.
func (s *Store) LiveProcesses(ctx context.Context) ([]Process, error) {
	return list[Process](ctx, s, "read live processes", `SELECT `+processColumns+` FROM processes WHERE ended_at IS NULL ORDER BY started_at`)
}
