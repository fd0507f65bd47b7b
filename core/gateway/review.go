package gateway

import (
	"context"

	"gatewaytui/core/agent"
	"gatewaytui/core/config"
	"gatewaytui/core/review"
)

// newReviews is what finds notes in conversations.
func (g *Gateway) newReviews() *review.Reviewer {
	return review.New(review.Options{
		Base: g.reviewAgent, Every: func() int { return g.config().Memory.ReviewEvery },
		Flush:  func(ctx context.Context, conversation string) error { return g.memory.Flush(ctx, conversation) },
		Budget: g.budget, Tasks: g.background, Log: g.opts.Log, NewID: newID, Stopping: g.lifecycle.stopping,
	})
}

// reviewAgent is the config of an agent that reads a conversation of a session: its model is memory.review_model, else that of the session's
// own agent. A scripted model that no one named for it finds nothing, so there is none then.
func (g *Gateway) reviewAgent(key string) (cfg agent.Config, budget string) {
	of := g.now()
	cfg, d := g.conversations.Auxiliary(key)
	if name := of.Config.Memory.ReviewModel; name != "" {
		cfg.Models = of.Models.Chain(name)
		return cfg, d.Budget
	}
	if len(d.Models) == 0 || of.Config.ModelsByName()[d.Models[0]].Provider == config.Scripted {
		cfg.Models = nil
	}
	return cfg, d.Budget
}
