// Package discord is the platform of a Discord bot: messages and presses of buttons come over the gateway, a WebSocket, and
// everything else goes over the REST API (https://discord.com/developers/docs).
//
// It promises, in addition to what package adapter requires of every platform:
//
//   - Only messages of users whom the Receiver admits are read: those to the bot alone, and those in the listed guilds and
//     channels. Another user who speaks to the bot costs one log line in the life of the Platform, and hears in a chat with the
//     bot alone what the Receiver greets unknown users with (I8). Other bots are ignored, the bot's own messages too.
//   - Messages reach the Receiver in the order in which Discord has them. The next connection of the same life resumes after
//     the last one that was handled: accepted, not meant for the gateway, or refused with a notice to its sender. Discord
//     keeps no messages for a bot that is away for minutes. Inbound.Dedupe tells whether one had been accepted (E12, E15).
//   - A refusal gives a notice to the chat; one that lasts gives one for all messages until one is accepted again, of a full queue at most one in adapter.RefusalPace (E13). A
//     message on which the Receiver fails without a reason for the user is tried three times; then its sender is asked to
//     send it again.
//   - Liveness is a frame of the gateway (E1). One connection is one socket: where Discord ends it, or asks for another, the
//     connection ends, and the Supervisor makes the next one.
//   - A message with a key is sent with a nonce that Discord enforces: a repeat within minutes gives the same message (CV7).
//   - What is sent notifies no user, role or channel that a model names, and no link in it is fetched for a preview, which
//     would send data out without a click.
//   - The bot's token is in no error and no log line (I3), and goes to no other host.
package discord

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
	"gatewaytui/core/adapter/bot"
)

// DefaultBaseURL is Discord's own API.
const DefaultBaseURL = "https://discord.com/api"

// Options is what New needs.
type Options = bot.Options

// Platform is one bot. It implements adapter.Platform.
type Platform struct {
	o   Options
	log *slog.Logger
	limits
	// dial makes network connections; nil is the usual way.
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	// What outlives a connection. Each is locked for a look-up only, so that a connection that hangs holds up no other.
	session  session
	channels channels
	unknown  adapter.UnknownUsers[id]
	unlisted adapter.UnknownUsers[id] // channels outside of Groups in which someone spoke to the bot
	// unanswered counts the unknown users who got no answer, because too many came at once or the notice failed.
	unanswered atomic.Uint64
}

// limits are the times that the platform goes by.
type limits struct {
	// stale is how long no frame may come: Discord answers a heartbeat every 41 seconds.
	stale time.Duration
	// call bounds each call of the gateway's own, and the handshake.
	call time.Duration
	// notice bounds the answer to a message that was not taken, since the messages behind it wait for it.
	notice time.Duration
	// again is the time between two tries to hand on a message.
	again time.Duration
}

var usual = limits{stale: 100 * time.Second, call: 10 * time.Second, notice: 5 * time.Second, again: time.Second}

// New returns the platform of one bot. It does no I/O.
func New(o Options) *Platform {
	o.Token = strings.TrimSpace(o.Token)
	o.TokenSource = cmp.Or(o.TokenSource, "adapters.discord.token_env")
	o.BaseURL = strings.TrimRight(cmp.Or(o.BaseURL, DefaultBaseURL), "/")
	o.Groups = slices.Clone(o.Groups)
	return &Platform{o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), limits: usual}
}

// Name implements adapter.Platform.
func (p *Platform) Name() string { return "discord" }

// Counters implements adapter.Counting.
func (p *Platform) Counters() []adapter.Counter {
	return []adapter.Counter{{
		Name:  "gatewaytui_discord_notices_dropped_total",
		Help:  "Users who are not on the allow list and got no notice, because too many wrote at once or a notice failed.",
		Value: p.unanswered.Load,
	}}
}

// StaleAfter is how long a connection may go without a frame; the Supervisor asks for it.
func (p *Platform) StaleAfter() time.Duration { return p.stale }

// Abilities implements adapter.Able.
func (p *Platform) Abilities() []adapter.Ability {
	return []adapter.Ability{
		adapter.AbilityGroups, adapter.AbilityThreads, adapter.AbilityTyping, adapter.AbilityEdit, adapter.AbilityReactions, adapter.AbilityButtons,
		adapter.AbilityFilesIn, adapter.AbilityFilesOut, adapter.AbilityMenu, adapter.AbilityFormat, adapter.AbilityIdempotent,
	}
}

// Bounds implements adapter.Bounded: Discord takes five messages and five edits in five seconds in each channel.
func (p *Platform) Bounds(string) adapter.Bounds {
	return adapter.Bounds{Message: maxUnits, Messages: 60, Edits: 60, Typing: 10 * time.Second, File: maxFile}
}

// listens reports whether one of these is listed.
func (p *Platform) listens(ids ...id) bool {
	return slices.ContainsFunc(ids, func(i id) bool { return i != 0 && slices.Contains(p.o.Groups, int64(i)) })
}

// credentials says that the token will not do.
func (p *Platform) credentials(format string, args ...any) error {
	return &adapter.CredentialsError{Variable: p.o.TokenSource, Why: fmt.Sprintf(format, args...)}
}
