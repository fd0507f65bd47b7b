package remote

import (
	"context"
	"time"

	"gatewaytui/core/ops"
)

// Allowed waits until a person has answered a request that waits for an approval (tools.may_stop), and returns it as it goes on. The
// error says that it was refused, or ended without an answer. A gateway that is gone has begun with it.
func (g *Gateway) Allowed(ctx context.Context, req ops.Request) (ops.Request, error) {
	look := time.NewTicker(statusEvery)
	defer look.Stop()
	for req.State == ops.RequestWaiting {
		select {
		case <-look.C:
		case <-ctx.Done():
			return req, context.Cause(ctx)
		}
		now, err := g.Request(ctx, req.ID, false)
		switch {
		case ctx.Err() != nil:
			return req, context.Cause(ctx)
		case Unreachable(err):
			req.State = ops.RequestRunning
			return req, nil
		case err != nil:
			return req, err
		}
		req = now
	}
	if req.Error != nil {
		return req, req.Error
	}
	return req, nil
}
