// Package adapter connects chat platforms. A Platform makes connections, a Conn is one of them, and the Supervisor
// (supervisor.go) keeps one connection of each platform alive; each platform has a folder below.
//
// What it promises: platforms connect side by side and none delays another; a lost connection is queued for its retry
// before the old one is taken down, and retried for ever with capped backoff; "connected" means that polls or frames
// complete; every call into a platform is bounded by its caller; after Stop a platform sends and receives nothing.
package adapter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// Platform is one chat platform as configured. Connect is the only way to it, so that a connection that hangs can be
// abandoned whole: nothing is shared between two connections of a platform.
type Platform interface {
	// Name is the platform's name in session keys and in the config.
	Name() string
	// Connect makes a connection that hands what it receives to r. ctx bounds the attempt, not the connection. The error
	// may be one of this package's types, which the Supervisor turns into a state.
	Connect(ctx context.Context, r Receiver) (Conn, error)
}

// Conn is one live connection. Its methods may be called from any goroutine. Send, CancelTasks and Disconnect may hang for
// as long as the platform does: callers bound them. The others return what is known and never wait.
type Conn interface {
	// Done is closed when the connection has ended without a Disconnect; Err then says why.
	Done() <-chan struct{}
	Err() error
	// LastInbound is when a poll or a frame last completed, whether or not it carried a message (E1). For a
	// listener it is the last request. The zero time means that nothing was received yet.
	LastInbound() time.Time
	// Send delivers one message, as several where the platform takes none of its length.
	Send(ctx context.Context, m Outgoing) (Sent, error)
	// CancelTasks cancels the work on received messages that is under way in the connection, and waits for it (S4). It
	// takes no new ones from then on.
	CancelTasks(ctx context.Context) error
	// Disconnect ends the connection and releases what it holds.
	Disconnect(ctx context.Context) error
}

// Outgoing is a message to a chat.
type Outgoing struct {
	// Target is the platform's address of the chat, as it stood in Inbound.Target.
	Target string
	Text   string
	// Markdown means that Text is Markdown, which a platform with AbilityFormat shows in its own format. A part that the platform
	// refuses goes out as plain text.
	Markdown bool
	// Key names the message for ever. A platform with AbilityIdempotent takes a message of the same key once.
	Key string
	// Skip is how many messages of this text have arrived already: the first parts of a text that is split.
	Skip int
	// Repeated means that the first message that is sent may have arrived before, which it then says. One that takes the place of
	// another by Edit does not: to do that twice changes nothing.
	Repeated bool
	// Passing means that the message is worthless a moment later: a draft, a progress. A rate limit for it silences no other
	// message, and it waits for no other.
	Passing bool
	// Buttons are rows of buttons below the message, on a platform with AbilityButtons. Text says what they do in words.
	Buttons [][]Button
}

// RepeatMark is what a message that may have arrived before says at its beginning.
const RepeatMark = "(Sent again: the connection broke off, so you may have this already.)"

// Sent is what became of an Outgoing.
type Sent struct {
	// IDs are the platform's names of the messages that arrived in this call, in order, for Editor; empty strings where
	// it has none. With an error they are those before the one that failed.
	IDs []string
}

// Inbound is a message from a chat, from a user whom Door admits.
type Inbound struct {
	Adapter string
	// Session is the session's key, e.g. telegram:dm:4711.
	Session string
	// User is who speaks, for people and for the audit. It ends with the platform's id of that person, alone or in parentheses:
	// people search the messages of their own id. Sender is that person's name alone, for the model and the chat.
	User, Sender string
	// Chat is the kind of the chat; empty where the platform has only one.
	Chat ChatKind
	// Mentioned means that the message is for the bot: it names it, or answers a message of its own. Other messages of a group
	// are only heard.
	Mentioned bool
	// Quoted is the text of the message that this one answers; empty: none, or one of an empty text.
	Quoted string
	// Edited means that the sender changed the message ID. Dedupe then names the change.
	Edited bool
	// Forwarded means that another person wrote the message: its sender may pass on more of them.
	Forwarded bool
	// Files came with the message, whose Text may be empty then.
	Files []File
	// ID is the platform's name of the message in its chat, for Reactor.
	ID string
	// Target is where an answer goes: the platform's address of the chat, and the message that is answered behind a # if the
	// platform shows that.
	Target string
	Text   string
	// Agent is the name of the agent definition that works on it; empty: the routes of the config say which.
	Agent string
	// Dedupe names the message for ever on its platform; empty where the platform has no such name.
	Dedupe string
	// Caller is who sent it, on a platform whose senders are programs; else zero.
	Caller ops.Caller
	// Input is what a program sent in addition to Text; nil: nothing.
	Input *model.Input
	// Unattended means that no person waits for the answer: what the turn asks a person is refused at once.
	Unattended bool
	// Passed means that no turn works on the message: Text goes out through Send to Target as it is.
	Passed bool
	// Responder takes the answer; nil: the answer goes out through Send to Target.
	Responder Responder
}

// ChatOf is a target without the message that is answered.
func ChatOf(target string) string {
	chat, _, _ := strings.Cut(target, "#")
	return chat
}

// Responder takes the answer to one message. Its methods never block and may be called after the asker has gone.
type Responder interface {
	// Delta takes a piece of the answer as it is written.
	Delta(text string)
	// Ended takes what the turn cost and how its answer ended, before Done.
	Ended(o model.Outcome)
	// Done takes the whole answer, or why there is none; it is called exactly once for a message that was received.
	Done(text string, err error)
}

// Watcher is a Responder that shows its asker what the turn does. Its method never blocks.
type Watcher interface {
	// Watch takes the id of the turn when it begins, with an empty doing, and then each step of it.
	Watch(turn, doing string)
}

// Asker is a Responder that shows its sender what the turn asks a person. Its method never blocks.
type Asker interface {
	// Asked takes a request when it is asked, and again when it has ended. Its texts are not clean.
	Asked(item ops.InboxItem)
}

// Receiver takes what a platform receives. The gateway implements it. No method waits for a turn.
type Receiver interface {
	// Receive accepts the message and returns its id, or refuses it with an *ops.Error (draining, queue_full, invalid)
	// whose text the user may see.
	Receive(ctx context.Context, m Inbound) (id string, err error)
	// Withdraw ends the work on a message that was accepted with id, because its sender no longer waits for the answer: it
	// leaves the mailbox, or its running turn is interrupted. It does nothing for a message that has its answer.
	Withdraw(session, id string)
	// ToolSocket reports whether a process that a tool started holds the TCP socket s of this machine, and its session,
	// empty if that is not known. The error says that it is not known. ctx bounds the look at the processes.
	ToolSocket(ctx context.Context, s Socket) (session string, tool bool, err error)
	Archive
	Door
	// ToolRefused records in the audit that a tool asked for call and was refused. call names what was asked for, without
	// content.
	ToolRefused(by ops.Actor, call string)
}

// Forwarder is a Receiver that sends messages to the chats of other platforms, for a platform whose senders read no answers.
type Forwarder interface {
	// Forward sends m to the chat of the session of this key, under the rules of Supervisor.Send. A session whose chat is not
	// known is a *RefusedError.
	Forward(ctx context.Context, session string, m Outgoing) (Sent, error)
}

// Listener is a Platform that others connect to.
type Listener interface {
	// Addr is host:port of the listener, empty while there is none. It does not wait.
	Addr() string
}

// Partial is a Platform of which a part may not work while it is connected, such as a route of a webhook that lacks its secret.
type Partial interface {
	// Lacks are the parts that do not work, each with what it lacks, in one order; none: all work. It does not wait.
	Lacks() []string
}

// Historian is a Receiver that knows which sessions have a history. Its method does not wait.
type Historian interface {
	// Remembers reports whether the session of this key has a conversation that the gateway keeps.
	Remembers(session string) bool
}

// Commander is a Receiver that knows the chat commands, for a platform whose people write them with a sign that begins other texts too.
// Its method does not wait.
type Commander interface {
	// Commands reports whether text is a chat command: it begins with a slash and a name that the gateway knows.
	Commands(text string) bool
}

// Archive keeps answers that programs refer to in later requests. Its methods wait for the disk, within ctx.
type Archive interface {
	// KeepAnswer returns when a is durable.
	KeepAnswer(ctx context.Context, a Answer) error
	// KeptAnswer is the answer with this id that belongs to owner; false if there is none.
	KeptAnswer(ctx context.Context, id, owner string) (Answer, bool, error)
	// DropAnswer deletes it, and reports whether there was one.
	DropAnswer(ctx context.Context, id, owner string) (bool, error)
}

// Answer is an answer that its Owner, a name of the caller, may continue.
type Answer struct {
	ID string
	// Previous is the answer that it continues; empty: none.
	Previous string
	Owner    string
	At       time.Time
	// Messages is what the turn added to the conversation; Body is the answer as the caller got it, as JSON.
	Messages []model.Message
	Body     []byte
}

// Socket names a socket of this machine.
type Socket struct {
	// UID is the user that it belongs to.
	UID int
	// Inode is its number (proc_net_tcp.txt of the kernel's documentation).
	Inode uint64
	// Group is the id of the control group that made it (INET_DIAG_CGROUP_ID); 0: not known.
	Group uint64
}

// CredentialsError says that a platform cannot connect until a credential is set.
type CredentialsError struct {
	// Variable is the environment variable or file that should hold it.
	Variable string
	// Why says what is wrong with it; empty: it is unset or empty.
	Why string
}

func (e *CredentialsError) Error() string {
	// No "NAME: why": that is what a secret looks like, and would be masked.
	if e.Why == "" {
		return e.Variable + " is not set"
	}
	return fmt.Sprintf("the credential in %s is not usable (%s)", e.Variable, e.Why)
}

// RateLimitError says that a platform asks for silence. It is never slept on in the call that got it (E8).
type RateLimitError struct {
	RetryAfter time.Duration
}

func (e *RateLimitError) Error() string {
	return fmt.Sprintf("rate-limited by the platform for %s", e.RetryAfter.Round(time.Second))
}

// Pause is how long a platform is left alone after err: for at least the given time, and as long as it asks for.
func Pause(err error, least time.Duration) time.Duration {
	if limit, is := errors.AsType[*RateLimitError](err); is {
		return max(least, limit.RetryAfter)
	}
	return least
}

// ConflictError says that another consumer uses the same credential (Telegram's 409; E9).
type ConflictError struct {
	Why string
}

func (e *ConflictError) Error() string { return "conflict: " + e.Why }
