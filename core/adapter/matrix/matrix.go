// Package matrix is the platform of a Matrix account that is a bot, over the client-server API of its homeserver
// (https://spec.matrix.org/latest/client-server-api/): messages come by long polling (/sync).
//
// It promises, in addition to what package adapter requires of every platform:
//
//   - Only messages of users whom the Receiver admits are read: those in a room with the bot alone, and those in the listed
//     rooms. Another user who speaks to the bot costs one log line in the life of the Platform, and hears in a room with the
//     bot alone what the Receiver greets unknown users with (I8). Another room is logged once, and told once how it is listed.
//   - An invitation is accepted if the Receiver admits who sent it; until then it waits. To accept it twice is harmless.
//   - Messages reach the Receiver in the order in which the homeserver has them. The place after the last batch that was handled is
//     kept in the account data of the bot, so that the next life goes on there. A message that came again has the same
//     Inbound.Dedupe (E12, E15). Without such a place the bot begins with what is said from now on.
//   - A refusal gives a notice to the chat; one that lasts gives one for all messages until one is accepted again, of a full queue at most one in adapter.RefusalPace (E13). A
//     message on which the Receiver fails without a reason for the user is tried three times; then its sender is asked to
//     send it again.
//   - Liveness is a completed /sync (E1). Two failed ones are tried again in place; then the connection ends, and the
//     Supervisor makes the next one.
//   - A message with a key is sent with a transaction id: a repeat gives the same message for as long as the homeserver
//     knows the id (CV7).
//   - Notices, which bots send, are not read, so that two bots do not answer each other.
//   - What is sent mentions no user and no room that a model names.
//   - Encrypted rooms cannot be read. The room and the log have that once.
//   - The access token is in no error and no log line (I3), and goes to no other host.
package matrix

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
)

// Options is what New needs.
type Options struct {
	// Homeserver is the base address of the client-server API, such as https://matrix.example.org.
	Homeserver string
	// User is the bot's id, such as @bot:example.org; empty: the one that the token belongs to.
	User string
	// Token is the access token of a device of the bot.
	Token string
	// TokenSource is where Token should come from, for error texts: the name of the variable or the file.
	TokenSource string
	// Groups are the ids of the rooms that the bot listens in, in addition to those with one person alone.
	Groups []string
	// Log takes one line for each unknown user and for what else the Supervisor does not learn; nil discards them.
	Log *slog.Logger
}

// Platform is one bot. It implements adapter.Platform.
type Platform struct {
	o   Options
	log *slog.Logger
	limits
	// dial makes network connections; nil is the usual way.
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	// What outlives a connection. Each is locked for a look-up only, so that a connection that hangs holds up no other.
	cursor     cursor
	rooms      rooms
	unknown    adapter.UnknownUsers[string]
	unlisted   adapter.UnknownUsers[string] // rooms outside of Groups in which someone spoke to the bot
	encrypted  adapter.UnknownUsers[string] // encrypted rooms
	unreadable adapter.UnknownUsers[string] // senders of events that are not what they say
	// unanswered counts the unknown users who got no answer, because too many came at once or the notice failed.
	unanswered atomic.Uint64
}

// limits are the times that the platform goes by.
type limits struct {
	// poll is how long the homeserver may hold a /sync open without an event.
	poll time.Duration
	// grace is how much later than that the answer may come before the connection counts as stale; as much again ends the
	// call, for a caller that does not look.
	grace time.Duration
	// call bounds each other call of the gateway's own.
	call time.Duration
	// notice bounds the answer to a message that was not taken, since the messages behind it wait for it.
	notice time.Duration
	// again is the time between two tries to hand on a message, and the least between the starts of two polls of which the
	// first failed or brought nothing.
	again time.Duration
	// last bounds the calls at the end of a connection, and those that follow a message that has arrived.
	last time.Duration
}

var usual = limits{
	poll: 25 * time.Second, grace: 10 * time.Second, call: 10 * time.Second, notice: 5 * time.Second, again: time.Second, last: 2 * time.Second,
}

// New returns the platform of one bot. It does no I/O.
func New(o Options) *Platform {
	o.Token = strings.TrimSpace(o.Token)
	o.TokenSource = cmp.Or(o.TokenSource, "adapters.matrix.token_env")
	o.Homeserver = strings.TrimRight(o.Homeserver, "/")
	o.Groups = slices.Clone(o.Groups)
	return &Platform{o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), limits: usual}
}

// Name implements adapter.Platform.
func (p *Platform) Name() string { return "matrix" }

// Counters implements adapter.Counting.
func (p *Platform) Counters() []adapter.Counter {
	return []adapter.Counter{{
		Name:  "gatewaytui_matrix_notices_dropped_total",
		Help:  "Users who are not on the allow list and got no notice, because too many wrote at once or a notice failed.",
		Value: p.unanswered.Load,
	}}
}

// StaleAfter is how long a connection may go without a completed /sync; the Supervisor asks for it.
func (p *Platform) StaleAfter() time.Duration { return p.poll + p.grace }

// Abilities implements adapter.Able.
func (p *Platform) Abilities() []adapter.Ability {
	return []adapter.Ability{
		adapter.AbilityGroups, adapter.AbilityThreads, adapter.AbilityTyping, adapter.AbilityEdit, adapter.AbilityReactions, adapter.AbilityButtons,
		adapter.AbilityFilesIn, adapter.AbilityFilesOut, adapter.AbilityFormat, adapter.AbilityIdempotent,
	}
}

// Bounds implements adapter.Bounded. The homeserver Synapse takes ten messages at once and then one each five seconds
// (rc_message); an edit is a message.
func (p *Platform) Bounds(string) adapter.Bounds {
	return adapter.Bounds{Message: maxUnits, Messages: 20, Edits: 20, Typing: typingLasts, File: maxFile}
}

// listens reports whether the room is listed.
func (p *Platform) listens(room string) bool { return slices.Contains(p.o.Groups, room) }

// credentials says that the token will not do.
func (p *Platform) credentials(format string, args ...any) error {
	return &adapter.CredentialsError{Variable: p.o.TokenSource, Why: fmt.Sprintf(format, args...)}
}
