package slack

import (
	"fmt"
	"strings"

	"gatewaytui/core/adapter"
)

const (
	// maxID is the longest id of Slack's in characters, and maxStamp that of a time stamp. Slack sets no bound.
	maxID    = 32
	maxStamp = 32
)

// place is where messages are: a channel, and a thread in it, whose name is the time stamp of its first message; empty: none.
type place struct{ channel, thread string }

// String is the form of adapter.Inbound.Target: "C1", or "C1/1718.22" with a thread.
func (p place) String() string {
	if p.thread == "" {
		return p.channel
	}
	return p.channel + "/" + p.thread
}

// private reports whether a channel is that of the bot and one person. Slack's ids of those begin with a D.
func private(channel string) bool { return strings.HasPrefix(channel, "D") }

// parsePlace reads what String wrote.
func parsePlace(s string) (p place, err error) {
	channel, thread, threaded := strings.Cut(s, "/")
	if !isID(channel) || threaded && !isStamp(thread) {
		return place{}, &adapter.RefusedError{Why: fmt.Sprintf("%.80q is not an address of Slack", s)}
	}
	return place{channel, thread}, nil
}

// parseTarget reads an adapter.Inbound.Target: where a message to it goes, and the message that is answered, which is empty if the
// target names none. The answer to a message of a channel goes into the thread of that message.
func parseTarget(s string) (to place, answers string, err error) {
	chat, answers, answered := strings.Cut(s, "#")
	if to, err = parsePlace(chat); err != nil {
		return place{}, "", err
	}
	if answered && !isStamp(answers) {
		return place{}, "", &adapter.RefusedError{Why: fmt.Sprintf("%.80q does not name a message of Slack", s)}
	}
	if to.thread == "" && answered && !private(to.channel) {
		to.thread = answers
	}
	return to, answers, nil
}

// isID reports whether s is an id of a channel, a user or a workspace.
func isID(s string) bool {
	return s != "" && len(s) <= maxID && !strings.ContainsFunc(s, func(r rune) bool { return (r < '0' || r > '9') && (r < 'A' || r > 'Z') })
}

// isStamp reports whether s is the time stamp of a message, which is its name in its channel: seconds, a dot, and a number.
func isStamp(s string) bool {
	seconds, number, dotted := strings.Cut(s, ".")
	digits := func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	}
	return dotted && len(s) <= maxStamp && digits(seconds) && digits(number)
}
