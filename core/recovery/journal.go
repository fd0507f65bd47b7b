package recovery

import (
	"context"
	"time"

	"gatewaytui/core/process"
	"gatewaytui/core/store"
)

// Journal is the store as the registry's record of what it started.
func (r *Recovery) Journal() process.Journal { return journal{r} }

type journal struct{ r *Recovery }

func (j journal) Record(ctx context.Context, notes []process.Note) error {
	rows := make([]store.Process, len(notes))
	for i, n := range notes {
		rows[i] = journalRow(n.Entry)
		if n.How != "" {
			rows[i].EndedAt, rows[i].How = time.Now(), n.How
		}
	}
	return j.r.Store().RecordProcesses(ctx, rows)
}

func journalRow(e process.Entry) store.Process {
	return store.Process{
		Life: e.Life, PID: e.PID, StartTicks: e.StartTicks, BootID: e.BootID, Session: e.Session, Command: e.Command,
		Policy: string(e.Policy), StartedAt: e.StartedAt,
	}
}
