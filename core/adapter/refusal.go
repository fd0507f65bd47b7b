package adapter

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/ops"
)

// lasting are the refusals that hold for the next messages of a chat as well.
var lasting = map[ops.Code]bool{
	ops.CodeDraining: true, ops.CodeStopping: true, ops.CodeUnavailable: true, ops.CodeQueueFull: true, ops.CodeLimit: true,
}

// crowded are the lasting refusals that come and go with each message that leaves a queue.
var crowded = map[ops.Code]bool{ops.CodeQueueFull: true, ops.CodeLimit: true}

// RefusalPace is the least time between two notices of refusals of the same code to a chat, where they come and go.
const RefusalPace = 30 * time.Second

// Refusal is what a chat is to read when its message was refused with why. One that lasts is said once: it covers the
// messages that follow, until one is accepted, and for at least pace.
func Refusal(why *ops.Error) (text string, lasts bool, pace time.Duration) {
	text = sentence(why.Message) + sentence(why.Hint)
	switch {
	case crowded[why.Code]:
		return text + fmt.Sprintf("The same goes for what you send until then. I say so at most once in %.0f seconds.", RefusalPace.Seconds()), true, RefusalPace
	case lasting[why.Code]:
		return text + "The same goes for what you send until then.", true, 0
	}
	return text, false, 0
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
