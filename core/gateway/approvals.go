package gateway

import (
	"context"

	"gatewaytui/core/approval"
	"gatewaytui/core/fence"
	"gatewaytui/core/tool"
)

// newApprovals is the gate in front of the tools.
func (g *Gateway) newApprovals() *approval.Book {
	cfg := g.opts.Config
	agents := cfg.AgentsByName()
	return approval.New(approval.Options{
		Log: g.opts.Log, Events: g.events, Meter: g.metrics, Tasks: g.background, Chats: g.outbox, People: g.trust.people, Table: g.table, NewID: newID,
		Expire: cfg.Approvals.Expire.Duration, Always: cfg.Approvals.AlwaysExpires.Duration, Fence: g.fence,
		Mode: func(agent string) approval.Mode {
			if d, known := agents[agent]; known {
				return approval.Mode(d.Approvals)
			}
			return approval.ModeFence
		},
	})
}

// fence judges commands by the config or, where the gateway was made without it, by the folders alone.
func (g *Gateway) fence(e fence.Environment) *fence.Fence {
	if g.opts.Fence != nil {
		return g.opts.Fence(e)
	}
	return &fence.Fence{Environment: e, Work: g.workdir(), Own: []string{g.opts.Home.Dir}}
}

// openApprovals withdraws what an earlier life left, before messages come. A database that takes nothing is left alone.
func (g *Gateway) openApprovals(ctx context.Context) error {
	if g.health.Damage() != "" {
		return nil
	}
	return g.approvals.Open(ctx, g.recovery.Store(), g.conversations)
}

// news is what happened to a session between its turns (conversation.News).
type news struct{ g *Gateway }

// Take returns what the model of a session should know, once.
func (n news) Take(key string) (note string, giveBack func()) {
	note, back := n.g.notices.Take(key)
	asked, askedBack := n.g.approvals.Take(key)
	if note != "" && asked != "" {
		note += "\n\n"
	}
	return note + asked, func() { back(); askedBack() }
}

// Drop forgets what Take would return.
func (n news) Drop(key string) {
	n.g.notices.Drop(key)
	n.g.approvals.Drop(key)
}

var _ tool.Gate = (*approval.Book)(nil)
