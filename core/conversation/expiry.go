package conversation

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"gatewaytui/core/session"
)

const (
	// Expiring names the task that ends expired sessions. One of it runs at a time.
	Expiring = "expire sessions"
	// expiringAtOnce is how many sessions it ends at the same time. After a long downtime, or at a daily reset, every session
	// of the store may have expired, and no other work may suffer (D22). One whose agent does not close holds up no other.
	expiringAtOnce = 8
	// expiringBatch is about how many are looked up under one hold of the table's lock.
	expiringBatch = 5000
)

// Expire begins to end the sessions whose time is over, on one task. Sessions that expire while it runs are found by a later
// call.
func (c *Conversations) Expire(ctx context.Context, now time.Time) {
	if c.o.Tasks.Count("", Expiring) > 0 || c.o.Gate.ClockDoubted() {
		return
	}
	over := c.o.Table.Expired(c.o.Policy, now, expiringBatch)
	if len(over) == 0 {
		return
	}
	c.o.Tasks.Start(ctx, Expiring, "", func(ctx context.Context) {
		for len(over) > 0 && ctx.Err() == nil {
			c.endExpired(ctx, over)
			more := c.o.Table.Expired(c.o.Policy, now, expiringBatch)
			maps.DeleteFunc(more, func(key string, x session.Expiry) bool { return over[key] == x }) // it could not be ended
			over = more
		}
	})
}

// endExpired ends sessions, a few at a time, until all are ended or ctx ends. Those that are left are still expired in the
// next life. One that was written to meanwhile goes on: End refuses it.
func (c *Conversations) endExpired(ctx context.Context, over map[string]session.Expiry) {
	next := make(chan string)
	var workers sync.WaitGroup
	for range min(expiringAtOnce, len(over)) {
		workers.Go(func() {
			for key := range next {
				_, _ = c.End(ctx, key, expired(over[key]))
			}
		})
	}
	done := 0
	for key := range over {
		c.o.Tasks.Progress(ctx, fmt.Sprintf("%d of %d", done, len(over)))
		select {
		case next <- key:
			done++
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	workers.Wait() // each is bounded by CloseTimeout and store.Stall
}

// ExpireFirst ends the conversation of key if its time is over, before a message to it is worked on: a message that comes
// before the next look begins a new conversation, and does not make yesterday's active again (D3). It does not wait: what
// comes until the old one has ended waits in the mailbox.
func (c *Conversations) ExpireFirst(ctx context.Context, key string) error {
	if c.o.Gate.ClockDoubted() {
		return nil
	}
	old, why, over := c.o.Table.BeginIdleExpiry(key, c.o.Policy, time.Now())
	if !over {
		return nil
	}
	cause := expired(session.Expiry{ID: old.ID, Why: why})
	end := func(ctx context.Context) { _, _ = c.finishEnd(ctx, key, old, cause) }
	if !c.o.Tasks.Start(ctx, "expire session", key, end) { // the stop ends its agent and its processes
		c.o.Table.EndReset(c.turns, key, true, true)
		return userError(session.ErrStopping)
	}
	return nil
}
