package adapter

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/ops"
)

// lasting are the refusals that hold for the next messages of a chat as well.
var lasting = map[ops.Code]bool{
	ops.CodeDraining: true, ops.CodeStopping: true, ops.CodeUnavailable: true, ops.CodeQueueFull: true, ops.CodeLimit: true,
}

// Refusal is what a chat is to read when its message was refused with why. One that lasts is said once: it covers the
// messages that follow, until one is accepted.
func Refusal(why *ops.Error) (text string, lasts bool) {
	text = sentence(why.Message) + sentence(why.Hint)
	if lasting[why.Code] {
		return text + "The same goes for what you send until then.", true
	}
	return text, false
}

// sentence is s as one, with a space after it; empty if s is.
func sentence(s string) string {
	if s = strings.TrimSpace(s); s == "" {
		return ""
	}
	first, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(first)) + s[n:]
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s + " "
}
