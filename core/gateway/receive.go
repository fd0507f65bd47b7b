package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// sendTimeout bounds a reply to a chat outside of a stop.
const sendTimeout = 30 * time.Second

// Receive takes a message from a platform: a chat command is answered at once, past any running turn (D11); anything
// else goes into its session's mailbox. A message that was taken before is not taken again. It implements adapter.Receiver and does not wait for the turn.
func (g *Gateway) Receive(ctx context.Context, in adapter.Inbound) (string, error) {
	if err := session.CheckKey(in.Session); err != nil {
		return "", err
	}
	m := session.Message{ID: g.newID(), User: in.User, Target: in.Target, Text: in.Text, At: time.Now()}
	m.Deliver = g.deliverer(in)
	if in.Responder != nil {
		m.Delta, m.Instant = in.Responder.Delta, true
		if u, ok := in.Responder.(adapter.UsageResponder); ok {
			m.Usage = u.Usage
		}
	}
	if in.Dedupe == "" {
		return m.ID, g.accept(ctx, in.Session, m)
	}
	before, first := g.seen.take(in.Dedupe, m.ID)
	if !first {
		g.log.Info("message delivered again", "session", in.Session, "message", before)
		return before, nil
	}
	if err := g.accept(ctx, in.Session, m); err != nil {
		g.seen.drop(in.Dedupe)
		return "", err
	}
	return m.ID, nil
}

// accept is the one door through which every message comes: chat, socket, /background, /queue (J11).
func (g *Gateway) accept(ctx context.Context, key string, m session.Message) error {
	if strings.TrimSpace(m.Text) == "" {
		return &ops.Error{Code: ops.CodeInvalid, Message: "the message is empty", Hint: "say something, or /help"}
	}
	if c, arg, is := parseCommand(m.Text); is {
		g.command(ctx, c, arg, key, m)
		return nil
	}
	if err := g.admit(); err != nil {
		g.events.emit(ops.EventMessageRefused, key, ops.AsError(err).Message, nil)
		return err
	}
	if s, ok := g.table.Get(key); ok && s.State == ops.SessionSuspended {
		return &ops.Error{Code: ops.CodeConflict, Message: "this session is suspended", Hint: "send /resume to take it up again, or /new for a fresh one"}
	}
	turn, position, notice, err := g.table.Enqueue(g.turns, key, m)
	if err != nil {
		g.log.Warn("message refused", "session", key, "reason", "queue full")
		g.events.emit(ops.EventMessageRefused, key, "queue full", nil)
		return err
	}
	g.events.emit(ops.EventMessageAccepted, key, "message accepted", map[string]any{"message": m.ID, "position": position})
	if turn != nil {
		g.begin(turn)
		return nil
	}
	g.log.Info("message waits", "session", key, "position", position)
	if notice && !m.Instant {
		g.tell(key, m.Target, fmt.Sprintf("A turn is running; your message waits as number %d. /stop interrupts the turn, /status shows it.", position))
	}
	return nil
}

// admit says whether a new turn may begin now.
func (g *Gateway) admit() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch g.state {
	case ops.StateRunning:
		return nil
	case ops.StateStarting:
		return &ops.Error{Code: ops.CodeUnavailable, Message: "the gateway is starting", Hint: "try again in a moment"}
	case ops.StateDraining:
		return &ops.Error{Code: ops.CodeDraining, Message: "the gateway takes no new work: " + g.drain.Reason, Hint: "your message was not taken; send it again later"}
	default:
		return &ops.Error{Code: ops.CodeStopping, Message: "the gateway is stopping", Hint: "your message was not taken; send it again when it is back"}
	}
}

// holding reports whether waiting messages stay where they are.
func (g *Gateway) holding() bool { return g.admit() != nil }

// deliverer makes the function that answers one message, exactly once.
func (g *Gateway) deliverer(in adapter.Inbound) func(string, error) {
	var once sync.Once
	return func(text string, err error) {
		once.Do(func() {
			if in.Responder != nil {
				in.Responder.Done(text, err)
				return
			}
			if err != nil {
				text = excuse(err)
			}
			g.send(in.Session, in.Adapter, in.Target, text)
		})
	}
}

// excuse is what a chat user is told of an error.
func excuse(err error) string {
	e := ops.AsError(err)
	text := strings.ToUpper(e.Message[:min(1, len(e.Message))]) + e.Message[min(1, len(e.Message)):] + "."
	if e.Hint != "" {
		text += " " + strings.ToUpper(e.Hint[:1]) + e.Hint[1:] + "."
	}
	return text
}

// send delivers text to a chat, bounded. A failure is logged: the platform's supervisor shows it in the adapter's row.
func (g *Gateway) send(key, adapterName, target, text string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.turns), sendTimeout)
	defer cancel()
	if err := g.adapters.Send(ctx, adapterName, adapter.Outgoing{Target: target, Text: text}); err != nil {
		g.log.Warn("reply not delivered", "session", key, "adapter", adapterName, "error", term.Clean(err.Error(), 300))
	}
}

// tell sends a notice to a session's chat on a tracked task of its own. Sessions without a chat (api, cli) have nobody
// to tell beside the answer itself.
func (g *Gateway) tell(key, target, text string) {
	if target == "" {
		return
	}
	g.background.start(g.turns, "notice", key, func(context.Context) { g.send(key, session.Platform(key), target, text) })
}
