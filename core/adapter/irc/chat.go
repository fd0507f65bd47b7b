package irc

import (
	"strings"

	"gatewaytui/core/adapter"
)

// chat is where messages go: a channel or a nick.
type chat struct{ name string }

// maxName bounds the name of a channel, a nick and an identity, in bytes.
const maxName = 200

// A target has no sign # in its chat: behind that stands who is answered.
var (
	escape   = strings.NewReplacer("%", "%25", "#", "%23")
	unescape = strings.NewReplacer("%23", "#", "%25", "%")
)

// String is the form of adapter.Inbound.Target: "alice", or "%23help" for the channel #help.
func (c chat) String() string { return escape.Replace(c.name) }

// isChannel reports whether name is that of a channel (RFC 2811, 2.1).
func isChannel(name string) bool { return name != "" && strings.ContainsRune("#&+!", rune(name[0])) }

// isName reports whether s can stand as one parameter that names one nick or one channel.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && !strings.ContainsAny(s[:1], ":$@*") && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == ',' })
}

// parseTarget reads a target: the chat, and the nick that is answered in it; empty: none. The error is for ever.
func parseTarget(target string) (to chat, answered string, err error) {
	name, answered, _ := strings.Cut(target, "#")
	to = chat{unescape.Replace(name)}
	if !isName(to.name) || answered != "" && !isName(answered) {
		return chat{}, "", &adapter.RefusedError{Why: "it is not the name of a channel or a nick of IRC"}
	}
	return to, answered, nil
}
