package gateway

import (
	"context"
	"errors"

	"gatewaytui/core/approval"
	"gatewaytui/core/fence"
	"gatewaytui/core/ops"
	"gatewaytui/core/tool"
)

// newApprovals is the gate in front of the tools.
func (g *Gateway) newApprovals() *approval.Book {
	return approval.New(approval.Options{
		Log: g.opts.Log, Events: askers{g}, Meter: g.metrics, Tasks: g.background, Chats: g.outbox, People: g.trust.people, Table: g.table, NewID: newID, Grants: g.jobs.Grants,
	}, g.now().terms)
}

// fence judges commands by the config or, where the gateway was made without it, by the folders alone.
func (g *Gateway) fence(s Settings, e fence.Environment) *fence.Fence {
	if s.Fence != nil {
		return s.Fence(e)
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

// askers emits the events of approvals, and shows a request to the sender of the message whose turn asks.
type askers struct{ g *Gateway }

// Emit implements approval.Events.
func (a askers) Emit(t ops.EventType, subject, text string, data ops.Payload) {
	a.g.events.Emit(t, subject, text, data)
	change, is := data.(ops.ApprovalChange)
	v, running := a.g.table.Running(subject)
	if !is || !running || v.Message.Asked == nil || v.ID != change.Turn {
		return
	}
	for _, item := range a.g.approvals.Inbox() {
		if item.ID == change.ID {
			v.Message.Asked(item)
		}
	}
}

// askStop implements operator.StopGate. The request ends with an interrupt of the turn that runs, and not with that turn's own end: a
// tool need not wait for the answer. It gives up no slot, because the turn goes on meanwhile.
func (g *Gateway) askStop(ctx context.Context, key, what, why string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	call := tool.Call{Session: key, Progress: func(string) {}}
	if v, running := g.table.Running(key); running {
		call.Agent, call.Person, call.Unattended = v.Session.Agent, v.Message.User, v.Message.Unattended
		defer context.AfterFunc(v.Context(), func() {
			if cause := context.Cause(v.Context()); !errors.Is(cause, context.Canceled) {
				cancel(cause)
			}
		})()
	}
	step := tool.Step{Kind: tool.StepStop, Text: what, Judgement: fence.Judgement{Verdict: fence.Ask, Reasons: []string{"it ends all turns of all sessions"}}}
	if why != "" {
		step.Text += ": " + why
	}
	return g.approvals.Pass(ctx, call, step)
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
