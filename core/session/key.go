package session

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/ops"
)

// MaxKey is the longest key, in bytes.
const MaxKey = 256

// Platform is the part of a key before the first colon: the adapter that the session speaks through, or "cli".
func Platform(key string) string {
	platform, _, _ := strings.Cut(key, ":")
	return platform
}

// CheckKey says whether key can name a session: platform:kind:chat or platform:chat, at most MaxKey bytes of valid UTF-8
// without control and format characters. The error is an *ops.Error with CodeInvalid.
func CheckKey(key string) error {
	bad := func(why string) error {
		return &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("session key %.80q %s", key, why), Hint: "a key reads platform:kind:chat, for instance cli:local"}
	}
	switch {
	case key == "":
		return bad("is empty")
	case len(key) > MaxKey:
		return bad(fmt.Sprintf("is longer than %d bytes", MaxKey))
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
