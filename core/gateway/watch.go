package gateway

import (
	"context"
	"time"
)

// When what is older than store.Retention is deleted.
const (
	retentionEvery = 24 * time.Hour
	retentionFirst = time.Hour // by then a time service has set the clock (HF21)
)

// watch does what no request asks for: sessions that expire, turns that stall, agents that were idle for too long, and
// what is not saved yet. It returns when ctx ends.
func (g *Gateway) watch(ctx context.Context) {
	tick, old := time.Tick(g.watchEvery()), time.After(retentionFirst)
	for {
		select {
		case <-ctx.Done():
			return
		case <-old:
			if g.health.Damage() == "" && !g.health.ClockDoubted() {
				old = time.After(retentionEvery)
				g.background.Start(ctx, "retention", "", g.recovery.Prune)
			} else {
				old = time.After(retentionFirst)
			}
		case now := <-tick:
			g.health.Check(ctx, now)
			g.conversations.Expire(ctx, now)
			g.conversations.EscalateStalls(ctx, now)
			g.conversations.SweepAgents(now)
			g.conversations.FlushUnsaved(ctx)
			g.outbox.RetryDue(now)
		}
	}
}

// watchEvery is a small part of the shortest limit that is watched, so that none is overrun by much.
func (g *Gateway) watchEvery() time.Duration {
	shortest := time.Minute
	for _, d := range []time.Duration{g.opts.Config.Agent.StallWarn.Duration, g.opts.Config.Agent.StallAfter.Duration, g.opts.Config.Agent.CacheIdle.Duration, g.opts.Config.Session.IdleReset.Duration} {
		if d > 0 {
			shortest = min(shortest, d)
		}
	}
	return max(shortest/10, 20*time.Millisecond)
}
