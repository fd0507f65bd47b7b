package recovery

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"gatewaytui/core/instance"
	"gatewaytui/core/lives"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// beginLife reads how the life before ended, ends what it left running in the store, and records this one.
func (r *Recovery) beginLife(ctx context.Context) error {
	if r.o.Health.Damage() != "" {
		r.readLastLife(ctx)
		return nil
	}
	if _, err := r.quarantine(ctx, store.AtStart); err != nil {
		return err
	}
	agreed, err := r.Store().LastAgreed(ctx)
	if err != nil {
		return err
	}
	if r.o.TrustClock {
		agreed = time.Time{}
	}
	r.o.Health.BeginClock(agreed)
	last, found, err := r.Store().LastLife(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	crashed := false
	if found {
		last.HeartbeatAt = r.lastSeen(ctx, last, now)
		report, reported := r.reportOf(last.ID)
		if last.Outcome == ops.OutcomeRunning && livesOn(last) {
			r.copiedFrom = last.ID
			r.o.Health.Warn("home.copied", fmt.Sprintf("this home is a copy of one whose gateway, pid %d, still runs: its processes are left alone. Both answer on the same platforms if they have the same credentials", last.PID))
			last.Reason = "its home was copied while it ran"
		}
		last = r.classify(last, report, reported)
		crashed = last.Outcome == ops.OutcomeCrashed
		if report.ID != "" {
			if err := r.Store().SaveShutdown(ctx, report); err != nil {
				r.log.Warn("last shutdown's report not saved", "life", last.ID, "error", term.Clean(err.Error(), 300))
			}
		}
		if err := r.Store().PutLife(ctx, last); err != nil {
			return fmt.Errorf("record the end of life %s: %w", last.ID, err)
		}
		r.setLastEnd(last, report)
	}
	if r.cutOff, err = r.Store().InterruptRunning(ctx, "the gateway ended while it ran", crashed, now); err != nil {
		return fmt.Errorf("end the turns of earlier lives: %w", err)
	}
	before, _, err := r.Store().Lives(ctx, loopLives, "")
	if err != nil {
		return err
	}
	r.resumes = !r.o.NoResume
	if inLoop(before, r.o.Health.Started()) {
		r.resumes = false
		r.o.Health.Warn("boot_loop", fmt.Sprintf("the last %d lives ended uncleanly, each soon after it began: this one resumes nothing that they left. `gatewaytui history` shows them", loopLives))
	}
	if err := r.Store().PutLife(ctx, r.Row()); err != nil {
		return fmt.Errorf("record this life: %w", err)
	}
	r.listLives(ctx)
	return nil
}

// lastSeen is when a life that did not record its end was last known to run: the latest of its heartbeat, of its row in the
// list of lives and of the newest row that it committed (TF25). A time after now is of a clock that was set back.
func (r *Recovery) lastSeen(ctx context.Context, l store.Life, now time.Time) time.Time {
	seen := l.HeartbeatAt
	if l.Outcome != ops.OutcomeRunning {
		return seen
	}
	row, err := r.Store().LastRow(ctx)
	if err != nil {
		r.log.Warn("the time of the newest row is unknown", "error", term.Clean(err.Error(), 300))
	}
	for _, at := range []time.Time{row, r.o.Lives.Seen(l.ID).Time} {
		if at.After(seen) && !at.After(now) {
			seen = at
		}
	}
	return seen
}

// listLives brings the list of lives up to date with the store, and adds this life.
func (r *Recovery) listLives(ctx context.Context) {
	past, _, err := r.Store().Lives(ctx, lives.Kept, "")
	if err != nil {
		r.log.Warn("past lives are not listed", "error", term.Clean(err.Error(), 300))
	}
	rows := make([]ops.Life, 0, len(past)+1)
	for _, l := range past {
		rows = append(rows, LifeRow(l))
	}
	r.listLife(append(rows, LifeRow(r.Row()))...)
}

// listLife writes rows into the list of lives. Its readers do without it, so a failure is only logged.
func (r *Recovery) listLife(rows ...ops.Life) {
	if err := r.o.Lives.Put(rows...); err != nil {
		r.log.Warn("the list of lives is not written", "error", term.Clean(err.Error(), 300))
	}
}

// endedRow is this life's row as it ends.
func (r *Recovery) endedRow(rep ops.Shutdown) store.Life {
	life := r.Row()
	life.EndedAt, life.Reason, life.By = life.HeartbeatAt, rep.Reason, rep.By
	life.Outcome, life.Phase = lives.EndOf(rep)
	return life
}

// livesOn reports whether a life's gateway still runs. This gateway holds the lock of its home, so the home of the other one
// is the original, and this home a copy of it (B13, B14).
func livesOn(l store.Life) bool {
	alive, known := instance.Alive(instance.Record{PID: l.PID, StartTicks: l.StartTicks, BootID: l.BootID})
	return alive && known && l.PID != os.Getpid()
}

// readLastLife says how the life before ended, as far as a damaged database tells.
func (r *Recovery) readLastLife(ctx context.Context) {
	r.listLife(LifeRow(r.Row()))
	last, found, err := r.Store().LastLife(ctx)
	if err != nil {
		r.o.Health.Warn("store.unread", "how the last life ended could not be read: "+term.Clean(err.Error(), 300))
	}
	if err == nil && found {
		report, reported := r.reportOf(last.ID)
		r.setLastEnd(r.classify(last, report, reported), report)
	}
}

// reportOf is the report of a life's stop. One that cannot be used is as good as none, but that it is there tells that the
// stop had begun: reported is true, and the report has no id.
func (r *Recovery) reportOf(life string) (report ops.Shutdown, reported bool) {
	report, reported, err := r.o.Reports.LastReport(life)
	if err != nil {
		r.o.Health.Warn("aside", term.Clean(err.Error(), 600))
		return ops.Shutdown{}, true
	}
	return report, reported
}

// classify says how an earlier life ended (DESIGN.md, 7): the store knows of a clean end, the marker of a planned stop
// that was cut short, the report in which phase. Without either it crashed. A marker or a report that is there and cannot
// be read still says that a stop had begun: a start takes every marker away, so it is this life's, and a report bears the
// life's name. Nothing more is taken from it. A crash would count against the sessions that ran, for an end that
// was planned (A19); a loop of ends that are cut short is broken like one of crashes.
func (r *Recovery) classify(last store.Life, report ops.Shutdown, reported bool) store.Life {
	if last.Outcome != ops.OutcomeRunning {
		return last
	}
	last.Outcome, last.Phase = lives.Ended(report, reported || r.o.LifeBefore == last.ID || r.o.MarkerUnread)
	last.EndedAt = report.EndedAt.Time
	if reported && last.Reason == "" {
		last.Reason, last.By = report.Reason, report.By
	}
	if last.Outcome == ops.OutcomeCutShort && last.Reason == "" && last.ID != r.o.LifeBefore && report.ID == "" {
		last.Reason = "a stop had begun; what it left of that cannot be read"
	}
	return last
}

func (r *Recovery) setLastEnd(l store.Life, report ops.Shutdown) {
	row := LifeRow(l)
	row.Shutdown = &report
	end := row.LastEnd()
	r.lastEnd.Store(end)
	if l.Outcome != ops.OutcomeClean {
		r.log.Warn("the last life did not end cleanly", "life", l.ID, "outcome", string(l.Outcome), "phase", l.Phase, "at", end.At.Time, "rss_bytes", l.RSS)
	}
}

// Row is this life as it is now.
func (r *Recovery) Row() store.Life {
	now := time.Now()
	return store.Life{
		ID: r.o.Life, PID: r.o.PID, StartTicks: r.o.StartTicks, BootID: r.o.BootID, Version: r.o.Version,
		StartedAt: r.o.Health.StartedAt(now), HeartbeatAt: now, RSS: process.Resident(), Outcome: ops.OutcomeRunning,
		ClockDoubted: r.o.Health.ClockDoubted(),
	}
}

// RecordStop writes that this life is ending, who asked for it, and which turns ran at the time at. audit is the row of the
// command; nil: a signal began the stop.
func (r *Recovery) RecordStop(ctx context.Context, rep ops.Shutdown, at time.Time, audit *store.Audit) error {
	life := r.Row()
	life.Phase, life.Reason, life.By = "mark", rep.Reason, rep.By
	if audit == nil { // a signal: it has no request, and its row is as good as any
		audit = &store.Audit{ID: rep.ID, At: rep.StartedAt.Time, Verb: string(ops.VerbStop), Via: "signal", User: rep.By, Reason: rep.Reason, State: string(ops.RequestAccepted)}
	}
	_, err := r.Store().MarkStop(ctx, life, *audit, at)
	return err
}

// RecordEnd writes how this life ended, as far as it is known when the store is about to be closed. The next start
// completes it from the report on disk.
func (r *Recovery) RecordEnd(ctx context.Context, rep ops.Shutdown) error {
	return r.Store().MarkEnd(ctx, rep, r.endedRow(rep))
}

// ListEnd writes the end of this life into the list of lives next to the database. A failure is only logged.
func (r *Recovery) ListEnd(rep ops.Shutdown) { r.listLife(LifeRow(r.endedRow(rep))) }

// LifeRow is a life as operators see it, without the report of its stop.
func LifeRow(l store.Life) ops.Life {
	return ops.Life{
		Life: l.ID, PID: l.PID, Version: l.Version, StartedAt: ops.At(l.StartedAt), EndedAt: ops.At(l.EndedAt), LastSeenAt: ops.At(l.HeartbeatAt), RSSBytes: l.RSS,
		Outcome: l.Outcome, Phase: l.Phase, Reason: l.Reason, By: l.By,
	}
}

// Unrecorded reports whether this life is not in the database, which is damaged.
func (r *Recovery) Unrecorded() bool { return r.unrecorded }

const (
	// loopLives unclean lives, each begun within loopGap of the end of the one before, are a loop: what it resumes may
	// be what takes the gateway down (B8, B9).
	loopLives = 3
	loopGap   = 5 * time.Minute
)

// inLoop says whether the lives before this one, newest first, are a loop.
func inLoop(lives []store.Life, started time.Time) bool {
	if len(lives) < loopLives {
		return false
	}
	next := started
	for _, l := range lives[:loopLives] {
		end := cmp.Or(l.EndedAt, l.HeartbeatAt)
		// One that recorded its own end was ended by a stop, however that went.
		if !l.EndedAt.IsZero() || l.Outcome == ops.OutcomeClean || next.Sub(end) > loopGap {
			return false
		}
		next = l.StartedAt
	}
	return true
}
