package session

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"gatewaytui/core/ops"
)

// maxKey is the longest key, in bytes.
const maxKey = 256

// Platform is the part of a key before the first colon: the adapter of the session, or "cli".
func Platform(key string) string {
	platform, _, _ := strings.Cut(key, ":")
	return platform
}

// CheckKey returns nil if key can name a session: platform:kind:chat or platform:chat, at most maxKey bytes of valid
// UTF-8 without control and format characters. The error is an *ops.Error with CodeInvalid.
func CheckKey(key string) error {
	bad := func(why string) error {
		return &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("session key %.80q %s", key, why), Hint: "a key reads platform:kind:chat, for instance cli:local"}
	}
	switch {
	case key == "":
		return bad("is empty")
	case len(key) > maxKey:
		return bad(fmt.Sprintf("is longer than %d bytes", maxKey))
	case !utf8.ValidString(key):
		return bad("is not valid UTF-8")
	case strings.ContainsFunc(key, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
	}):
		return bad("has control or format characters")
	}
	platform, rest, found := strings.Cut(key, ":")
	if !found || platform == "" || rest == "" {
		return bad("has no platform or no chat")
	}
	return nil
}

// PersonOf is what of a user's name stays the same: platforms end it with their id of the person, alone or in parentheses
// ("maria (4711)"), and the person may change the rest.
func PersonOf(user string) string {
	inner, closed := strings.CutSuffix(user, ")")
	if at := strings.LastIndexByte(inner, '('); closed && at >= 0 && at < len(inner)-1 {
		return inner[at+1:]
	}
	return user
}

// RequestPrefix begins the key of a session that lives for one API request alone, because the request named none; the api
// adapter makes these keys. Nothing of such a session stays after the answer: no row in memory or in the store, no agent
// and no process (TF28). The next life deletes what a crash leaves of one.
const RequestPrefix = "api:request:"

// JobPrefix begins the key of the session in which the runs of a job work. Each run begins a fresh conversation there.
const JobPrefix = "job:"

// JobKey is the key of the session of the job with this name.
func JobKey(name string) string { return JobPrefix + name }

// JobOf is the name of the job whose session has this key, or a /background session of it.
func JobOf(key string) (name string, is bool) { return strings.CutPrefix(Owner(key), JobPrefix) }

// webhookPrefix begins the keys of the webhook adapter.
const webhookPrefix = "webhook:"

// IsWebhook reports whether key is that of a session that works on one request of a webhook. No person waits for its answers,
// and it ends with its turn.
func IsWebhook(key string) bool { return strings.HasPrefix(key, webhookPrefix) }

// BackgroundInfix and an id after a session's key make the key of a /background session of that conversation.
const BackgroundInfix = ":bg:"

// IsRequest reports whether key is that of an API request's session, or of its /background session.
func IsRequest(key string) bool {
	id, found := strings.CutPrefix(key, RequestPrefix)
	if !found {
		return false
	}
	id, _, _ = strings.Cut(id, BackgroundInfix)
	_, err := ulid.ParseStrict(id)
	return err == nil
}

// IsBackground reports whether key is that of a /background session, which ends with its task.
func IsBackground(key string) bool { return Owner(key) != key }

// Owner is the key of the conversation that a session belongs to: for a /background session the one that began it, else
// key.
func Owner(key string) string {
	if at := strings.LastIndex(key, BackgroundInfix); at >= 0 {
		if _, err := ulid.ParseStrict(key[at+len(BackgroundInfix):]); err == nil {
			return key[:at]
		}
	}
	return key
}
