package gateway

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/delivery"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

const (
	// loopLives unclean lives, each begun within loopGap of the end of the one before, are a loop: whatever takes the gateway
	// down may be what it takes up again (B8, B9).
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
		end := l.EndedAt
		if end.IsZero() {
			end = l.HeartbeatAt
		}
		// One that recorded its own end was ended by a stop, however that went.
		if !l.EndedAt.IsZero() || l.Outcome == ops.OutcomeClean || next.Sub(end) > loopGap {
			return false
		}
		next = l.StartedAt
	}
	return true
}

// recover takes up what earlier lives left in the inbox and in the outbox. A message whose turn had begun is never worked
// on again by itself: nobody knows which of its steps were done (D19). Its sender is told, and so is the model at the next
// message. A message that still waits is worked on, once.
func (g *Gateway) recover(ctx context.Context) error {
	if g.health.Damage() != "" {
		return nil // it all stays where it is, for a life that can write what became of it
	}
	open, err := g.store.OpenInbox(ctx)
	if err != nil {
		return fmt.Errorf("read the inbox: %w", err)
	}
	reported := 0
	for _, in := range open {
		text := "The gateway ended while it worked on this message. What was done so far is kept and nothing is repeated. Tell me how to continue."
		command, _, _ := delivery.ParseCommand(in.Text)
		switch {
		case in.State == store.InboxRunning && isWork(command):
			text = "The gateway ended while it worked on your /" + command + " task. Nothing is done again by itself: send it again if you still want it."
		case in.State == store.InboxRunning:
		case g.resumes:
			g.backlog = append(g.backlog, in)
			continue
		default:
			text = "The gateway was restarted before it came to this message, and was told to take up nothing. Send it again."
		}
		row := delivery.Answer(in, text)
		if err := g.store.Answer(ctx, in.ID, &row); err != nil {
			return fmt.Errorf("report message %s: %w", in.ID, err)
		}
		reported++
	}
	unsent, err := g.store.OpenOutbox(ctx)
	if err != nil {
		return fmt.Errorf("read the outbox: %w", err)
	}
	for _, row := range unsent {
		g.outbox.Restore(row)
	}
	if len(open)+len(unsent) > 0 {
		g.log.Info("taken up from earlier lives", "messages", len(g.backlog), "reported", reported, "unsent", len(unsent))
	}
	return nil
}

// earlierEntries are the journal's rows of earlier lives that have no end. What a gateway runs of whose home ours is a copy
// is not ours.
func (g *Gateway) earlierEntries(ctx context.Context) ([]process.Entry, error) {
	rows, err := g.store.LiveProcesses(ctx)
	if err != nil {
		g.log.Warn("journal not read", "error", term.Clean(err.Error(), 300))
		return nil, err
	}
	var entries []process.Entry
	for _, r := range rows {
		if r.Life != g.life && r.Life != g.copiedFrom {
			entries = append(entries, process.Entry{
				Life: r.Life, PID: r.PID, StartTicks: r.StartTicks, BootID: r.BootID, Session: r.Session, Command: r.Command,
				Policy: process.Policy(r.Policy), StartedAt: r.StartedAt,
			})
		}
	}
	return entries, nil
}

// adoptEarlier takes over the background commands that the life before was to keep, if it was killed and their sessions
// go on (C10). What it does not take over the sweep ends.
func (g *Gateway) adoptEarlier(ctx context.Context) {
	entries, err := g.earlierEntries(ctx)
	if err != nil {
		return
	}
	entries = slices.DeleteFunc(entries, func(e process.Entry) bool {
		if e.Policy != process.PolicyKept {
			return true
		}
		s, found, err := g.store.CurrentSession(ctx, e.Session)
		return err != nil || !found || s.State == ops.SessionSuspended || session.IsBackground(e.Session)
	})
	for _, e := range g.procs.AdoptEarlier(ctx, entries) {
		g.log.Warn("process of an earlier life adopted", "life", e.Life, "pid", e.PID, "session", e.Session, "command", term.Clean(e.Command, 120))
		if err := g.store.EndProcess(ctx, e.Life, e.PID, e.StartTicks, time.Now(), "adopted by the next life"); err != nil {
			g.log.Warn("journal not written", "error", term.Clean(err.Error(), 300))
		}
	}
}

// sweepEarlier ends what earlier lives left running: the guardian's work where there was none, or where it died too (C2).
func (g *Gateway) sweepEarlier(ctx context.Context) {
	entries, err := g.earlierEntries(ctx)
	if err != nil {
		return
	}
	ended, spared, err := g.procs.SweepEarlier(ctx, entries)
	for _, e := range ended {
		g.log.Warn("process of an earlier life ended", "life", e.Life, "pid", e.PID, "session", e.Session, "command", term.Clean(e.Command, 120))
		if err := g.store.EndProcess(ctx, e.Life, e.PID, e.StartTicks, time.Now(), "ended by the next life"); err != nil {
			g.log.Warn("journal not written", "error", term.Clean(err.Error(), 300))
		}
	}
	for _, e := range spared {
		g.log.Info("pid of an earlier life's process is another's now", "life", e.Life, "pid", e.PID)
	}
	if err != nil { // what survived stays in the journal, for the next look
		g.health.Warn("process.survivors", "processes of an earlier life survived: "+term.Clean(err.Error(), 300))
		return
	}
	if err := g.store.EndEarlierProcesses(ctx, g.life, time.Now(), "gone before the next life"); err != nil && ctx.Err() == nil {
		g.log.Warn("journal not written", "error", term.Clean(err.Error(), 300))
	}
}

// takeUpBacklog gives the messages that waited to their sessions, before any new one can come.
func (g *Gateway) takeUpBacklog(ctx context.Context) {
	for _, in := range g.backlog {
		g.intake.Restore(ctx, in)
	}
	g.backlog = nil
}

// When what is older than store.Retention is deleted.
const (
	retentionEvery = 24 * time.Hour
	retentionFirst = time.Hour // by then a time service has set the clock (HF21)
	retentionBatch = 500       // rows of each table
)

// prune deletes what is old, in small steps, and says what. It ends when the clock becomes doubted.
func (g *Gateway) prune(ctx context.Context) {
	var total store.Pruned
	for ctx.Err() == nil && !g.health.ClockDoubted() {
		step, cancel := g.store.Patience(ctx, store.Stall)
		p, err := g.store.Prune(step, time.Now().Add(-store.Retention), retentionBatch)
		cancel()
		if err != nil {
			g.log.Warn("old rows not deleted", "error", term.Clean(err.Error(), 300))
			return
		}
		total.Add(p)
		if !p.Any() {
			break
		}
	}
	if total.Any() {
		g.log.Info("old rows deleted", "older_than", store.Retention, "sessions", total.Sessions, "turns", total.Turns, "messages", total.Messages,
			"processes", total.Processes, "audit", total.Audit, "lives", total.Lives, "shutdowns", total.Shutdowns, "inbox", total.Inbox, "outbox", total.Outbox, "quarantine", total.Quarantine)
	}
}
