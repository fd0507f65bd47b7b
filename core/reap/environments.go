package reap

import (
	"context"
	"time"

	"gatewaytui/core/agent"
)

// Environments closes what commands ran in after the kill of a stop, and otherwise at once. It is an agent.Environments.
type Environments struct {
	Trees *Trees
	Held  agent.Environments
}

// Close closes the environment of a session. In a stop the trees of all sessions end in one kill, which Close waits for: what a command
// is using is not taken from it. If the kill takes longer than ctx, Close leaves the environment to the sweep.
func (e Environments) Close(ctx context.Context, session string) error {
	if op := e.Trees.joined.Load(); op != nil {
		wait := ctx
		if deadline, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			wait, cancel = context.WithDeadline(ctx, deadline.Add(-min(handOver, time.Until(deadline)/2)))
			defer cancel()
		}
		select {
		case <-op.done:
		case <-wait.Done():
			return nil
		}
	}
	return e.Held.Close(ctx, session)
}
