package recovery

import (
	"context"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// earlierEntries are the journal's rows of earlier lives that have no end, without those of a gateway that runs on the home
// that this home is a copy of.
func (r *Recovery) earlierEntries(ctx context.Context) ([]process.Entry, error) {
	rows, err := r.Store().LiveProcesses(ctx)
	if err != nil {
		r.log.Warn("journal not read", "error", term.Clean(err.Error(), 300))
		return nil, err
	}
	var entries []process.Entry
	for _, row := range rows {
		if row.Life != r.o.Life && row.Life != r.copiedFrom {
			entries = append(entries, process.Entry{
				Life: row.Life, PID: row.PID, StartTicks: row.StartTicks, BootID: row.BootID, Session: row.Session, Command: row.Command,
				Policy: process.Policy(row.Policy), StartedAt: row.StartedAt,
			})
		}
	}
	return entries, nil
}

// Adopt takes over the background commands that the life before was to keep, if it was killed and their sessions go on
// (C10). Sweep ends the rest.
func (r *Recovery) Adopt(ctx context.Context, procs *process.Registry) {
	entries, err := r.earlierEntries(ctx)
	if err != nil {
		return
	}
	entries = slices.DeleteFunc(entries, func(e process.Entry) bool {
		if e.Policy != process.PolicyKept {
			return true
		}
		s, found, err := r.Store().CurrentSession(ctx, e.Session)
		return err != nil || !found || s.State == ops.SessionSuspended || session.IsBackground(e.Session)
	})
	r.recordEnds(ctx, procs.AdoptEarlier(ctx, entries), "adopted")
}

// recordEnds logs that processes of earlier lives were adopted or ended, and ends their rows in the journal.
func (r *Recovery) recordEnds(ctx context.Context, entries []process.Entry, how string) {
	rows := make([]store.Process, len(entries))
	for i, e := range entries {
		r.log.Warn("process of an earlier life "+how, "life", e.Life, "pid", e.PID, "session", e.Session, "command", term.Clean(e.Command, 120))
		rows[i] = journalRow(e, how+" by the next life")
	}
	if len(rows) == 0 {
		return
	}
	if err := r.Store().RecordProcesses(ctx, rows); err != nil {
		r.log.Warn("journal not written", "error", term.Clean(err.Error(), 300))
	}
}

// How long Sweep waits before it looks again for what survived: at first, and at most.
const (
	sweepAgain     = time.Second
	sweepAgainMost = time.Minute
)

// EarlierLives ends what earlier lives left. *process.Registry does.
type EarlierLives interface {
	SweepEarlier(ctx context.Context, rows []process.Entry) (ended, spared []process.Entry, err error)
}

// Sweep ends what earlier lives left running, where no guardian did or the guardian died too (C2). A busy machine can keep the kernel
// from ending a process within the second that a kill waits, so Sweep looks again until nothing is left. It warns once of what survives,
// and returns when nothing is left or ctx ends.
func (r *Recovery) Sweep(ctx context.Context, procs EarlierLives) {
	warned := false
	for wait := sweepAgain; ; wait = min(2*wait, sweepAgainMost) {
		entries, err := r.earlierEntries(ctx)
		if err != nil {
			return
		}
		err = r.sweep(ctx, procs, entries)
		if err == nil {
			return
		}
		if !warned {
			warned = true
			r.o.Health.Warn("process.survivors", "processes of an earlier life survived, and are looked for again: "+term.Clean(err.Error(), 300))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// sweep is one look. What survives stays in the journal.
func (r *Recovery) sweep(ctx context.Context, procs EarlierLives, entries []process.Entry) error {
	ended, spared, err := procs.SweepEarlier(ctx, entries)
	r.recordEnds(ctx, ended, "ended")
	for _, e := range spared {
		r.log.Info("journaled pid was reused; skipped", "life", e.Life, "pid", e.PID)
	}
	if err != nil {
		return err
	}
	if err := r.Store().EndEarlierProcesses(ctx, r.o.Life, time.Now(), "gone before the next life"); err != nil && ctx.Err() == nil {
		r.log.Warn("journal not written", "error", term.Clean(err.Error(), 300))
	}
	return nil
}

// Record implements process.Journal: the store is the registry's record of what it started.
func (r *Recovery) Record(ctx context.Context, notes []process.Note) error {
	rows := make([]store.Process, len(notes))
	for i, n := range notes {
		rows[i] = journalRow(n.Entry, n.How)
	}
	return r.Store().RecordProcesses(ctx, rows)
}

// journalRow is a row of the journal for a tree that how has ended; empty: it may live.
func journalRow(e process.Entry, how string) store.Process {
	row := store.Process{
		Life: e.Life, PID: e.PID, StartTicks: e.StartTicks, BootID: e.BootID, Session: e.Session, Command: e.Command,
		Policy: string(e.Policy), StartedAt: e.StartedAt, How: how,
	}
	if how != "" {
		row.EndedAt = time.Now()
	}
	return row
}
