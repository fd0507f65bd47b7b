package gateway

import (
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
func (g *Gateway) beginLife(ctx context.Context) error {
	if g.health.Damage() != "" {
		g.readLastLife(ctx)
		return nil
	}
	if _, err := g.setAside(ctx, store.AtStart); err != nil {
		return err
	}
	agreed, err := g.store.LastAgreed(ctx)
	if err != nil {
		return err
	}
	if g.opts.TrustClock {
		agreed = time.Time{}
	}
	g.health.BeginClock(agreed)
	last, found, err := g.store.LastLife(ctx)
	if err != nil {
		return fmt.Errorf("read the last life: %w", err)
	}
	now := time.Now()
	crashed := false
	if found {
		last.HeartbeatAt = g.lastSeen(ctx, last, now)
		report, reported := g.reportOf(last.ID)
		if last.Outcome == ops.OutcomeRunning && livesOn(last) {
			g.copiedFrom = last.ID
			g.health.Warn("home.copied", fmt.Sprintf("this home is a copy of one whose gateway, pid %d, still runs: its processes are left alone. Both answer on the same platforms if they have the same credentials", last.PID))
			last.Reason = "its home was copied while it ran"
		}
		last = g.classify(last, report, reported)
		crashed = last.Outcome == ops.OutcomeCrashed
		if report.ID != "" {
			if err := g.store.SaveShutdown(ctx, report); err != nil {
				g.log.Warn("last shutdown's report not kept", "life", last.ID, "error", term.Clean(err.Error(), 300))
			}
		}
		if err := g.store.PutLife(ctx, last); err != nil {
			return fmt.Errorf("record the end of life %s: %w", last.ID, err)
		}
		g.setLastEnd(last, report)
	}
	if _, err := g.store.InterruptRunning(ctx, "the gateway ended while it ran", crashed, now); err != nil {
		return fmt.Errorf("end the turns of earlier lives: %w", err)
	}
	before, _, err := g.store.Lives(ctx, loopLives, "")
	if err != nil {
		return fmt.Errorf("read the last lives: %w", err)
	}
	g.resumes = !g.opts.NoResume
	if inLoop(before, g.health.Started()) {
		g.resumes = false
		g.health.Warn("boot_loop", fmt.Sprintf("the last %d lives ended uncleanly, each soon after it began: this one takes up nothing that they left. `gatewaytui history` shows them", loopLives))
	}
	life := g.lifeRow()
	if err := g.store.PutLife(ctx, life); err != nil {
		return fmt.Errorf("record this life: %w", err)
	}
	g.listLives(ctx)
	return nil
}

// lastSeen is when a life that did not record its end was last known to run: the latest of its heartbeat, of its row in the
// list of lives and of the newest row that it committed (TF25). A time after now is of a clock that was set back.
func (g *Gateway) lastSeen(ctx context.Context, l store.Life, now time.Time) time.Time {
	seen := l.HeartbeatAt
	if l.Outcome != ops.OutcomeRunning {
		return seen
	}
	row, err := g.store.LastRow(ctx)
	if err != nil {
		g.log.Warn("the time of the newest row is unknown", "error", term.Clean(err.Error(), 300))
	}
	for _, at := range []time.Time{row, g.opts.Lives.Seen(l.ID).Time} {
		if at.After(seen) && !at.After(now) {
			seen = at
		}
	}
	return seen
}

// listLives brings the list of lives up to date with the store, and adds this life.
func (g *Gateway) listLives(ctx context.Context) {
	past, _, err := g.store.Lives(ctx, lives.Kept, "")
	if err != nil {
		g.log.Warn("past lives are not listed", "error", term.Clean(err.Error(), 300))
	}
	rows := make([]ops.Life, 0, len(past)+1)
	for _, l := range past {
		rows = append(rows, lifeOf(l))
	}
	g.keepLives(append(rows, lifeOf(g.lifeRow()))...)
}

// keepLives writes rows into the list of lives. Its readers do without it, so a failure is only logged.
func (g *Gateway) keepLives(rows ...ops.Life) {
	if err := g.opts.Lives.Put(rows...); err != nil {
		g.log.Warn("the list of lives is not written", "error", term.Clean(err.Error(), 300))
	}
}

// endedLife is this life's row as it ends.
func (g *Gateway) endedLife(rep ops.Shutdown) store.Life {
	life := g.lifeRow()
	life.EndedAt, life.Reason, life.By = life.HeartbeatAt, rep.Reason, rep.By
	life.Outcome, life.Phase = lives.EndOf(rep)
	return life
}

// livesOn reports whether a life's gateway still runs. We hold the lock of our home, so its home is another one, of which
// ours is a copy (B13, B14).
func livesOn(l store.Life) bool {
	alive, known := instance.Alive(instance.Record{PID: l.PID, StartTicks: l.StartTicks, BootID: l.BootID})
	return alive && known && l.PID != os.Getpid()
}

// readLastLife says how the life before ended, as far as a damaged database tells.
func (g *Gateway) readLastLife(ctx context.Context) {
	g.keepLives(lifeOf(g.lifeRow()))
	last, found, err := g.store.LastLife(ctx)
	if err != nil {
		g.health.Warn("store.unread", "how the last life ended could not be read: "+term.Clean(err.Error(), 300))
	}
	if err == nil && found {
		report, reported := g.reportOf(last.ID)
		g.setLastEnd(g.classify(last, report, reported), report)
	}
}

// reportOf is the report of a life's stop. One that cannot be used is as good as none, but that it is there tells that the
// stop had begun: reported is true, and the report has no id.
func (g *Gateway) reportOf(life string) (report ops.Shutdown, reported bool) {
	if g.opts.LastReport == nil {
		return ops.Shutdown{}, false
	}
	report, reported, err := g.opts.LastReport(life)
	if err != nil {
		g.health.Warn("aside", term.Clean(err.Error(), 600))
		return ops.Shutdown{}, true
	}
	return report, reported
}

// classify says how an earlier life ended (DESIGN.md, 7): the store knows of a clean end, the marker of a planned stop
// that was cut short, the report in which phase. Without either it crashed. A marker or a report that is there and cannot
// be read still says that a stop had begun: a start takes every marker away, so it is this life's, and a report bears the
// life's name. Nothing more is taken from it. A crash would count against the sessions that ran, for an end that somebody
// had planned (A19); a loop of ends that are cut short is broken like one of crashes.
func (g *Gateway) classify(last store.Life, report ops.Shutdown, reported bool) store.Life {
	if last.Outcome != ops.OutcomeRunning {
		return last
	}
	last.Outcome, last.Phase = lives.Ended(report, reported || g.opts.LifeBefore == last.ID || g.opts.MarkerUnread)
	last.EndedAt = report.EndedAt.Time
	if reported && last.Reason == "" {
		last.Reason, last.By = report.Reason, report.By
	}
	if last.Outcome == ops.OutcomeCutShort && last.Reason == "" && last.ID != g.opts.LifeBefore && report.ID == "" {
		last.Reason = "a stop had begun; what it left of that cannot be read"
	}
	return last
}

func (g *Gateway) setLastEnd(l store.Life, report ops.Shutdown) {
	end := &ops.LastEnd{Life: l.ID, Outcome: l.Outcome, Phase: l.Phase, Reason: l.Reason, By: l.By, At: ops.At(l.EndedAt), RSSBytes: l.RSS}
	end.Stopped(report)
	if l.EndedAt.IsZero() {
		end.At = ops.At(l.HeartbeatAt)
	}
	g.mu.Lock()
	g.lastEnd = end
	g.mu.Unlock()
	if l.Outcome != ops.OutcomeClean {
		g.log.Warn("the last life did not end cleanly", "life", l.ID, "outcome", string(l.Outcome), "phase", l.Phase, "at", end.At.Time, "rss_bytes", l.RSS)
	}
}

func (g *Gateway) lifeRow() store.Life {
	now := time.Now()
	return store.Life{
		ID: g.life, PID: g.opts.PID, StartTicks: g.opts.StartTicks, BootID: g.opts.BootID, Version: g.opts.Version,
		StartedAt: g.health.StartedAt(now), HeartbeatAt: now, RSS: process.Resident(), Outcome: ops.OutcomeRunning,
		ClockDoubted: g.health.ClockDoubted(),
	}
}

// recordStop writes that this life is ending, who asked for it, and which turns ran when it began.
func (g *Gateway) recordStop(ctx context.Context, rep ops.Shutdown, at time.Time) error {
	life := g.lifeRow()
	life.Phase, life.Reason, life.By = "mark", rep.Reason, rep.By
	g.mu.Lock()
	audit := g.stop.audit
	g.mu.Unlock()
	if audit == nil { // a signal: it has no request, and its row is as good as any
		audit = &store.Audit{ID: rep.ID, At: rep.StartedAt.Time, Verb: string(ops.VerbStop), Via: "signal", User: rep.By, Reason: rep.Reason, State: string(ops.RequestAccepted)}
	}
	_, err := g.store.MarkStop(ctx, life, *audit, at)
	return err
}

// recordEnd writes how this life ended, as far as it is known when the store is about to be closed. The next start
// completes it from the report on disk.
func (g *Gateway) recordEnd(ctx context.Context, rep ops.Shutdown) error {
	return g.store.MarkEnd(ctx, rep, g.endedLife(rep))
}

// journal is the store as the registry's record of what it started.
type journal struct{ g *Gateway }

func (j journal) Record(ctx context.Context, notes []process.Note) error {
	rows := make([]store.Process, len(notes))
	for i, n := range notes {
		rows[i] = journalRow(n.Entry)
		if n.How != "" {
			rows[i].EndedAt, rows[i].How = time.Now(), n.How
		}
	}
	return j.g.store.RecordProcesses(ctx, rows)
}

func journalRow(e process.Entry) store.Process {
	return store.Process{
		Life: e.Life, PID: e.PID, StartTicks: e.StartTicks, BootID: e.BootID, Session: e.Session, Command: e.Command,
		Policy: string(e.Policy), StartedAt: e.StartedAt,
	}
}
