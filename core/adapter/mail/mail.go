// Package mail is the platform of a mailbox: mails come over IMAP, answers go over SMTP submission, and each thread of mails is a
// session.
//
// It promises, in addition to what package adapter requires of every platform:
//
//   - Only mails of users whom the Receiver admits are read. A sender is the address in From, which anyone can write there: with
//     Options.AuthServer a mail counts only if the first Authentication-Results of that server (RFC 8601) confirms the domain of the
//     address. Without it unknown senders get no answer at all, because the address is then perhaps that of a victim.
//   - A mail is marked as read only after it was handled: accepted by the Receiver, not meant for the gateway, or refused with a
//     notice to its sender. One that was not handled comes again to the next connection or life, and Inbound.Dedupe tells
//     whether it had been accepted (E12, E15). Mails that arrived more than a week ago stay unread and are not answered.
//   - Nothing automatic is answered (RFC 3834): no mail of a program, of a list, in bulk, without a return path, or of the bot itself.
//     What the bot sends says that it is automatic.
//   - An answer goes to the address in From, or to the listed group that was written to, and never to a Reply-To.
//   - Neither the password nor a text goes over the network without TLS, except to this machine itself.
//   - Every command of both protocols ends with its context. A server that is silent in any place ends the connection or the send.
//   - The password is in no error and no log line (I3); what others write is clean before it is in one.
package mail

import (
	"cmp"
	"context"
	"crypto/tls"
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
	// IMAP and SMTP are the servers as host:port. Port 993 and port 465 speak TLS from the beginning, the others after STARTTLS;
	// a server of this machine (localhost, 127.0.0.1, ::1) is spoken to without TLS on other ports.
	IMAP, SMTP string
	// User is the name for the login at both. Address is the address of the bot; empty: User.
	User, Address string
	// Password is for both; PasswordSource is where it should come from, for error texts: the name of the variable or the file.
	Password, PasswordSource string
	// Folder is the folder with the mails, as the IMAP server writes it; empty: INBOX.
	Folder string
	// AuthServer is the authserv-id of the server whose Authentication-Results count; empty: addresses in From are believed.
	AuthServer string
	// Groups are addresses of several people. A thread that was sent to one is a session of all who write in it.
	Groups []string
	// Log takes one line for each unknown user and for what else the Supervisor does not learn; nil discards them.
	Log *slog.Logger
}

// Platform is one mailbox. It implements adapter.Platform.
type Platform struct {
	o   Options
	log *slog.Logger
	limits
	// dial makes network connections; nil is the usual way. tls is how they are encrypted, without the name of the server.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	tls  *tls.Config

	// What outlives a connection. Each is locked for a look-up only, so that a connection that hangs holds up no other.
	threads threads
	handled handled
	unknown adapter.UnknownUsers[string]
	// unanswered counts the unknown users who got no answer, because too many came at once or the notice failed.
	unanswered atomic.Uint64
}

// limits are the times that the platform goes by.
type limits struct {
	// stale is how long the server may say nothing.
	stale time.Duration
	// call bounds each command and the handshakes, read the reading of a mail.
	call, read time.Duration
	// idle is how long one wait for mails lasts: servers end one after 29 minutes (RFC 2177). poll is the time between two searches
	// where the server does not tell of mails.
	idle, poll time.Duration
	// pause is the least time between two searches.
	pause time.Duration
	// notice bounds the answer to a mail that was not taken, since the mails behind it wait for it.
	notice time.Duration
	// again is the time between two tries to hand on a mail.
	again time.Duration
	// old is the age from which a mail is left alone.
	old time.Duration
}

var usual = limits{
	stale: 5 * time.Minute, call: 20 * time.Second, read: 2 * time.Minute, idle: 2 * time.Minute, poll: 30 * time.Second, pause: 100 * time.Millisecond,
	notice: 20 * time.Second, again: time.Second, old: 7 * 24 * time.Hour,
}

// New returns the platform of one mailbox. It does no I/O.
func New(o Options) *Platform {
	o.PasswordSource = cmp.Or(o.PasswordSource, "adapters.mail.password_env")
	o.Folder = cmp.Or(o.Folder, "INBOX")
	o.Address = strings.ToLower(cmp.Or(o.Address, o.User))
	o.Groups = slices.Clone(o.Groups)
	for i, g := range o.Groups {
		o.Groups[i] = strings.ToLower(g)
	}
	return &Platform{o: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), limits: usual, tls: &tls.Config{MinVersion: tls.VersionTLS12}}
}

// Name implements adapter.Platform.
func (p *Platform) Name() string { return platformName }

const platformName = "mail"

// Counters implements adapter.Counting.
func (p *Platform) Counters() []adapter.Counter {
	return []adapter.Counter{{
		Name:  "gatewaytui_mail_notices_dropped_total",
		Help:  "Users who are not on the allow list and got no notice, because too many wrote at once or a notice failed.",
		Value: p.unanswered.Load,
	}}
}

// StaleAfter is how long a connection may go without a word of the server; the Supervisor asks for it.
func (p *Platform) StaleAfter() time.Duration { return p.stale }

// Abilities implements adapter.Able.
func (p *Platform) Abilities() []adapter.Ability {
	return []adapter.Ability{
		adapter.AbilityGroups, adapter.AbilityThreads, adapter.AbilityFilesIn, adapter.AbilityFilesOut, adapter.AbilityFormat,
	}
}

// Bounds implements adapter.Bounded: a mail takes any text. Providers bound how many mails an account sends.
func (p *Platform) Bounds(string) adapter.Bounds {
	return adapter.Bounds{Messages: maxMails, File: maxFile}
}

// maxMails is how many mails one chat gets in a minute.
const maxMails = 20

// credentials says that the password will not do.
func (p *Platform) credentials(format string, args ...any) error {
	return &adapter.CredentialsError{Variable: p.o.PasswordSource, Why: fmt.Sprintf(format, args...)}
}
