package irc

import (
	"errors"
	"fmt"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// maxAttempts is how often one message is given to a Receiver that fails.
const maxAttempts = 3

// run handles the messages, one after the other, until tasks ends.
func (c *conn) run() {
	defer close(c.returned)
	for {
		select {
		case <-c.Tasks.Done():
			return
		case e := <-c.in:
			if c.Tasks.Err() != nil {
				return
			}
			if err := c.handle(e); err != nil && c.Tasks.Err() == nil {
				c.log.Warn(ops.LogIRCNotice, "error", c.words.Why(err))
			}
		}
	}
}

// handle takes one message. IRC says none twice: what cannot be handed on is lost, and its sender hears of it.
func (c *conn) handle(e event) error {
	var err error
	for attempt := 1; ; attempt++ {
		if e, err = c.offer(e); err == nil || c.Tasks.Err() != nil {
			return err
		}
		if attempt == maxAttempts {
			break
		}
		if !c.Sleep(c.p.again) {
			return c.Tasks.Err()
		}
	}
	c.log.Error(ops.LogIRCLost, "session", e.message.Session, "attempts", maxAttempts, "error", c.words.Why(err))
	if !e.message.Mentioned {
		return nil
	}
	return c.notices.Tell(e.at, "Your message could not be taken, because of a fault of the gateway. Please send it again later.")
}

// offer hands a message on if its sender may speak. An error is worth another try.
func (c *conn) offer(e event) (event, error) {
	name, admitted := e.names[0], false
	for _, one := range e.names {
		if c.receiver.Admits(e.sender(one)) {
			name, admitted = one, true
			break
		}
	}
	e = e.as(name)
	if !admitted {
		c.reject(e, name)
		return e, nil
	}
	if e.message.Text == "" {
		if e.message.Mentioned {
			c.notices.Mention(e.at, "There is no text in your message, so it was ignored.")
		}
		return e, nil
	}
	err := c.notices.Hand(c.receiver, e.message)
	if err == nil {
		c.notices.Accepted(e.at)
		return e, nil
	}
	if refusal, is := errors.AsType[*ops.Error](err); is {
		return e, c.notices.Refuse(e.at, e.message.Session, refusal)
	}
	return e, fmt.Errorf("hand a message on: %w", err)
}

// reject refuses a user who may not speak. Channels get no answer.
func (c *conn) reject(e event, name string) {
	if !e.message.Mentioned {
		return
	}
	if c.p.unknown.Add(name) {
		c.log.Warn(ops.LogIRCStranger, "user", name)
	}
	if e.message.Chat == adapter.ChatDM {
		c.notices.Unknown(e.at, e.sender(name))
	}
}

// sender is who sent the message.
func (e event) sender(name string) adapter.User {
	return adapter.User{Platform: platformName, ID: name, Name: e.message.Sender}
}
