package gateway

import (
	"context"
	"encoding/json"
	"fmt"

	"gatewaytui/core/adapter"
	"gatewaytui/core/config"
	"gatewaytui/core/conversation"
	"gatewaytui/core/delivery"
	"gatewaytui/core/health"
	"gatewaytui/core/ops"
	"gatewaytui/core/recovery"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// receiver is what adapters hand messages to.
type receiver struct {
	*delivery.Intake
	g *Gateway
}

var (
	_ adapter.Receiver  = receiver{}
	_ adapter.Forwarder = receiver{}
	_ adapter.Historian = receiver{}
	_ adapter.Commander = receiver{}
)

// ToolSocket implements adapter.Receiver: what the registry tracks is a tool, or was started by one.
func (r receiver) ToolSocket(ctx context.Context, s adapter.Socket) (session string, tool bool, err error) {
	owner, tracked, err := r.g.procs.SocketOwner(ctx, s.UID, s.Inode, s.Group)
	return owner.Session, tracked, err
}

// KeepAnswer implements adapter.Archive.
func (r receiver) KeepAnswer(ctx context.Context, a adapter.Answer) error {
	messages, err := json.Marshal(a.Messages)
	if err != nil {
		return fmt.Errorf("keep the answer %s: %w", a.ID, err)
	}
	st, err := r.archive()
	if err != nil {
		return err
	}
	return st.PutResponse(ctx, store.Response{
		ID: a.ID, Previous: a.Previous, Owner: a.Owner, At: a.At, Messages: string(messages), Body: string(a.Body),
	})
}

// archive is the store, once it is open.
func (r receiver) archive() (*store.Store, error) {
	if st := r.g.recovery.Store(); st != nil {
		return st, nil
	}
	return nil, &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway is starting"}
}

// KeptAnswer implements adapter.Archive.
func (r receiver) KeptAnswer(ctx context.Context, id, owner string) (adapter.Answer, bool, error) {
	st, err := r.archive()
	if err != nil {
		return adapter.Answer{}, false, err
	}
	row, found, err := st.Response(ctx, id, owner)
	if err != nil || !found {
		return adapter.Answer{}, false, err
	}
	a := adapter.Answer{ID: row.ID, Previous: row.Previous, Owner: row.Owner, At: row.At, Body: []byte(row.Body)}
	if err := json.Unmarshal([]byte(row.Messages), &a.Messages); err != nil {
		return a, false, fmt.Errorf("read the messages of the answer %s: %w", id, err)
	}
	return a, true, nil
}

// DropAnswer implements adapter.Archive.
func (r receiver) DropAnswer(ctx context.Context, id, owner string) (bool, error) {
	st, err := r.archive()
	if err != nil {
		return false, err
	}
	return st.DropResponse(ctx, id, owner)
}

// Forward implements adapter.Forwarder.
func (r receiver) Forward(ctx context.Context, key string, m adapter.Outgoing) (adapter.Sent, error) {
	if err := r.g.recovery.EnsureLoaded(ctx, key); err != nil {
		return adapter.Sent{}, &adapter.UnsentError{Err: err}
	}
	target, known := r.g.table.Target(key)
	if !known || target == "" {
		target, known = config.TargetOf(key)
	}
	if !known {
		return adapter.Sent{}, &adapter.RefusedError{Why: fmt.Sprintf("no chat of the session %s is known; write to the bot there first", term.Quote(key))}
	}
	m.Target = target
	return r.g.adapters.Send(ctx, session.Platform(key), m)
}

// ToolRefused implements adapter.Receiver.
func (r receiver) ToolRefused(by ops.Actor, call string) { r.g.ToolRefused(by, call, "") }

// parts is the gateway as its rooms see it, also those that are made before the parts that they need.
type parts struct{ g *Gateway }

var (
	_ health.Gateway    = parts{}
	_ recovery.Gateway  = parts{}
	_ conversation.Gate = parts{}
	_ delivery.Gateway  = parts{}
)

// Admit is why no turn may begin now, in the words for the sender of a message; nil: turns may begin.
func (p parts) Admit() error {
	if err := p.g.lifecycle.Admit(); err != nil {
		return err
	}
	return p.g.health.Refusal()
}

func (p parts) Damaged() bool { return p.g.health.Damage() != "" }

func (p parts) ClockDoubted() bool { return p.g.health.ClockDoubted() }

func (p parts) State() (state ops.State, ready bool) { return p.g.lifecycle.State() }

// ReadinessChanged implements health.Gateway.
func (p parts) ReadinessChanged(reason string) {
	text := p.g.statusLine()
	if reason != "" {
		text = "not ready: " + term.Clean(reason, 200)
	}
	p.g.tell(func(n Notifier) error { return n.Status(text) })
}

func (p parts) Add(s store.Session) { p.g.table.Load(conversation.Stored(s)) }

func (p parts) Known(key string) bool {
	_, known := p.g.table.Get(key)
	return known
}

func (p parts) RefuseWaiting(why error) { p.g.conversations.RefuseWaiting(why) }

func (p parts) Restore(ctx context.Context, in store.Inbox) { p.g.intake.Restore(ctx, in) }

func (p parts) IsWork(command string) bool { return p.g.conversations.IsWork(command) }

func (p parts) Load(ctx context.Context, key string) error {
	return p.g.recovery.EnsureLoaded(ctx, key)
}
