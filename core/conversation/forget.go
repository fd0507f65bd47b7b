package conversation

import (
	"context"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/ops"
)

// endAgain is how soon Forget tries again to end a conversation that something else ends.
const endAgain = 200 * time.Millisecond

// Forget ends the conversation of key with its agent and its processes, because its person is forgotten; there may be none.
func (c *Conversations) Forget(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*c.CloseTimeout())
	defer cancel()
	for {
		_, err := c.End(ctx, key, Cause{Reason: "its person was forgotten"})
		switch {
		case ops.HasCode(err, ops.CodeNotFound):
			return nil
		case !ops.HasCode(err, ops.CodeConflict):
			return err
		}
		select {
		case <-time.After(endAgain):
		case <-ctx.Done():
			return err
		}
	}
}

// DropAgent takes the agent of a session out of the cache: now, or on a task when its turn ends.
func (c *Conversations) DropAgent(key string) {
	claim, err := c.o.Cache.Claim(key)
	if err != nil {
		return // there is none, or it leaves already
	}
	c.o.Tasks.Start(c.turns, "drop agent", key, func(ctx context.Context) {
		select { // no deadline: a turn's stall limits end it
		case a, ok := <-claim:
			if ok {
				c.release([]*agent.Agent{a}, "a person of its session was forgotten", false)
			}
		case <-ctx.Done():
			c.o.Cache.Unclaim(key, claim)
		}
	})
}
