package irc

import (
	"regexp"
	"strings"
	"time"
	"unicode"

	"gatewaytui/core/adapter"
)

// event is a message of a person.
type event struct {
	at      chat
	nick    string
	message adapter.Inbound
	// names are the identities of the person, the best first.
	names []string
}

// inbound reads a PRIVMSG; false: it is not for the bot. mu is held.
func (c *conn) inbound(m message, now time.Time) (e event, is bool) {
	e.nick = m.nick()
	_, isBot := m.tags["bot"]
	if len(m.params) < 2 || isBot || !strings.Contains(m.source, "!") || !isName(e.nick) || len(m.source) > maxName || plain(m.source) != m.source || isChannel(e.nick) {
		return e, false
	}
	if at, err := time.Parse(time.RFC3339, m.tags["time"]); err == nil && now.Sub(at) > c.p.old {
		return e, false // a bouncer repeats it
	}
	text, is := spoken(m.param(1), e.nick)
	if !is {
		return e, false
	}
	in := adapter.Inbound{Adapter: platformName, Sender: e.nick, ID: m.tags["msgid"], Text: text}
	if in.ID != "" {
		in.Dedupe = platformName + ":" + in.ID
	}
	e.names = c.identities(m)
	switch to := m.param(0); {
	case isChannel(to):
		if r := c.rooms.find(to); r == nil || r.joined.IsZero() {
			return e, false
		}
		e.at, in.Chat = chat{fold(to)}, adapter.ChatGroup
		in.Target = e.at.String() + "#" + e.nick
		in.Text, in.Mentioned = mentioned(text, c.nick)
	case fold(to) == fold(c.nick):
		e.at, in.Chat, in.Mentioned = chat{e.nick}, adapter.ChatDM, true
		in.Target = e.at.String()
	default:
		return e, false
	}
	if in.Mentioned {
		in.Text = commanded(in.Text)
	}
	e.message = in
	return e, true
}

// identities are who sent a message: the account that the server confirms, and nick!user@host.
func (c *conn) identities(m message) (all []string) {
	if account := m.tags["account"]; c.caps["account-tag"] && account != "" && account != "*" && plain(account) == account && isName(account) && !strings.ContainsAny(account, "!#%") {
		all = append(all, fold(account))
	}
	return append(all, fold(m.source))
}

// as is the event as one of the person who has this identity.
func (e event) as(name string) event {
	m := &e.message
	m.User = m.Sender + " (" + name + ")"
	m.Session = "irc:dm:" + name
	if m.Chat == adapter.ChatGroup {
		m.Session = "irc:group:" + e.at.name + ":user:" + name
	}
	return e
}

// spoken is what a person says; false: it is a request of a client (CTCP), but for an action.
func spoken(text, nick string) (said string, is bool) {
	if request, ctcp := strings.CutPrefix(text, "\x01"); ctcp {
		action, acts := strings.CutPrefix(strings.TrimSuffix(request, "\x01"), "ACTION ")
		if !acts {
			return "", false
		}
		text = "* " + nick + " " + action
	}
	return strings.TrimSpace(plain(text)), true
}

// codes are the control codes of a format (https://modern.ircdocs.horse/formatting).
var codes = regexp.MustCompile(`\x03(?:\d{1,2}(?:,\d{1,2})?)?|\x04(?:[0-9A-Fa-f]{6}(?:,[0-9A-Fa-f]{6})?)?`)

// plain is text of others without control codes, on one line.
func plain(text string) string {
	text = codes.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
}

// isNickSign reports whether r may be in a nick.
func isNickSign(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_[]\\`^{}|", r)
}

// mentioned reports whether a text names the bot. A name at its beginning is taken off.
func mentioned(text, nick string) (rest string, is bool) {
	low, name := fold(text), fold(nick)
	for at := 0; ; {
		i := strings.Index(low[at:], name)
		if i < 0 || name == "" {
			return text, false
		}
		begin, end := at+i, at+i+len(name)
		before, after := []rune(low[:begin]), []rune(low[end:])
		if (len(before) == 0 || !isNickSign(before[len(before)-1])) && (len(after) == 0 || !isNickSign(after[0])) {
			if strings.Trim(text[:begin], "@ ") == "" {
				return strings.TrimLeft(text[end:], ":, "), true
			}
			return text, true
		}
		at = end
	}
}

// commandSign begins a chat command as people of IRC write it, and command is one.
const commandSign = "!"

var command = regexp.MustCompile(`^` + commandSign + `(\p{L})`)

// commanded is text with the slash of a chat command.
func commanded(text string) string { return command.ReplaceAllString(text, adapter.Slash+"$1") }
