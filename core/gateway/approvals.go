package gateway

import (
	"context"

	"gatewaytui/core/access"
	"gatewaytui/core/approval"
	"gatewaytui/core/config"
	"gatewaytui/core/fence"
	"gatewaytui/core/tool"
)

// newApprovals is the gate in front of the tools.
func (g *Gateway) newApprovals() *approval.Book {
	cfg := g.opts.Config
	agents := cfg.AgentsByName()
	return approval.New(approval.Options{
		Log: g.opts.Log, Events: g.events, Meter: g.metrics, Tasks: g.background, Chats: g.outbox, People: owners(cfg), Table: g.table, NewID: newID,
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

// owners are the people of the config who may answer approvals.
type owners config.Config

// MayAnswer implements approval.People.
func (o owners) MayAnswer(who access.Person) bool {
	for _, owner := range o.Owners(who.Platform) {
		if owner == who {
			return true
		}
	}
	return false
}

// Owners implements approval.People.
func (o owners) Owners(platform string) (all []access.Person) {
	for _, name := range o.Access.Owners {
		if p, err := access.Read(name); err == nil && p.Platform == platform { // the config was checked
			all = append(all, p)
		}
	}
	return all
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
