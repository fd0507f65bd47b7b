package adapter

import (
	"context"
	"time"
)

// Ability is what a platform can do beyond plain text to one person. Its value is the word for people.
type Ability string

// The abilities. Behind each stands what carries it: a method of the connection, or a field of a message.
const (
	AbilityGroups     Ability = "groups"          // Inbound.Chat is ChatGroup
	AbilityThreads    Ability = "threads"         // Inbound.Chat is ChatThread
	AbilityTyping     Ability = "typing"          // Typer
	AbilityEdit       Ability = "edit"            // Editor
	AbilityDrafts     Ability = "drafts"          // Drafter, Bounds.Drafts
	AbilityReactions  Ability = "reactions"       // Reactor
	AbilityButtons    Ability = "buttons"         // Outgoing.Buttons
	AbilityFilesIn    Ability = "files in"        // Fetcher, Inbound.Files
	AbilityFilesOut   Ability = "files out"       // FileSender
	AbilityMenu       Ability = "menu"            // MenuSetter
	AbilityFormat     Ability = "format"          // Outgoing.Markdown
	AbilityIdempotent Ability = "idempotent send" // Outgoing.Key
)

// Able is implemented by a Platform with abilities. A connection of it implements the interfaces that they name. It may implement more:
// the answer of those is ErrUnable or a *RefusedError.
type Able interface {
	// Abilities returns the abilities in the order in which people should read them. They may change with each connection that
	// Connect returns, and at no other time. It does not wait.
	Abilities() []Ability
}

// Bounds are what a platform allows in one chat. A zero says that the platform sets none, or that it is not known.
type Bounds struct {
	// Message is the longest message in UTF-16 units. Send splits a longer text.
	Message int
	// Messages and Edits are how many new messages and how many changes of messages the chat takes in a minute.
	Messages, Edits int
	// Typing is how long the platform shows that someone types, from one call of Typer.
	Typing time.Duration
	// Drafts is how long the chat shows a draft, from one call of Drafter; 0: the chat has no drafts.
	Drafts time.Duration
	// File is the largest file that a bot may send, in bytes.
	File int64
}

// Bounded is implemented by a Platform with bounds.
type Bounded interface {
	// Bounds returns the bounds of the chat at target, as it stood in Inbound.Target. They may change as Abilities may. It does no I/O.
	Bounds(target string) Bounds
}

// Slash begins a chat command.
const Slash = "/"

// CommandSigner is implemented by a Platform whose people cannot begin a message with a slash, because their clients keep such a line
// for themselves.
type CommandSigner interface {
	// CommandSign begins a chat command as people write it there: texts of the gateway show it so. A connection hands the command
	// on with a slash.
	CommandSign() string
}

// The interfaces that follow are optional for a Conn. Their methods may hang, as Send may, and have its errors: a chat or a
// message that is gone, for instance, is a *RefusedError.

// Typer shows in a chat that the bot works on an answer.
type Typer interface {
	// Typing shows it for as long as Bounds.Typing says, or until the next message of the bot in that chat.
	Typing(ctx context.Context, target string) error
}

// Editor changes messages that were sent.
type Editor interface {
	// Edit makes the message id of the chat m.Target what m says. What does not fit into one message follows in further
	// ones, as with Send; the edited one is the first in Sent. A message that is so already is not an error.
	Edit(ctx context.Context, id string, m Outgoing) (Sent, error)
	// Remove takes a message out of the chat. One that is gone already is not an error.
	Remove(ctx context.Context, target, id string) error
}

// Drafter shows what the bot writes before it is a message.
type Drafter interface {
	// Draft shows m in the chat m.Target for as long as Bounds.Drafts says, in the place of the earlier draft of the same id, which
	// is not 0. A draft is not a message: it leaves without a call. Of a text that is too long the end is shown.
	Draft(ctx context.Context, id int64, m Outgoing) error
}

// Reactor puts signs on messages of others.
type Reactor interface {
	// React makes emoji the bot's only reaction to the message id; an empty emoji takes the reaction back.
	React(ctx context.Context, target, id, emoji string) error
}

// FileSender sends files.
type FileSender interface {
	// SendFile sends one file as a message of its own.
	SendFile(ctx context.Context, target string, f OutgoingFile) (Sent, error)
}

// Fetcher fetches the files of messages that were received.
type Fetcher interface {
	// Fetch returns the content of the file whose File.Ref is ref, also one of an earlier connection or life. A file of more
	// than most bytes is a *RefusedError, before more than that was read.
	Fetch(ctx context.Context, ref string, most int64) ([]byte, error)
}

// MenuSetter shows the chat commands in the platform's own menu.
type MenuSetter interface {
	// SetMenu replaces the menu of the bot; it writes only if the platform has another one.
	SetMenu(ctx context.Context, commands []MenuCommand) error
}

// MenuCommand is one chat command in a menu.
type MenuCommand struct {
	// Name is the command without the slash, About what it does in one line.
	Name, About string
}

// Button is a button below a message. To press it is to send Text as a message, which arrives as such.
type Button struct {
	Label, Text string
}

// OutgoingFile is a file to a chat.
type OutgoingFile struct {
	// Name is the name that the chat shows, Type the media type; empty is unknown.
	Name, Type string
	Content    []byte
	// Caption is the text next to the file; empty is none.
	Caption string
	// Key names the message for ever, as in Outgoing.
	Key string
}

// File is a file of a message that was received.
type File struct {
	// Name is the sender's name for it, and Type the media type that the platform or the sender gave. Both may be empty and
	// neither is to be believed.
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"`
	// Size is in bytes as the platform has it; 0 is unknown.
	Size int64 `json:"size,omitempty"`
	// Spoken means that it is a voice message.
	Spoken bool `json:"spoken,omitempty"`
	// Ref is the platform's name of the file, for Fetch.
	Ref string `json:"ref"`
}

// ChatKind is the kind of a chat.
type ChatKind string

// The kinds of chats. A thread is a part of a group or of a chat with one person: a topic, a thread.
const (
	ChatDM     ChatKind = "dm"
	ChatGroup  ChatKind = "group"
	ChatThread ChatKind = "thread"
)
