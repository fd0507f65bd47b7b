// Package session holds the gateway's conversations and their running turns: keys, reset policies, the mailbox and the
// turn's life.
//
// What it promises:
//
//   - A session has at most one running turn. Its mailbox is ordered and bounded.
//   - A running turn is one struct in one map, Table.turns. Release is the only function that removes one. It is
//     idempotent, and removes the agent, the start, the progress and the busy notice with the turn (S16, hermes#11800).
//   - State that outlives a turn (the queue, the counters) is in the session's own struct and ends only with the session
//     (S19).
//   - Late work of a turn carries the turn's identity: a released turn owns nothing, and cannot harm its successor (D8,
//     D10).
//
// The package does no I/O: Table's lock guards memory alone.
package session

import (
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// Session is one conversation as the store keeps it. Callers get copies; the Table owns the original.
type Session struct {
	Key string
	// ID identifies this incarnation: a reset keeps Key and changes ID.
	ID       string
	Platform string
	User     string
	// Target is the platform's address of the chat, for notices.
	Target       string
	State        ops.SessionState // idle, interrupted or suspended: its state while no turn runs
	Created      time.Time
	LastActivity time.Time
	TokensIn     int64
	TokensOut    int64
	// TokensCached are those of TokensIn that came from a model's cache. Cost is the money for the calls whose cost is known; Priced
	// says that there is one.
	TokensCached int64
	Cost         float64
	Priced       bool
	// ContextUsed is how many tokens of the model's context the conversation uses, ContextWindow how many that context has; 0: not
	// known.
	ContextUsed, ContextWindow int
	// Agent is the name of the agent that worked on the session last, Model that of the model that answered, Choice that of the
	// model that its people chose; empty: none.
	Agent, Model, Choice string
	// Busy is what its people chose for messages during a turn; empty: they chose nothing.
	Busy Busy
	// Caller is the sender of the last message over the API; zero: the message came from elsewhere.
	Caller ops.Caller
	// Title names the conversation for people, in at most MaxTitle bytes; empty: it has none yet.
	Title string
	// Stored means that the store has a row of this incarnation: it outlives the gateway.
	Stored bool
}

// Choice is something that a person may send by pressing a button.
type Choice struct{ Label, Text string }

// Message waits in a mailbox, or a turn works on it.
type Message struct {
	ID   string
	User string
	// Role is what its sender may do (TR1), as it was when the message came. A message without one starts nothing.
	Role   ops.Role
	Target string
	Text   string
	// Files are the files that came with it, as JSON, for package media; empty: none. Such a message is a turn of its own.
	Files string
	// Agent is the name of the definition that works on the message; empty: the routes of the config say which.
	Agent string
	At    time.Time
	// Caller is the sender over the API; else zero.
	Caller ops.Caller
	// Unattended means that nothing waits for a person in its turn: what needs an approval is refused (TR3).
	Unattended bool
	// Job is the id of the run of a job that the message begins; User is then the person whose job it is, such as telegram:4711. Empty: none.
	Job string
	// Operator means that an operator sent it, over the control socket or in the console.
	Operator bool
	// Deliver gets the turn's text, or why there is none, exactly once. Delta gets pieces of it before, and may be nil.
	// Delta never blocks. Deliver blocks within its own bound, unless Instant means that it does not block.
	Deliver func(text string, err error)
	// Offer is Deliver of a text with choices below it, on a platform that has buttons; nil where no chat reads it.
	Offer func(text string, choices []Choice)
	// Send is Deliver for an answer that the store has already; nil for an Instant message, whose answer no store has.
	// Only the first call of either has an effect.
	Send    func(text string, err error)
	Delta   func(text string)
	Instant bool
	// Input is what a client of the API sent in addition to Text; nil: nothing.
	Input *model.Input
	// Watch gets the turn's id when the turn begins, and then each step that it does. It never blocks, and may be nil.
	Watch func(turn, doing string)
	// Asked gets each request that the turn asks a person, and again when the request has ended. It never blocks, and may be nil.
	Asked func(ops.InboxItem)
	// Ended gets what the turn cost and how its answer ended, before Deliver; it may be nil.
	Ended func(o model.Outcome)
	// Compact makes the message's turn compact the conversation: Text is the chat command with what is to be kept.
	Compact bool
	// Again are the first and the last number in the store of the exchange that the message's turn takes the place of; 0: none.
	Again [2]int64
	// Busy is what becomes of the message while a turn runs. Joins means that it may be worked on together with its sender's next
	// ones, Join is how long it waits for them even if it could begin; 0: not at all.
	Busy  Busy
	Joins bool
	Join  time.Duration
	// Joined are the sender's next messages, whose texts Text has as well.
	Joined []Message
	// Merged records that the answer to another message is the answer to this one; nil for an Instant message.
	Merged func()
	// Receipt is the sign that the message waits; nil: its platform has none.
	Receipt Receipt
	// Kept means that an earlier life acknowledged the message: no bound of a mailbox refuses it.
	Kept bool
}
