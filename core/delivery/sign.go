package delivery

import (
	"errors"
	"regexp"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// Sign begins a chat command as the people in the chat of the session of key write it: a slash, unless their clients keep what begins
// with one for themselves.
func (o *Outbox) Sign(key string) string {
	if sign := o.o.Manner(key).Sign; sign != "" {
		return sign
	}
	return adapter.Slash
}

// commandName is what may be a chat command in a text of the gateway.
var commandName = regexp.MustCompile("(^|[\\s(\"`])/([a-z]+)")

// Own is a text of the gateway itself for the chat of the session of key: chat commands in it begin with the sign of that chat. What
// models and people have written does not go through it, nor what is shown to the letter.
func (o *Outbox) Own(key, text string) string {
	sign := o.Sign(key)
	if sign == adapter.Slash {
		return text
	}
	var b strings.Builder
	end := 0
	for _, at := range commandName.FindAllStringSubmatchIndex(text, -1) {
		rest := text[at[5]:]
		if path := strings.HasPrefix(rest, "/"); path || !o.o.Knows(text[at[4]:at[5]]) {
			continue
		}
		b.WriteString(text[end:at[3]] + sign)
		end = at[4]
	}
	return b.String() + text[end:]
}

// refusal is an error for the sender of a message in the session of key.
func (o *Outbox) refusal(key string, err error) error {
	e, is := errors.AsType[*ops.Error](err)
	if !is || o.Sign(key) == adapter.Slash {
		return err
	}
	own := *e
	own.Message, own.Hint = o.Own(key, e.Message), o.Own(key, e.Hint)
	return &own
}
