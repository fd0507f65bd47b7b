// Package delivery moves messages between chats and sessions. The Intake (intake.go) takes every message to its session, or
// to the chat commands. The Outbox (outbox.go) takes answers and notices to chats, and shows in
// them that a turn runs (show.go): typing, progress, drafts.
//
// What it promises: a message of a chat is durable before its platform hears that it was taken, and is worked on once
// (E12, E15). A message to a chat is durable before the first attempt to send it, keeps its place in its chat, and is tried
// until its platform took it or refused it for good. Every send has a deadline. No lock is held over I/O.
//
// The package knows no gateway. What it needs is in the interfaces of this file.
package delivery

import (
	"context"
	"time"

	"gatewaytui/core/access"
	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// Sender sends one message through the adapter of that name, within ctx. An *adapter.RefusedError is final; after any other
// error a later attempt may succeed. *adapter.Supervisor is one.
type Sender interface {
	Send(ctx context.Context, adapter string, m adapter.Outgoing) (adapter.Sent, error)
	// SendFile sends one file as a message of its own.
	SendFile(ctx context.Context, adapter, target string, f adapter.OutgoingFile) (adapter.Sent, error)
	// Edit makes the message id what m says; Remove takes it out of the chat; Typing shows that the bot types.
	Edit(ctx context.Context, adapter, id string, m adapter.Outgoing) (adapter.Sent, error)
	Remove(ctx context.Context, adapter, target, id string) error
	Typing(ctx context.Context, adapter, target string) error
	// Draft shows m as the draft id of a chat, which is not a message.
	Draft(ctx context.Context, adapter string, id int64, m adapter.Outgoing) error
	// React makes emoji the bot's only reaction to a message; empty takes it back.
	React(ctx context.Context, adapter, target, id, emoji string) error
	// Can reports whether the adapter has an ability, Bounds what it allows in a chat. Neither waits.
	Can(adapter string, a adapter.Ability) bool
	Bounds(adapter, target string) adapter.Bounds
}

// Inbox makes the messages of chats durable. *store.Store is one.
type Inbox interface {
	// PutInbox reports false, and the id of the first delivery, for a message that was taken before.
	PutInbox(ctx context.Context, v store.Inbox) (id string, fresh bool, err error)
	DropInbox(ctx context.Context, id string) error
	// Answer with a nil reply ends a message without an answer.
	Answer(ctx context.Context, id string, reply *store.Outbox) error
	// Patient is ctx without its end, for a write that must survive the end of its cause.
	Patient(ctx context.Context) (context.Context, context.CancelFunc)
}

// People are who may speak, and as what. *access.People is one.
type People interface {
	Role(who access.Person) ops.Role
}

// Journal makes the messages to chats durable. *store.Store is one.
type Journal interface {
	PutOutbox(ctx context.Context, v store.Outbox) error
	SetOutbox(ctx context.Context, v store.Outbox) error
	EndOutbox(ctx context.Context, id, refused string, at time.Time) error
	PutDraft(ctx context.Context, v store.Draft) error
	DropDraft(ctx context.Context, id string) error
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
	// Received counts a message that was taken, or refused if err is not nil.
	Received(key string, err error)
	// Sent counts an attempt to send a reply or a notice.
	Sent(key string, err error)
}

// Emitter takes events. It never blocks. *events.Hub is one.
type Emitter interface {
	Emit(t ops.EventType, subject, text string, data ops.Payload)
}
