package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/delivery"
	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Receive takes a message from a platform: a chat command is answered at once, past any running turn (D11); anything
// else goes into its session's mailbox. It implements adapter.Receiver and does not wait for the turn.
func (g *Gateway) Receive(ctx context.Context, in adapter.Inbound) (id string, err error) {
	defer func() { g.metrics.Received(in.Session, err) }()
	if err := session.CheckKey(in.Session); err != nil {
		return "", err
	}
	if session.IsBackground(in.Session) { // such a session ends with its task, and the next start would forget it (HF33)
		return "", &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("session key %.80q is of a background task", in.Session), Hint: "choose another name for the conversation"}
	}
	if in.Responder == nil {
		return g.takeIn(ctx, in)
	}
	m := session.Message{ID: g.newID(), User: in.User, Target: in.Target, Text: in.Text, At: time.Now(), Caller: in.Caller, Delta: in.Responder.Delta, Instant: true}
	if r, ok := in.Responder.(adapter.EndResponder); ok {
		m.Ended = r.Ended
	}
	var once sync.Once
	m.Deliver = func(text string, err error) {
		once.Do(func() {
			g.metrics.Sent(in.Session, err)
			in.Responder.Done(text, err)
		})
	}
	return m.ID, g.accept(ctx, in.Session, m)
}

// takeIn takes a message from a chat, whose sender does not wait for the answer: it is in the inbox before its platform
// hears that it was taken, so that it is answered, or its sender told, whatever happens to this life (E12). One that was
// taken before, in this life or an earlier one, is not taken again (E15).
func (g *Gateway) takeIn(ctx context.Context, in adapter.Inbound) (string, error) {
	in.Text = unqueued(in.Text)
	command, _, isCommand := parseCommand(in.Text)
	if err := g.admit(); err != nil && (!isCommand || !g.opened()) {
		g.events.Emit(ops.EventMessageRefused, in.Session, ops.AsError(err).Message, nil)
		return "", err
	}
	row := store.Inbox{
		ID: g.newID(), Dedupe: in.Dedupe, Session: in.Session, Adapter: in.Adapter, Target: in.Target, User: in.User, Text: in.Text,
		At: time.Now(), State: store.InboxWaiting,
	}
	switch {
	case isWork(command): // its task answers it, or the next life says that it was cut off
		row.State = store.InboxRunning
	case isCommand: // it is done once or not at all: a /new of an earlier life is nobody's wish any more
		row.State = store.InboxAnswered
	}
	if isCommand && g.health.Damage() != "" { // it is answered, and nothing of it can be kept
		return row.ID, g.accept(ctx, in.Session, g.chatMessage(row))
	}
	// The caller's end must not leave it unknown whether the message was taken.
	wctx, cancel := g.store.Patient(ctx)
	defer cancel()
	id, fresh, err := g.store.PutInbox(wctx, row)
	switch {
	case err != nil:
		return "", g.notSaved(in.Session, "your message", err)
	case !fresh:
		g.log.Info("message delivered again", "session", in.Session, "message", id)
		return id, nil
	}
	if err := g.accept(ctx, in.Session, g.chatMessage(row)); err != nil {
		if dropErr := g.store.DropInbox(wctx, id); dropErr != nil {
			g.log.Warn("refused message not forgotten", "session", in.Session, "error", term.Clean(dropErr.Error(), 300))
		}
		return "", err
	}
	return id, nil
}

// accept is the one door through which every message comes: chat, socket, /background, /queue (J11).
func (g *Gateway) accept(ctx context.Context, key string, m session.Message) error {
	if err := g.ensureLoaded(ctx, key); err != nil {
		return err
	}
	m.Text = unqueued(m.Text)
	if strings.TrimSpace(m.Text) == "" {
		return &ops.Error{Code: ops.CodeInvalid, Message: "the message is empty", Hint: "say something, or /help"}
	}
	if c, arg, is := parseCommand(m.Text); is {
		g.command(ctx, c, arg, key, m)
		return nil
	}
	if err := g.admit(); err != nil {
		g.events.Emit(ops.EventMessageRefused, key, ops.AsError(err).Message, nil)
		return err
	}
	if err := g.expireFirst(ctx, key); err != nil {
		return err
	}
	if s, ok := g.table.Get(key); ok && s.State == ops.SessionSuspended {
		return &ops.Error{Code: ops.CodeConflict, Message: "this session is suspended", Hint: "send /resume to take it up again, or /new for a fresh one"}
	}
	turn, position, notice, err := g.table.Enqueue(g.turns, key, m)
	if err != nil {
		why := "queue full"
		if ops.HasCode(err, ops.CodeLimit) {
			why = limit.QueuedBytes
		}
		g.log.Warn("message refused", "session", key, "reason", why)
		g.events.Emit(ops.EventMessageRefused, key, why, nil)
		return err
	}
	g.events.Emit(ops.EventMessageAccepted, key, "message accepted", map[string]any{"message": m.ID, "position": position})
	if turn != nil {
		g.begin(turn)
		return nil
	}
	args := withCaller(m.Caller, "session", key, "message", m.ID, "position", position)
	row, _ := g.table.Row(key)
	if v, running := g.table.Running(key); running {
		args = append(args, "turn", v.ID, "without_progress", time.Since(v.Progress).Round(time.Millisecond))
	} else if row.WaitingFor != "" {
		args = append(args, "waiting_for", row.WaitingFor)
	}
	g.log.Info("message waits", args...)
	if row.WaitingFor == limit.Turns && position == 1 && !m.Instant {
		g.outbox.Notice(key, m.Target, "As many conversations as may run at once are running; yours is in the queue. /stop withdraws your message.")
	}
	if notice && !m.Instant {
		place := "this one is next"
		if position > 1 {
			place = fmt.Sprintf("this one is number %d in the queue", position)
		}
		g.outbox.Notice(key, m.Target, "Still working on your last message; "+place+". /stop interrupts.")
	}
	return nil
}

// admit says whether a new turn may begin now.
func (g *Gateway) admit() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch g.state {
	case ops.StateRunning:
		return g.health.Refusal()
	case ops.StateStarting:
		return &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway is starting", Hint: "try again in a moment"}
	case ops.StateDraining:
		return &ops.Error{Code: ops.CodeDraining, Message: strings.TrimSuffix("the gateway is draining and takes no new turns: "+g.drain.Reason, ": "), Hint: "your message was not taken; send it again later"}
	default:
		return &ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping", Hint: "your message was not taken; send it again when it is back"}
	}
}

// holding reports whether waiting messages stay where they are.
func (g *Gateway) holding() bool { return g.admit() != nil }

// chatMessage is a message of the inbox as its session gets it. It is answered once, by Deliver or by Send.
func (g *Gateway) chatMessage(in store.Inbox) session.Message {
	var once sync.Once
	return session.Message{
		ID: in.ID, User: in.User, Target: in.Target, Text: in.Text, At: in.At,
		Deliver: func(text string, err error) { once.Do(func() { g.outbox.Reply(in, chatText(text, err)) }) },
		Send: func(text string, err error) {
			once.Do(func() { g.outbox.Deliver(delivery.Answer(in, chatText(text, err))) })
		},
	}
}

// chatText is what a chat is told: the text, or why there is none.
func chatText(text string, err error) string {
	if err != nil {
		return delivery.UserMessage(err)
	}
	return text
}
