package delivery

import (
	"context"
	"strings"
	"sync"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// message is a message of the inbox as its session gets it. It is answered once, by Deliver or by Send.
func (o *Outbox) message(in store.Inbox) session.Message {
	var once sync.Once
	return session.Message{
		ID: in.ID, User: in.User, Target: in.Target, Text: in.Text, At: in.At,
		Deliver: func(text string, err error) { once.Do(func() { o.Reply(in, ChatText(text, err)) }) },
		Send:    func(text string, err error) { once.Do(func() { o.Deliver(Answer(in, ChatText(text, err))) }) },
	}
}

// Withdrawn answers a message that was taken out of its mailbox with the cause.
func (o *Outbox) Withdrawn(key string, m session.Message, cause error) {
	o.o.Log.Info("waiting message withdrawn", "session", key, "message", m.ID, "reason", cause.Error())
	o.Refuse(key, session.Answer(cause), m)
}

// Refuse answers messages that waited in the session of key with why, on a task: a platform may be slow. When no task
// starts any more, it answers before it returns.
func (o *Outbox) Refuse(key string, why error, messages ...session.Message) {
	answer := func(context.Context) {
		for _, m := range messages {
			m.Deliver("", why)
		}
	}
	if !o.o.Tasks.Start(context.Background(), "notice", key, answer) {
		answer(context.Background())
	}
}

// ChatText is what a chat reads of a turn: its text, or why there is none.
func ChatText(text string, err error) string {
	if err != nil {
		return userMessage(err)
	}
	return text
}

// userMessage is what a chat user reads of an error: its message and its hint as sentences.
func userMessage(err error) string {
	e := ops.AsError(err)
	text := sentence(e.Message)
	if e.Hint != "" {
		text += " " + sentence(e.Hint)
	}
	return text
}

func sentence(s string) string {
	n := min(1, len(s))
	return strings.ToUpper(s[:n]) + s[n:] + "."
}
