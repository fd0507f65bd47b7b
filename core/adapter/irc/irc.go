// Package irc is the platform of an IRC network: a client in channels and in messages to it alone.
//
// It promises, in addition to what package adapter requires of every platform:
//
//   - A person is the services account that the server confirms with each message (https://ircv3.net/specs/extensions/account-tag),
//     else nick!user@host. A nick alone identifies no person: anyone can take it.
//   - A message counts as sent when the server has given it back (https://ircv3.net/specs/extensions/echo-message), or has answered a PING
//     that was behind it: a write to a server that hangs succeeds as well.
//   - No text ends a line and begins a command. A line has at most maxText bytes, with room for the prefix that the server adds, and
//     lines go out at the pace of RFC 1459, 8.10.
//   - A server that is silent is asked with a PING, and the connection ends when it has said nothing for limits.stale.
//   - What the bot itself, a bot, a server and a NOTICE say is never answered, nor is a request of a client (CTCP).
//   - The password goes over the network with TLS alone, except to this machine. It is in no error and no log line (I3).
//
// IRC keeps no messages: what is said while the bot is away does not arrive.
package irc

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"gatewaytui/core/adapter"
)

// Options is what New needs.
type Options struct {
	// Server is the server as host:port. It is spoken to with TLS unless Plain.
	Server string
	Plain  bool
	// Nick is the name of the bot, and of its services account.
	Nick string
	// Channels are the channels that the bot joins. It says nothing in others.
	Channels []string
	// Password is for the services account (SASL), or for the server where that has no SASL; empty: none. PasswordSource is where it
	// should come from, for error texts: the name of the variable or the file.
	Password, PasswordSource string
	// Log takes one line for each unknown user and for what else the Supervisor does not learn; nil discards them.
	Log *slog.Logger
}

// Platform is one client of an IRC network. It implements adapter.Platform.
type Platform struct {
	o   Options
	log *slog.Logger
	limits
	// dial makes network connections; nil is the usual way. tls is how they are encrypted, without the name of the server.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	tls  *tls.Config

	// What outlives a connection.
	unknown adapter.UnknownUsers[string]
	// unanswered counts the unknown users who got no answer, because too many came at once or the notice failed.
	unanswered atomic.Uint64
	// last is the connection that began last.
	last atomic.Pointer[conn]
}

// limits are the times that the platform goes by.
type limits struct {
	// stale is how long the server may say nothing, and quiet the time after which it is asked.
	stale, quiet time.Duration
	// call bounds one write, and the wait for what confirms a message.
	call time.Duration
	// legacy is how long a server may say nothing to the question what it can do.
	legacy time.Duration
	// look is the time between two looks at the silence and the channels. rejoin is the first wait for a channel; it doubles up to most.
	look, rejoin, most time.Duration
	// notice bounds the answer to a message that was not taken, since those behind it wait for it.
	notice time.Duration
	// again is the time between two tries to hand on a message.
	again time.Duration
	// penalty is what a line costs, and lead how far ahead of the time a client may be.
	penalty, lead time.Duration
	// old is the age from which a message that a bouncer repeats is left alone.
	old time.Duration
}

var usual = limits{
	stale: 150 * time.Second, quiet: time.Minute, call: 20 * time.Second, legacy: 5 * time.Second, look: 5 * time.Second,
	rejoin: 10 * time.Second, most: 10 * time.Minute, notice: 20 * time.Second, again: time.Second, old: time.Hour,
	penalty: 2 * time.Second, lead: 10 * time.Second,
}

// New returns the platform of one client. It does no I/O.
func New(o Options) *Platform {
	o.PasswordSource = cmp.Or(o.PasswordSource, "adapters.irc.password_env")
	o.Channels = slices.Clone(o.Channels)
	return &Platform{o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), limits: usual, tls: &tls.Config{MinVersion: tls.VersionTLS12}}
}

// Name implements adapter.Platform.
func (p *Platform) Name() string { return platformName }

const platformName = "irc"

// Counters implements adapter.Counting.
func (p *Platform) Counters() []adapter.Counter {
	return []adapter.Counter{{
		Name:  "gatewaytui_irc_notices_dropped_total",
		Help:  "Users who are not on the allow list and got no notice, because too many wrote at once or a notice failed.",
		Value: p.unanswered.Load,
	}}
}

// StaleAfter is how long a connection may go without a word of the server; the Supervisor asks for it.
func (p *Platform) StaleAfter() time.Duration { return p.stale }

// Abilities implements adapter.Able.
func (p *Platform) Abilities() []adapter.Ability {
	return []adapter.Ability{adapter.AbilityGroups, adapter.AbilityFormat}
}

// Bounds implements adapter.Bounded.
func (p *Platform) Bounds(string) adapter.Bounds {
	return adapter.Bounds{Message: maxText, Messages: int(time.Minute / p.penalty)}
}

// CommandSign implements adapter.CommandSigner: clients keep lines that begin with a slash for themselves.
func (p *Platform) CommandSign() string { return commandSign }

// Lacks implements adapter.Partial: the channels that the bot is not in, with the reason.
func (p *Platform) Lacks() []string {
	c := p.last.Load()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rooms.lacking()
}
