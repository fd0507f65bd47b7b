package discord

import (
	"errors"
	"fmt"
	"net/http"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

const (
	// maxAttempts is how often one message is given to a Receiver that fails.
	maxAttempts = 3
)

// handle takes one message. It is handled if handle returns no error.
func (c *conn) handle(e event) error {
	if e.kind == nothing {
		return nil
	}
	lost, err := c.Try(maxAttempts, c.p.again, func() error { return c.offer(e) })
	if !lost {
		return err
	}
	c.log.Error(ops.LogDiscordMessageLost, "session", e.message.Session, "attempts", maxAttempts, "error", c.api.Why(err))
	if !e.message.Mentioned {
		return nil
	}
	return c.notices.Tell(e.channel, "Your message could not be taken, because of a fault of the gateway. Please send it again later.")
}

// offer hands a message on if its sender may speak and the bot listens there. An error is worth another try.
func (c *conn) offer(e event) error {
	var at channel
	if !e.private && len(c.p.o.Groups) == 0 && !e.message.Mentioned {
		return nil
	}
	if !e.private {
		var err error
		if at, err = c.p.channels.get(c.Tasks, c.api, e.channel); err != nil {
			return err
		}
		parent := id(0)
		if at.Thread() {
			parent = at.Parent
		}
		if !c.p.listens(e.guild, e.channel, parent) {
			if e.message.Mentioned && c.p.unlisted.Add(e.channel) {
				c.log.Warn(ops.LogDiscordUnlisted, "guild", e.guild, "channel", e.channel)
			}
			return nil
		}
	}
	switch {
	case !c.receiver.Admits(e.sender()):
		if e.message.Mentioned {
			c.reject(e)
		}
		return nil
	case e.kind == unread:
		c.replyUnread(e)
		return nil
	}
	m := e.message
	m.Session, m.Chat = e.session(at), e.chat(at)
	err := c.notices.Hand(c.receiver, m)
	if err == nil {
		c.notices.Accepted(e.channel)
		return nil
	}
	if refusal, is := errors.AsType[*ops.Error](err); is {
		return c.notices.Refuse(e.channel, m.Session, refusal)
	}
	return fmt.Errorf("hand a message on: %w", err)
}

func (e event) chat(at channel) adapter.ChatKind {
	switch {
	case e.private:
		return adapter.ChatDM
	case at.Thread():
		return adapter.ChatThread
	}
	return adapter.ChatGroup
}

// acknowledge tells Discord that a press or a command was seen, and the person which command. Without it the person sees a failure,
// and the message counts all the same.
func (c *conn) acknowledge(i *interaction) {
	const (
		message = 4 // what Discord answers with
		seen    = 6 // nothing changes in the chat
		private = 1 << 6
	)
	in := map[string]any{"type": seen}
	if i.Type == used {
		in = map[string]any{"type": message, "data": map[string]any{"content": escape(term.Clean(i.said(), maxUnits/2)), "flags": private}}
	}
	if err := c.api.call(c.Tasks, c.p.notice, http.MethodPost, "/interactions/"+i.ID.String()+"/"+i.Token+"/callback", in, nil); err != nil {
		c.log.Debug(ops.LogDiscordNotice, "error", err.Error())
	}
}

// replyUnread says that nothing of a message can be read.
func (c *conn) replyUnread(e event) {
	if e.message.Mentioned {
		c.notices.Mention(e.channel, "I cannot read this kind of message, so it was ignored.")
	}
}

// reject refuses a user who may not speak. Guilds get no answer.
func (c *conn) reject(e event) {
	if c.p.unknown.Add(e.user) {
		c.log.Warn(ops.LogDiscordStranger, "user", e.user, "private", e.private)
	}
	if e.private {
		c.notices.Unknown(e.channel, e.sender())
	}
}

// sender is who sent the message.
func (e event) sender() adapter.User {
	return adapter.User{Platform: "discord", ID: e.user.String(), Name: e.message.Sender}
}
