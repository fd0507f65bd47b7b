package conformance

import (
	"time"

	"gatewaytui/core/adapter"
)

// Fault is a way in which a peer fails. It holds for the connections and the calls that begin after it.
type Fault string

// The faults.
const (
	Flood    Fault = "flood"     // a message or a file is answered with a rate limit of Limit
	Refusal  Fault = "refusal"   // the chat takes no message and no file any more
	BadToken Fault = "bad token" // the credential is refused
	Conflict Fault = "conflict"  // another program uses the credential
	Gone     Fault = "gone"      // nothing accepts a connection, and the open ones break
	HalfDead Fault = "half-dead" // connections stay open, and nothing answers any more
)

// Limit is the least rate limit of a peer with the fault Flood.
const Limit = 7 * time.Second

// Peer is a platform with a double of its server that a test steers.
type Peer interface {
	// Platform is the platform. Each call returns the same one until the next Fail.
	Platform() adapter.Platform
	// Say is a message of an allowed user to the bot in a chat with him alone. It may come before the platform connects.
	Say(text string)
	// Texts are the texts of the bot's messages as they stand in that chat.
	Texts() []string
	// Fail makes the peer fail and reports whether it can fail in that way.
	Fail(f Fault) bool
	// Heal ends every fault.
	Heal()
	// Pass lets d pass, and everything that can run run.
	Pass(d time.Duration)
}

// The interfaces that follow are for a Peer whose platform declares the ability.

// FilePeer has files in the chat of Peer.Say.
type FilePeer interface {
	// SayFile is a message of the user with a file and a text, which may be empty.
	SayFile(text, name, content string)
	// Files are the files of the bot's messages, in order.
	Files() []SentFile
}

// SentFile is a file as it arrived in a chat.
type SentFile struct{ Name, Content, Text string }

// DraftPeer has drafts in the chat of Peer.Say.
type DraftPeer interface {
	// Drafts are the texts that its draft had, in order.
	Drafts() []string
}

// ReactionPeer shows reactions in the chat of Peer.Say.
type ReactionPeer interface {
	// Reactions are the bot's to the message with this Inbound.ID.
	Reactions(message string) []string
}

// ButtonPeer has buttons in the chat of Peer.Say.
type ButtonPeer interface {
	// Press has the user, or a stranger, press the button with this label below the bot's last message, and reports whether it is
	// there.
	Press(label string, stranger bool) bool
}

// Times are how long the suite waits for a peer.
type Times struct {
	// Call bounds a connect and a call.
	Call time.Duration
	// Step is the pause between two looks at what must come, and Come bounds the wait for it.
	Step, Come time.Duration
	// Lag is for how long the peer may not show yet what a call has done.
	Lag time.Duration
	// Settle is how long the suite looks for what must not come, Silence for how long it lets a half-dead peer be silent.
	Settle, Silence time.Duration
	// Fails is how many connects in a row fail.
	Fails int
}

// virtual are the times of a peer in virtual time.
var virtual = Times{Call: 30 * time.Second, Step: time.Second, Come: farAway, Settle: farAway, Silence: farAway, Fails: 200}

// farAway is longer than each timer of a platform.
const farAway = 10 * time.Minute

// Timed is a Peer with times of its own, such as one whose time is real.
type Timed interface {
	Times() Times
}
