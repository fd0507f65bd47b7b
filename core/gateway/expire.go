package gateway

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
)

const (
	// expiring names the task that ends expired sessions; there is one at a time.
	expiring = "expire sessions"
	// expiringAtOnce is how many sessions it ends side by side: after a long downtime, or at a daily reset, every session
	// of the store may have expired, and nobody else is to notice (D22). One whose agent does not close holds up no other.
	expiringAtOnce = 8
	// expiringBatch is about how many are looked up under one hold of the table's lock.
	expiringBatch = 5000
)

// expire begins to end the sessions whose time is over, on one tracked task. Sessions that expire while it runs are found
// at a later look.
func (g *Gateway) expire(ctx context.Context, now time.Time) {
	if g.background.Count("", expiring) > 0 || g.health.ClockDoubted() {
		return
	}
	over := g.table.Expired(g.policy, now, expiringBatch)
	if len(over) == 0 {
		return
	}
	g.background.Start(ctx, expiring, "", func(ctx context.Context) {
		for len(over) > 0 && ctx.Err() == nil {
			g.endExpired(ctx, over)
			more := g.table.Expired(g.policy, now, expiringBatch)
			maps.DeleteFunc(more, func(key string, x session.Expiry) bool { return over[key] == x }) // it could not be ended
			over = more
		}
	})
}

// endExpired ends sessions, a few at a time, until all are ended or ctx ends. Those that are left then are still expired in
// the next life.
func (g *Gateway) endExpired(ctx context.Context, over map[string]session.Expiry) {
	next := make(chan string)
	var workers sync.WaitGroup
	for range min(expiringAtOnce, len(over)) {
		workers.Go(func() {
			for key := range next {
				g.endIfExpired(ctx, key, over[key])
			}
		})
	}
	done := 0
	for key := range over {
		g.background.Progress(ctx, fmt.Sprintf("%d of %d", done, len(over)))
		select {
		case next <- key:
			done++
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	workers.Wait() // each is bounded by closeTimeout and store.Stall
}

// endIfExpired ends one session, unless it was written to meanwhile: agent flushed and closed with its processes, then the
// session ended in the store (S11).
func (g *Gateway) endIfExpired(ctx context.Context, key string, x session.Expiry) {
	old, turn, dropped, ok := g.table.BeginExpiry(key, x, g.policy, time.Now())
	if !ok {
		return
	}
	g.finishEnd(ctx, old, turn, dropped, x.Why, true)
	g.expired(key, x.Why)
}

func (g *Gateway) expired(key, why string) {
	g.log.Info("session expired", "session", key, "reason", why)
	g.events.Emit(ops.EventSessionExpired, key, "session expired: "+why, nil)
}

// expireFirst ends the conversation of key if its time is over, before a message to it is worked on: one that comes before
// the next look begins a new conversation, and does not make yesterday's active again (D3). It does not wait: what comes
// until the old one has ended waits in the mailbox.
func (g *Gateway) expireFirst(ctx context.Context, key string) error {
	if g.health.ClockDoubted() {
		return nil
	}
	old, why, expired := g.table.BeginIdleExpiry(key, g.policy, time.Now())
	if !expired {
		return nil
	}
	end := func(ctx context.Context) {
		g.closeEnded(ctx, old, why, true)
		g.expired(key, why)
	}
	if !g.background.Start(ctx, "expire session", key, end) { // the stop ends its agent and its processes
		g.table.EndReset(g.turns, key, true, true)
		return answer(session.ErrStopping)
	}
	return nil
}
