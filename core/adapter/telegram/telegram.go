// Package telegram is the platform of a Telegram bot, by long polling (https://core.telegram.org/bots/api).
//
// It promises, in addition to what package adapter requires of every platform:
//
//   - Only messages of users whom the Receiver admits are read. Another user costs one log line in the life of the Platform, and
//     hears in a private chat what the Receiver greets unknown users with (I8). These answers delay no message: they are sent outside
//     of the poll loop, one a second. At most 16 wait, and further unknown users get none (HF16).
//   - Only messages of listed groups are read (CV10). Another group is logged once, and told once how it is listed, if an
//     allowed user writes to the bot there.
//   - Messages reach the Receiver in the order in which Telegram has them, each once in the life of the Platform. An
//     update is confirmed to Telegram, which then forgets it, only after it was handled: accepted by the Receiver, not
//     meant for the gateway, or refused with a notice to its sender. An update that was not handled comes again to the
//     next connection or life, and Inbound.Dedupe tells whether it had been accepted (E12, E15).
//   - A refusal gives a notice to the chat, which handles the message: it would otherwise block the messages of all other
//     chats. If the refusal will last, one notice covers all messages until one is accepted again, of a full queue at most one in adapter.RefusalPace (E13). If the notice
//     does not get through, the connection ends and the update comes again. An update on which the Receiver fails
//     without a reason for the user is tried three times. Then its sender is asked to send it again, so that a loop ends
//     and no message is lost in silence.
//   - An album comes as one message, although Telegram sends each part as an update of its own: its parts wait up to a second
//     for the rest, and are confirmed only once the message was accepted.
//   - The press of a button is a message of the person who pressed it.
//   - Liveness is a completed getUpdates and nothing else (E1). One failed poll or two are tried again in place; then the
//     connection ends, and the Supervisor waits and makes a new one.
//   - Markdown is sent as text with entities, so that nothing that a model writes can break its formatting; a part whose
//     entities are refused goes out as plain text (CV8). No link is fetched for a preview, which would send data out
//     without a click.
//   - The bot's token, which is part of every URL, is in no error and no log line (I3).
package telegram

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

// DefaultBaseURL is Telegram's own server.
const DefaultBaseURL = "https://api.telegram.org"

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
	cursor  cursor
	unknown adapter.UnknownUsers[int64]
	// unanswered counts the unknown users who got no answer, because too many came at once or the notice failed.
	unanswered atomic.Uint64
	// unlisted are the groups that are not on the list and were logged.
	unlisted adapter.UnknownUsers[int64]
	// presses are the texts of buttons that do not fit into them.
	presses presses
}

// limits are the times that the platform goes by.
type limits struct {
	// poll is how long Telegram may hold a getUpdates open without an update, in whole seconds.
	poll time.Duration
	// grace is how much later than that the answer may come before the connection counts as stale; as much again ends the
	// call, for a caller that does not look.
	grace time.Duration
	// call bounds each other call of the gateway.
	call time.Duration
	// notice bounds the answer to a message that was not taken, since the poll loop waits for it.
	notice time.Duration
	// confirm bounds the last getUpdates of a connection.
	confirm time.Duration
	// pace is the least time between the starts of two polls of which the first failed, or brought nothing new because the
	// server does not hold it open.
	pace time.Duration
}

var usual = limits{
	poll: 25 * time.Second, grace: 10 * time.Second, call: 10 * time.Second, notice: 5 * time.Second,
	confirm: 2 * time.Second, pace: time.Second,
}

// New returns the platform of one bot. It does no I/O.
func New(o Options) *Platform {
	o.Token = strings.TrimSpace(o.Token)
	o.TokenSource = cmp.Or(o.TokenSource, "adapters.telegram.token_env")
	o.BaseURL = strings.TrimRight(cmp.Or(o.BaseURL, DefaultBaseURL), "/")
	o.Groups = slices.Clone(o.Groups)
	return &Platform{
		o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), limits: usual,
		cursor: cursor{seen: map[int64]struct{}{}},
	}
}

// Name implements adapter.Platform.
func (p *Platform) Name() string { return "telegram" }

// Abilities implements adapter.Able.
func (p *Platform) Abilities() []adapter.Ability {
	return []adapter.Ability{
		adapter.AbilityGroups, adapter.AbilityThreads, adapter.AbilityTyping, adapter.AbilityEdit, adapter.AbilityDrafts,
		adapter.AbilityReactions, adapter.AbilityButtons,
		adapter.AbilityFilesIn, adapter.AbilityFilesOut, adapter.AbilityMenu, adapter.AbilityFormat,
	}
}

// Bounds implements adapter.Bounded. Telegram allows a message a second in a private chat and 20 a minute in a group
// (https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this), and shows an action for five seconds. It
// has drafts in private chats alone.
func (p *Platform) Bounds(target string) adapter.Bounds {
	b := adapter.Bounds{Message: maxUnits, Messages: 60, Edits: 60, Typing: 5 * time.Second, Drafts: draftLasts}
	if to, err := parseAddress(target); err == nil && to.chat < 0 {
		b.Messages, b.Edits, b.Drafts = 20, 20, 0
	}
	return b
}

// Counters implements adapter.Counting.
func (p *Platform) Counters() []adapter.Counter {
	return []adapter.Counter{{
		Name:  "gatewaytui_telegram_notices_dropped_total",
		Help:  "Users who are not on the allow list and got no notice, because too many wrote at once or a notice failed.",
		Value: p.unanswered.Load,
	}}
}

// StaleAfter is how long a connection may go without a completed poll; the Supervisor asks for it.
func (p *Platform) StaleAfter() time.Duration { return p.poll + p.grace }

// credentials says that the token will not do.
func (p *Platform) credentials(format string, args ...any) error {
	return &adapter.CredentialsError{Variable: p.o.TokenSource, Why: fmt.Sprintf(format, args...)}
}
