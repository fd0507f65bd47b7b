package external

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"gatewaytui/core/adapter"
)

const (
	// maxUser is the longest id of a user who is served, in bytes.
	maxUser = 128
	// maxKey is the longest key of a session, in bytes.
	maxKey = 256
)

// chat is where a message came from and its answer goes.
type chat string

// A target has no sign # in its chat: behind that stands the message that is answered.
var (
	escape   = strings.NewReplacer("%", "%25", "#", "%23")
	unescape = strings.NewReplacer("%23", "#", "%25", "%")
)

// String is the form of adapter.Inbound.Target.
func (c chat) String() string { return escape.Replace(string(c)) }

// parseTarget reads a target: the chat, and the message that is answered in it; empty: none.
func parseTarget(target string) (to chat, reply string, err error) {
	name, reply, _ := strings.Cut(target, "#")
	if to = chat(unescape.Replace(name)); to == "" || len(to) > maxID || len(reply) > maxID {
		return "", "", &adapter.RefusedError{Why: fmt.Sprintf("%.80q is not a chat", target)}
	}
	return to, reply, nil
}

// unseen reports whether a sign could hide or change what stands next to it.
func unseen(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// infixes are parts of keys of sessions that have a meaning. They do not stand in an id there.
var infixes = []string{":user:", ":thread:", ":topic:", ":bg:"}

func ambiguous(id string) bool {
	return slices.ContainsFunc(infixes, func(infix string) bool { return strings.Contains(":"+id+":", infix) })
}

// served is why a message is not one for the gateway, because of its ids; nil: it is.
func (m *message) served() error {
	for _, id := range []string{m.ID, m.Chat, m.Group, m.User.ID} {
		if strings.ContainsFunc(id, unseen) {
			return errors.New("an id has control characters")
		}
	}
	switch {
	case len(m.User.ID) > maxUser:
		return fmt.Errorf("the id of its user is longer than %d bytes", maxUser)
	case strings.ContainsFunc(m.User.ID, func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == ')' }):
		return errors.New("the id of its user has white space or a parenthesis")
	case ambiguous(m.User.ID): // its hash would do for a key, but not for a deletion of what is kept of a person, which goes by the id
		return errors.New("the id of its user has user, thread, topic or bg as a part between colons")
	}
	return nil
}

// private reports whether one person alone speaks to the bot in the chat of the message.
func (m *message) private() bool {
	return m.Kind == adapter.ChatDM || m.Kind == adapter.ChatThread && m.Group == ""
}

// session is the key of the session (CONTRACT.md, 4): one for each person who speaks to the bot alone, one for each thread, and one
// for each member of a group (CV10).
func (m *message) session(name string) string {
	make := func(chat string) string {
		switch user := m.User.ID; {
		case m.Kind == adapter.ChatDM:
			return name + ":dm:" + user
		case m.Kind == adapter.ChatThread && m.private():
			return name + ":dm:" + user + ":thread:" + chat
		case m.Kind == adapter.ChatThread:
			return name + ":thread:" + chat
		default:
			return name + ":group:" + chat + ":user:" + user
		}
	}
	if key := make(m.Chat); len(key) <= maxKey && !ambiguous(m.Chat) {
		return key
	}
	return make(short(m.Chat)) // with maxUser not longer than maxKey
}

// short takes the place of an id that cannot stand in a key.
func short(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:18])
}

// dedupe names the message, or a change of it, for ever.
func (m *message) dedupe(name string) string {
	parts := []string{m.Chat, m.ID}
	if m.Edited {
		parts = append(parts, m.Text)
	}
	return name + ":" + short(strings.Join(parts, "\x00"))
}
