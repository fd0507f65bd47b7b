package gateway

import (
	"context"

	"gatewaytui/core/term"

	"gatewaytui/core/adapter"
	"gatewaytui/core/delivery"
	"gatewaytui/core/process"
	"gatewaytui/core/recovery"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// receiver is what adapters hand messages to.
type receiver struct {
	*delivery.Intake
	procs *process.Registry
}

var _ adapter.ToolFinder = receiver{}

// ToolSocket implements adapter.ToolFinder: what the registry tracks is a tool, or was started by one.
func (r receiver) ToolSocket(ctx context.Context, s adapter.Socket) (session string, tool bool, err error) {
	owner, tracked, err := r.procs.SocketOwner(ctx, s.UID, s.Inode, s.Group)
	return owner.Session, tracked, err
}

// gate is the state of the gateway, as far as messages depend on it.
type gate struct{ g *Gateway }

func (t gate) Admit() error { return t.g.admit() }

func (t gate) Damaged() bool { return t.g.health.Damage() != "" }

// conversations is what the intake and the recovery need of the gateway's sessions.
type conversations struct{ g *Gateway }

var _ recovery.Conversations = conversations{}

func (c conversations) Add(s store.Session) { c.g.table.Load(loaded(s)) }

func (c conversations) Known(key string) bool {
	_, known := c.g.table.Get(key)
	return known
}

func (c conversations) Load(ctx context.Context, key string) error {
	return c.g.recovery.EnsureLoaded(ctx, key)
}

func (c conversations) ExpireFirst(ctx context.Context, key string) error {
	return c.g.expireFirst(ctx, key)
}

func (c conversations) Begin(t *session.Turn) { c.g.begin(t) }

func (c conversations) Interrupt(ctx context.Context, key, turn string, cause error) (string, error) {
	return c.g.interrupt(ctx, key, turn, cause)
}

func (c conversations) IsWork(name string) bool { return isWork(name) }

// RefuseWaiting implements health.Gateway: it answers the senders who wait for the answer to a waiting message. A chat's
// message stays in the inbox, for the next life.
func (c conversations) RefuseWaiting(why error) {
	g := c.g
	for key, waiting := range g.table.Drop() {
		for _, m := range waiting {
			if !m.Instant {
				g.log.Info("waiting message left to the next life", "session", key, "message", m.ID)
				continue
			}
			g.log.Warn("waiting message dropped", "session", key, "message", m.ID, "reason", term.Clean(why.Error(), 300))
			g.outbox.Refuse(key, answer(why), m)
		}
	}
}

func (c conversations) ReleaseWedged(t *session.Turn, cause error) bool {
	return c.g.releaseWedged(t, cause)
}

func (c conversations) Run(ctx context.Context, name, arg, key string, m session.Message) {
	c.g.command(ctx, name, arg, key, m)
}

// admit says whether a new turn may begin now.
func (g *Gateway) admit() error {
	if err := g.lifecycle.Admit(); err != nil {
		return err
	}
	return g.health.Refusal()
}

// holding reports whether waiting messages stay where they are.
func (g *Gateway) holding() bool { return g.admit() != nil }
