// Package feishu is the platform of a bot of Feishu or Lark: messages and presses of buttons come over the long connection, a
// WebSocket with frames of its own, and everything else goes over the REST API (https://open.feishu.cn/document).
//
// It promises, in addition to what package adapter requires of every platform:
//
//   - Only messages of users whom the Receiver admits are read: those to the bot alone, and those in the listed groups. Another user
//     who speaks to the bot costs one log line in the life of the Platform, and hears in a chat with the bot alone what the Receiver
//     greets unknown users with (I8). Other bots are ignored, the bot's own messages too.
//   - Messages reach the Receiver in the order in which Feishu hands them out. An event is acknowledged once it is handled: accepted,
//     not meant for the gateway, or refused with a notice to its sender. Feishu sends one that was not acknowledged again, and one
//     that this life has handled is not read twice. Inbound.Dedupe tells what an earlier life accepted (E12, E15).
//   - A refusal gives a notice to the chat; one that lasts gives one for all messages until one is accepted again, of a full queue at most one in adapter.RefusalPace (E13). A message on
//     which the Receiver fails without a reason for the user is tried three times; then its sender is asked to send it again.
//   - Liveness is a frame: Feishu answers each ping (E1). A connection on which nothing came for two pings ends. One connection is
//     one socket, and the Supervisor makes the next one.
//   - A message with a key is sent with a uuid: for an hour Feishu takes one of the same uuid once (CV7).
//   - Every message of the bot is a card, because only cards can be edited as often as an answer is written, and only they have
//     buttons. Nothing that a model writes notifies anyone.
//   - The secret of the app and its tokens are in no error and no log line (I3), and go to no other host.
package feishu

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

// DefaultBaseURL is Feishu's own API. Lark's is https://open.larksuite.com.
const DefaultBaseURL = "https://open.feishu.cn"

// Options is what New needs.
type Options struct {
	// AppID is the id of the app, which begins with cli_.
	AppID string
	// Secret is the app's secret, and SecretSource where it should come from, for error texts: the name of the variable or the file.
	Secret, SecretSource string
	// BaseURL is the API without a path; empty is DefaultBaseURL.
	BaseURL string
	// Groups are the ids of the groups that the bot listens in, their threads included. In others it says nothing.
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
	handled  kept[struct{}] // the ids of events
	names    kept[named]    // of people
	parents  kept[parent]   // messages that were answered
	unknown  adapter.UnknownUsers[string]
	unlisted adapter.UnknownUsers[string] // groups outside of Groups in which someone spoke to the bot
	// unanswered counts the unknown users who got no answer, because too many came at once or the notice failed.
	unanswered atomic.Uint64
}

// limits are the times that the platform goes by.
type limits struct {
	// ping is the longest time between two pings. Feishu asks for one every two minutes.
	ping time.Duration
	// call bounds each call of the platform's own, and the handshake.
	call time.Duration
	// notice bounds the answer to a message that was not taken, and what is looked up about one, since the messages behind it wait.
	notice time.Duration
	// again is the time between two tries to hand on a message.
	again time.Duration
	// unnamed is how long a person whose name could not be had goes without.
	unnamed time.Duration
}

var usual = limits{ping: 2 * time.Minute, call: 10 * time.Second, notice: 5 * time.Second, again: time.Second, unnamed: 10 * time.Minute}

// New returns the platform of one bot. It does no I/O.
func New(o Options) *Platform {
	o.AppID, o.Secret = strings.TrimSpace(o.AppID), strings.TrimSpace(o.Secret)
	o.SecretSource = cmp.Or(o.SecretSource, "adapters.feishu.app_secret_env")
	o.BaseURL = strings.TrimRight(cmp.Or(o.BaseURL, DefaultBaseURL), "/")
	o.Groups = slices.Clone(o.Groups)
	return &Platform{o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), limits: usual}
}

// Name implements adapter.Platform.
func (p *Platform) Name() string { return "feishu" }

// Counters implements adapter.Counting.
func (p *Platform) Counters() []adapter.Counter {
	return []adapter.Counter{{
		Name:  "gatewaytui_feishu_notices_dropped_total",
		Help:  "Users who are not on the allow list and got no notice, because too many wrote at once or a notice failed.",
		Value: p.unanswered.Load,
	}}
}

// StaleAfter is how long a connection may go without a frame; the Supervisor asks for it.
func (p *Platform) StaleAfter() time.Duration { return silence(p.ping) }

// silence is how long nothing may come where a ping is sent so often: two of them, and a moment for the answer to the second.
func silence(ping time.Duration) time.Duration { return 2*ping + 5*time.Second }

// Abilities implements adapter.Able. Feishu shows no typing of a bot, and lets no program write the menu of one.
func (p *Platform) Abilities() []adapter.Ability {
	return []adapter.Ability{
		adapter.AbilityGroups, adapter.AbilityThreads, adapter.AbilityEdit, adapter.AbilityReactions, adapter.AbilityButtons,
		adapter.AbilityFilesIn, adapter.AbilityFilesOut, adapter.AbilityFormat, adapter.AbilityIdempotent,
	}
}

// Bounds implements adapter.Bounded: Feishu takes five messages a second in a chat, which all bots of it share, and five edits a
// second of a message.
func (p *Platform) Bounds(string) adapter.Bounds {
	return adapter.Bounds{Message: maxUnits, Messages: 100, Edits: 100, File: maxFile}
}

// listens reports whether the group is listed.
func (p *Platform) listens(group string) bool { return slices.Contains(p.o.Groups, group) }

// credentials says that the secret will not do.
func (p *Platform) credentials(format string, args ...any) error {
	return &adapter.CredentialsError{Variable: p.o.SecretSource, Why: fmt.Sprintf(format, args...)}
}
