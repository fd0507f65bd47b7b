package conversation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// steer gives the turn what its chat wrote since it began (agent.Turn.Steer). The messages are in the transcript, and their inbox
// rows belong to the turn, in one commit. While a stop drains, they stay where they are, for the next life.
func (r *turnRunner) steer(ctx context.Context) ([]model.Message, error) {
	c, t := r.c, r.turn
	if c.holding() {
		return nil, nil
	}
	taken := c.o.Table.Steer(t)
	if len(taken) == 0 {
		return nil, nil
	}
	messages := make([]model.Message, len(taken))
	for i, m := range taken {
		messages[i] = model.Message{Role: model.RoleUser, Content: m.Text}
	}
	rows := stored(messages)
	for i, m := range taken {
		rows[i].At, rows[i].Who = m.At, m.User
	}
	ids := inboxIDs(taken)
	wctx, cancel := c.store.Patient(ctx)
	defer cancel()
	err := r.agent.Memory().Write(wctx, func(ctx context.Context) error { return c.store.Steer(ctx, t.Session.ID, t.ID, ids, rows) })
	if err != nil {
		return nil, err
	}
	tookUp(taken...)
	c.o.Log.Info("messages read by the running turn", "session", t.Session.Key, "turn", t.ID, "count", len(taken))
	return messages, nil
}

// Steerable implements delivery.Conversations: an external agent reads no message while it works on a turn.
func (c *Conversations) Steerable(key string) bool {
	v, running := c.o.Table.Running(key)
	return !running || c.definition(v.Turn).External == nil
}

// tookUp takes the signs away that messages wait.
func tookUp(messages ...session.Message) {
	for _, m := range messages {
		if m.Receipt != nil {
			m.Receipt.Taken()
		}
	}
}

// merge records for messages that the answer to another one is theirs, where the end of their turn did not.
func merge(messages []session.Message) {
	for _, m := range messages {
		if m.Merged != nil {
			m.Merged()
		}
	}
}

// inboxIDs name the inbox rows of messages.
func inboxIDs(messages []session.Message) (ids []string) {
	for _, m := range messages {
		if id := inboxID(m); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// busyWords say what each mode does.
var busyWords = map[session.Busy]string{
	session.BusyQueue:     "it waits, and is next",
	session.BusySteer:     "the running turn reads it after its next step; if there is none, it is next",
	session.BusyInterrupt: "it interrupts the running turn and is next",
}

// busy is /busy: it shows what becomes of a message while a turn runs, or chooses it for the conversation. The choice is in the
// store before it is confirmed, and ends with the conversation (S19).
func (c *Conversations) busy(ctx context.Context, u use) (string, error) {
	if session.IsRequest(u.key) {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "a request without a session has nothing that waits"}
	}
	if u.arg == "" {
		mode, by := c.intake.Busy(u.key), "the config says so"
		if c.o.Table.Busy(u.key) != "" {
			by = "this was chosen with /busy"
		}
		var b strings.Builder
		fmt.Fprintf(&b, "A message during a turn: %s (%s); %s.\n", mode, busyWords[mode], by)
		for _, m := range session.Modes {
			fmt.Fprintf(&b, "/busy %s: %s\n", m, busyWords[m])
		}
		b.WriteString("For one message, in any mode: /steer TEXT and /queue TEXT.")
		if d := c.now().Roster.Pick(session.Owner(u.key), u.msg.Role, u.msg.Agent); d.External != nil {
			fmt.Fprintf(&b, "\nThe agent %s is an external program, which reads nothing during a turn: a message that it should read waits, as with queue.", d.Name)
		}
		return b.String(), nil
	}
	mode := session.Busy(strings.ToLower(u.arg))
	if !slices.Contains(session.Modes, mode) {
		return "", &ops.Error{Code: ops.CodeInvalid, Message: "there is no mode " + term.Quote(u.arg), Hint: "/busy queue, /busy steer or /busy interrupt"}
	}
	before := c.o.Table.Busy(u.key)
	s := c.o.Table.SetBusy(u.key, mode, u.msg)
	wctx, cancel := c.store.Patient(ctx)
	defer cancel()
	if err := c.store.Choose(wctx, row(s)); err != nil {
		c.o.Table.SetBusy(u.key, before, u.msg)
		return "", fmt.Errorf("save the mode of %s: %w", u.key, err)
	}
	c.o.Table.Chosen(u.key, s.ID)
	return fmt.Sprintf("A message during a turn, until this conversation ends: %s (%s).", mode, busyWords[mode]), nil
}

// steerCommand is /steer without a text. With a text it is that message: see delivery.
func (c *Conversations) steerCommand(context.Context, use) (string, error) {
	return "", &ops.Error{Code: ops.CodeInvalid, Message: "tell me what the running turn should know, for example: /steer use the other branch"}
}
