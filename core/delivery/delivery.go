// Package delivery moves messages between chats and sessions. The Outbox (outbox.go) takes answers and notices to chats.
//
// What it promises: a message to a chat is durable before the first attempt to send it, keeps its place in its chat, and is
// tried until its platform took it or refused it for good (E12). Every send has a deadline. No lock is held over I/O.
//
// The package knows no gateway. What it needs is in the interfaces of this file.
package delivery

import (
	"context"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// Sender sends one message through the adapter of that name, within ctx. An *adapter.RefusedError is final; after any other
// error a later attempt may succeed. *adapter.Supervisor is one.
type Sender interface {
	Send(ctx context.Context, adapter string, m adapter.Outgoing) error
}

// Journal makes messages durable. *store.Store is one.
type Journal interface {
	PutOutbox(ctx context.Context, v store.Outbox) error
	EndOutbox(ctx context.Context, id, refused string, at time.Time) error
	Answer(ctx context.Context, id string, reply *store.Outbox) error
	// Patient is ctx without its end, for a write that must survive the end of its cause.
	Patient(ctx context.Context) (context.Context, context.CancelFunc)
}

// Tasks runs tracked background work, whose owner waits for it. Start reports false, and runs nothing, once the gateway
// stops. *background.Group is one.
type Tasks interface {
	Start(ctx context.Context, name, session string, run func(context.Context)) (started bool)
}

// Meter counts messages by the platform of the session key. It never waits. *metrics.Metrics is one.
type Meter interface {
	// Sent counts an attempt to send a reply or a notice.
	Sent(key string, err error)
}

// UserMessage is what a chat user reads of an error: its message and its hint as sentences.
func UserMessage(err error) string {
	e := ops.AsError(err)
	text := sentence(e.Message) + "."
	if e.Hint != "" {
		text += " " + sentence(e.Hint) + "."
	}
	return text
}

// sentence is s with a capital letter.
func sentence(s string) string {
	n := min(1, len(s))
	return strings.ToUpper(s[:n]) + s[n:]
}
