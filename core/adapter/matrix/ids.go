package matrix

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"gatewaytui/core/adapter"
)

// What ids may be (https://spec.matrix.org/latest/appendices/#identifier-grammar). The specification allows ids of old rooms and
// users more signs than these; such a room or user is not served.
const (
	domain = `:[A-Za-z0-9.-]+(?::\d{1,5})?|:\[[0-9A-Fa-f:.]+\](?::\d{1,5})?`
	// maxID is the most bytes of an id of a room, an event or a file.
	maxID = 255
	// maxUser is the most bytes of a user's id that can be on a list of people.
	maxUser = 128
	// maxKey is the longest key of a session in bytes.
	maxKey = 256
)

var (
	isRoom  = regexp.MustCompile(`^![A-Za-z0-9._~=+-]+(?:` + domain + `)?$`)
	isEvent = regexp.MustCompile(`^\$[A-Za-z0-9._~=+/-]+(?:` + domain + `)?$`)
	isUser  = regexp.MustCompile(`^@[A-Za-z0-9._=+-]+(?:` + domain + `)$`)
	// isMedia has no part that is only dots, which would lead elsewhere as a part of a path.
	isMedia = regexp.MustCompile(`^mxc://([A-Za-z0-9\[][A-Za-z0-9.:\[\]-]*)/([A-Za-z0-9_~=+-][A-Za-z0-9._~=+-]*)$`)
)

func knownRoom(id string) bool  { return len(id) <= maxID && isRoom.MatchString(id) }
func knownEvent(id string) bool { return len(id) <= maxID && isEvent.MatchString(id) }
func knownUser(id string) bool  { return len(id) <= maxUser && isUser.MatchString(id) }

// address is where a message came from and its answer goes: a room, and the first message of a thread, or empty.
type address struct{ room, thread string }

// String is the form of adapter.Inbound.Target: "!room:example.org", or "!room:example.org/$event" in a thread.
func (a address) String() string {
	if a.thread == "" {
		return a.room
	}
	return a.room + "/" + a.thread
}

// parseAddress reads an address, without the message that is answered. The error is a *adapter.RefusedError.
func parseAddress(target string) (a address, err error) {
	chat := adapter.ChatOf(target)
	room, thread, threaded := strings.Cut(chat, "/$")
	if threaded {
		thread = "$" + thread
	}
	if !knownRoom(room) || threaded && !knownEvent(thread) {
		return a, &adapter.RefusedError{Why: fmt.Sprintf("%.80q is not a room of Matrix", chat)}
	}
	return address{room, thread}, nil
}

// answered is the message that a target says is answered; empty: none.
func answered(target string) string {
	if _, message, _ := strings.Cut(target, "#"); knownEvent(message) {
		return message
	}
	return ""
}

// session is the key of the session (CONTRACT.md, 4): one for each person who speaks to the bot alone, one for each thread, and
// one for each member of a room (CV10).
func (a address) session(user string, private bool) string {
	make := func(room, thread string) string {
		key := "matrix:group:" + room
		if private {
			key = "matrix:dm:" + user
		}
		switch {
		case thread != "":
			return key + ":thread:" + thread
		case private:
			return key
		}
		return key + ":user:" + user
	}
	if key := make(a.room, a.thread); len(key) <= maxKey {
		return key
	}
	thread := a.thread
	if thread != "" {
		thread = short(thread)
	}
	return make(short(a.room), thread)
}

// short takes the place of an id that is too long for a key.
func short(id string) string {
	sum := sha256.Sum256([]byte(id))
	return id[:1] + base64.RawURLEncoding.EncodeToString(sum[:18])
}
