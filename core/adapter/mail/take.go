package mail

import (
	"errors"
	"fmt"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// maxAttempts is how often one mail is given to a Receiver that fails.
const maxAttempts = 3

// handle takes one mail. It is handled if handle returns no error.
func (c *conn) handle(e event) error {
	var err error
	for attempt := 1; ; attempt++ {
		if err = c.offer(e); err == nil || c.Tasks.Err() != nil {
			return err
		}
		if attempt == maxAttempts {
			break
		}
		if !c.Sleep(c.p.again) {
			return c.Tasks.Err()
		}
	}
	c.log.Error(ops.LogMailLost, "session", e.message.Session, "attempts", maxAttempts, "error", c.p.failed("take a mail", "the gateway", err).Error())
	if !e.message.Mentioned {
		return nil
	}
	return c.notices.Tell(e.chat, "Your mail could not be taken, because of a fault of the gateway. Please send it again later.")
}

// offer hands a mail on if its sender may speak. An error is worth another try.
func (c *conn) offer(e event) error {
	switch {
	case e.ignored != "":
		c.log.Info(ops.LogMailIgnored, "mail", e.name, "why", e.ignored)
		return nil
	case c.p.o.AuthServer != "" && !e.confirmed:
		if c.p.unknown.Add("forged " + e.from) {
			c.log.Warn(ops.LogMailForged, "user", e.from, "server", c.p.o.AuthServer)
		}
		return nil
	case !c.receiver.Admits(e.sender()):
		c.reject(e)
		return nil
	}
	c.p.threads.set(e.chat, e.about)
	if e.empty {
		if e.message.Mentioned {
			c.notices.Mention(e.chat, "There is no text in your mail, so it was ignored.")
		}
		return nil
	}
	err := c.notices.Hand(c.receiver, e.message)
	if err == nil {
		c.notices.Accepted(e.chat)
		return nil
	}
	if refusal, is := errors.AsType[*ops.Error](err); is {
		return c.notices.Refuse(e.chat, e.message.Session, refusal)
	}
	return fmt.Errorf("hand a mail on: %w", err)
}

// reject refuses a user who may not speak. Only an address that was confirmed gets an answer, and no group does: the others may be
// those of victims.
func (c *conn) reject(e event) {
	if c.p.unknown.Add(e.from) {
		c.log.Warn(ops.LogMailStranger, "user", e.from)
	}
	if e.confirmed && e.message.Chat == adapter.ChatDM {
		c.p.threads.set(e.chat, e.about)
		c.notices.Unknown(e.chat, e.sender())
	}
}

// sender is who sent the mail.
func (e event) sender() adapter.User {
	return adapter.User{Platform: platformName, ID: e.from, Name: e.message.Sender}
}
