package gateway

import (
	"context"
	"fmt"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// When what is older than store.Retention is deleted.
const (
	retentionEvery = 24 * time.Hour
	retentionFirst = time.Hour // by then a time service has set the clock (HF21)
)

// watch looks after what nobody asks for: sessions that expire, turns that stall, agents that were idle for too long, and
// what is not saved yet. It returns when ctx ends.
func (g *Gateway) watch(ctx context.Context) {
	ticker := time.NewTicker(g.watchEvery())
	defer ticker.Stop()
	old := time.NewTimer(retentionFirst)
	defer old.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-old.C:
			if g.health.Damage() == "" && !g.health.ClockDoubted() {
				old.Reset(retentionEvery)
				g.background.Start(ctx, "retention", "", g.recovery.Prune)
			} else {
				old.Reset(retentionFirst)
			}
		case now := <-ticker.C:
			g.health.Check(ctx, now)
			g.expire(ctx, now)
			g.stalls(ctx, now)
			g.releaseAgents(g.cache.Sweep(now), "idle for too long")
			g.flushUnsaved(ctx)
			g.outbox.RetryDue(now)
		}
	}
}

// watchEvery is a small part of the shortest limit that is watched, so that none is overrun by much.
func (g *Gateway) watchEvery() time.Duration {
	shortest := time.Minute
	for _, d := range []time.Duration{g.cfg.Agent.StallWarn.Duration, g.cfg.Agent.StallAfter.Duration, g.cfg.Agent.CacheIdle.Duration, g.cfg.Session.IdleReset.Duration} {
		if d > 0 {
			shortest = min(shortest, d)
		}
	}
	return max(shortest/10, 20*time.Millisecond)
}

// stalls escalates turns without progress: a warning, then an interrupt, then the release of the slot (D12). Who and when
// is in the log and in the events.
func (g *Gateway) stalls(ctx context.Context, now time.Time) {
	warn, after := g.cfg.Agent.StallWarn.Duration, g.cfg.Agent.StallAfter.Duration
	for _, v := range g.table.Turns() {
		still := now.Sub(v.Progress)
		if warn > 0 && still >= warn && g.table.MarkStalled(v.Turn, now) {
			g.log.Warn("turn stalled", "session", v.Session.Key, "turn", v.ID, "doing", v.Doing, "without_progress", still.Round(time.Second))
			g.events.Emit(ops.EventTurnStalled, v.Session.Key, fmt.Sprintf("no progress for %s: %s", still.Round(time.Second), ops.StepWords(v.Doing)), map[string]any{"turn": v.ID})
		}
		if after > 0 && still >= after && v.Interrupt == nil {
			g.log.Warn("stalled turn interrupted", "session", v.Session.Key, "turn", v.ID, "without_progress", still.Round(time.Second))
			g.background.Start(ctx, "interrupt stalled turn", v.Session.Key, func(ctx context.Context) {
				if _, err := g.interrupt(ctx, v.Session.Key, v.ID, session.ErrStalled); err != nil && !ops.HasCode(err, ops.CodeConflict) {
					g.log.Warn("stalled turn not interrupted", "session", v.Session.Key, "error", term.Clean(err.Error(), 300))
				}
			})
		}
	}
}

// flushUnsaved tries again to write what a full disk or a lost lock kept out of the store.
func (g *Gateway) flushUnsaved(ctx context.Context) {
	if g.health.Damage() != "" {
		return
	}
	for _, a := range g.cache.All() {
		if !a.Unsaved() || a.Busy() {
			continue
		}
		g.background.Start(ctx, "flush transcript", a.Session(), func(ctx context.Context) { g.flush(ctx, a) })
	}
}

func (g *Gateway) flush(ctx context.Context, a *agent.Agent) {
	ctx, cancel := g.store.Patience(ctx, store.Stall)
	defer cancel()
	if err := a.Memory().Flush(ctx); err != nil {
		g.log.Warn("transcript not saved yet", "session", a.Session(), "error", term.Clean(err.Error(), 300))
	}
}
