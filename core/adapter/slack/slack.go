// Package slack is the platform of a Slack app: messages, presses of buttons and slash commands come over a WebSocket (Socket
// Mode, https://docs.slack.dev/apis/events-api/using-socket-mode), and everything else goes over the Web API.
//
// It promises, in addition to what package adapter requires of every platform:
//
//   - Only messages of users whom the Receiver admits are read: those to the bot alone, and those in the listed channels. Another
//     user who speaks to the bot costs one log line in the life of the Platform, and hears in a chat with the bot alone what the
//     Receiver greets unknown users with (I8). Other bots are ignored, the bot's own messages too.
//   - A message is acknowledged once it was handled: accepted, not meant for the gateway, or refused with a notice to its sender.
//     Slack delivers one again that was not, also over the next connection. A message that comes twice, as an event of two kinds
//     or as a repeat, is handled once in the life of the Platform; Inbound.Dedupe tells an earlier life's (E12, E15).
//   - A refusal gives a notice to the chat; one that lasts gives one for all messages until one is accepted again, of a full queue at most one in adapter.RefusalPace (E13). A
//     message on which the Receiver fails without a reason for the user is tried three times; then its sender is asked to
//     send it again.
//   - Liveness is a frame of the socket, and each ping of the gateway's own has to have its answer (E1). One connection is one
//     socket: where Slack asks for another, the connection handles what it has and ends, and the Supervisor makes the next one.
//   - A message that begins with ! and the name of a chat command is that command; any other text with ! stays as it is.
//   - A thread is a session, and a message in a channel begins one. The answer goes where the message was.
//   - What is sent is rich text and no markup: it notifies no user and no channel, and no link in it is fetched for a preview,
//     which would send data out without a click.
//   - An answer that may have arrived before is looked for in its chat by its key; it is sent again only if it is not there.
//   - The tokens are in no error and no log line (I3), and go to no host outside of the domain of the Web API.
package slack

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

// DefaultBaseURL is Slack's own Web API.
const DefaultBaseURL = "https://slack.com/api"

// DefaultCommand is the slash command behind which chat commands stand.
const DefaultCommand = "/gateway"

// commandSign begins a chat command that is a message: Slack's input keeps a line that begins with a slash for itself.
const commandSign = "!"

// Options is what New needs.
type Options struct {
	// AppToken begins with xapp- and opens the socket; BotToken begins with xoxb- and is for all other calls.
	AppToken, BotToken string
	// AppTokenSource and BotTokenSource are where the tokens should come from, for error texts: the name of a variable or a file.
	AppTokenSource, BotTokenSource string
	// BaseURL is the Web API; empty is Slack's own.
	BaseURL string
	// Groups are the ids of the channels that the bot listens in; the id of a workspace stands for all of its channels. In others
	// it says nothing.
	Groups []string
	// Command is the slash command behind which a chat command stands; empty is DefaultCommand. Any other slash command is a chat command.
	Command string
	// Log takes one line for each unknown user and for what else the Supervisor does not learn; nil discards them.
	Log *slog.Logger
}

// Platform is one app in one workspace. It implements adapter.Platform.
type Platform struct {
	o   Options
	log *slog.Logger
	limits
	// dial makes network connections; nil is the usual way.
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	// What outlives a connection. Each is locked for a look-up only, so that a connection that hangs holds up no other.
	handled  recent
	names    names
	alone    names // the channels of chats with one person
	unknown  adapter.UnknownUsers[string]
	unlisted adapter.UnknownUsers[string] // channels outside of Groups in which a user spoke to the bot
	// unanswered counts the unknown users who got no answer, because too many came at once or the notice failed.
	unanswered atomic.Uint64
	// ended is when a connection of this life last ended, in Unix nanoseconds; 0 is never.
	ended atomic.Int64
	// lacks means that the log has the scopes that the bot lacks.
	lacks atomic.Bool
	// others is how many sockets of the app other programs have, as Slack counted them when a connection began.
	others atomic.Int64
}

// limits are the times that the platform goes by.
type limits struct {
	// beat is the time between two pings of the gateway's own, and stale how long no frame may come.
	beat, stale time.Duration
	// call bounds each call of the gateway's own, the handshake and the answer to a ping.
	call time.Duration
	// notice bounds the answer to a message that was not taken, since the messages behind it wait for it.
	notice time.Duration
	// again is the time between two tries to hand on a message.
	again time.Duration
	// settled is how long Slack may count a connection that has ended.
	settled time.Duration
}

var usual = limits{
	beat: 20 * time.Second, stale: time.Minute, call: 10 * time.Second, notice: 5 * time.Second, again: time.Second, settled: 2 * time.Minute,
}

// New returns the platform of one app. It does no I/O.
func New(o Options) *Platform {
	o.AppToken, o.BotToken = strings.TrimSpace(o.AppToken), strings.TrimSpace(o.BotToken)
	o.AppTokenSource = cmp.Or(o.AppTokenSource, "adapters.slack.app_token_env")
	o.BotTokenSource = cmp.Or(o.BotTokenSource, "adapters.slack.bot_token_env")
	o.BaseURL = strings.TrimRight(cmp.Or(o.BaseURL, DefaultBaseURL), "/")
	o.Command = cmp.Or(o.Command, DefaultCommand)
	o.Groups = slices.Clone(o.Groups)
	return &Platform{o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), limits: usual}
}

// Name implements adapter.Platform.
func (p *Platform) Name() string { return "slack" }

// Counters implements adapter.Counting.
func (p *Platform) Counters() []adapter.Counter {
	return []adapter.Counter{{
		Name:  "gatewaytui_slack_notices_dropped_total",
		Help:  "Users who are not on the allow list and got no notice, because too many wrote at once or a notice failed.",
		Value: p.unanswered.Load,
	}}
}

// StaleAfter is how long a connection may go without a frame; the Supervisor asks for it.
func (p *Platform) StaleAfter() time.Duration { return p.stale }

// Abilities implements adapter.Able. There is no menu: a slash command is made in the settings of the app. There is no idempotent
// send: an answer can be looked for, and a file cannot.
func (p *Platform) Abilities() []adapter.Ability {
	return []adapter.Ability{
		adapter.AbilityGroups, adapter.AbilityThreads, adapter.AbilityTyping, adapter.AbilityEdit, adapter.AbilityReactions, adapter.AbilityButtons,
		adapter.AbilityFilesIn, adapter.AbilityFilesOut, adapter.AbilityFormat,
	}
}

// Bounds implements adapter.Bounded. Slack takes one message a second in each channel and 50 changes a minute in the workspace
// (https://docs.slack.dev/apis/web-api/rate-limits). It shows for two minutes that the bot works, until the next message.
func (p *Platform) Bounds(string) adapter.Bounds {
	return adapter.Bounds{Message: maxUnits, Messages: 60, Edits: 30, Typing: 30 * time.Second, File: maxFile}
}

// CommandSign implements adapter.CommandSigner.
func (p *Platform) CommandSign() string { return commandSign }

// Lacks implements adapter.Partial: the messages that another program gets.
func (p *Platform) Lacks() []string {
	n := p.others.Load()
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("another program gets a part of the messages: it has %d of the app's sockets. "+
		"Stop it, or give this gateway an app of its own; then wait two minutes, and reconnect the adapter", n)}
}

// listens reports whether the channel or its workspace is listed.
func (p *Platform) listens(channel, team string) bool {
	return slices.ContainsFunc([]string{channel, team}, func(id string) bool { return id != "" && slices.Contains(p.o.Groups, id) })
}

// botCredentials and appCredentials say that a token will not do.
func (p *Platform) botCredentials(format string, args ...any) error {
	return &adapter.CredentialsError{Variable: p.o.BotTokenSource, Why: fmt.Sprintf(format, args...)}
}

func (p *Platform) appCredentials(format string, args ...any) error {
	return &adapter.CredentialsError{Variable: p.o.AppTokenSource, Why: fmt.Sprintf(format, args...)}
}
