package gateway

import (
	"context"

	"gatewaytui/core/adapter"
	"gatewaytui/core/conversation"
	"gatewaytui/core/delivery"
	"gatewaytui/core/health"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/recovery"
	"gatewaytui/core/store"
)

// receiver is what adapters hand messages to.
type receiver struct {
	*delivery.Intake
	procs *process.Registry
	// refused records a refused tool in the audit.
	refused func(by ops.Actor, call string)
}

var _ adapter.ToolFinder = receiver{}

// ToolSocket implements adapter.ToolFinder: what the registry tracks is a tool, or was started by one.
func (r receiver) ToolSocket(ctx context.Context, s adapter.Socket) (session string, tool bool, err error) {
	owner, tracked, err := r.procs.SocketOwner(ctx, s.UID, s.Inode, s.Group)
	return owner.Session, tracked, err
}

// ToolRefused implements adapter.ToolFinder.
func (r receiver) ToolRefused(by ops.Actor, call string) { r.refused(by, call) }

// gate is the state of the gateway, as far as messages and turns depend on it.
type gate struct {
	*lifecycle
	health *health.Health
}

// Admit is why no turn may begin now, in the words for the sender of a message; nil: turns may begin.
func (t gate) Admit() error {
	if err := t.lifecycle.Admit(); err != nil {
		return err
	}
	return t.health.Refusal()
}

func (t gate) Damaged() bool { return t.health.Damage() != "" }

func (t gate) ClockDoubted() bool { return t.health.ClockDoubted() }

// loader is what recovery and health, which are made first, need of the parts that are made after them.
type loader struct{ g *Gateway }

var (
	_ recovery.Conversations = loader{}
	_ recovery.Intake        = loader{}
)

func (l loader) Add(s store.Session) { l.g.table.Load(conversation.Stored(s)) }

func (l loader) Known(key string) bool {
	_, known := l.g.table.Get(key)
	return known
}

func (l loader) RefuseWaiting(why error) { l.g.conversations.RefuseWaiting(why) }

func (l loader) Restore(ctx context.Context, in store.Inbox) { l.g.intake.Restore(ctx, in) }

func (l loader) IsWork(command string) bool { return l.g.commands.IsWork(command) }

func (l loader) Load(ctx context.Context, key string) error {
	return l.g.recovery.EnsureLoaded(ctx, key)
}
