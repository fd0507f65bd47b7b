package slack

import (
	"errors"
	"fmt"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// maxAttempts is how often one message is given to a Receiver that fails.
const maxAttempts = 3

// take handles one envelope and acknowledges it. Its error is why the connection is over; Slack delivers the envelope again then.
func (c *conn) take(from envelope) error {
	var e event
	var err error
	var seen any // what the sender of a slash command sees
	at := "after"
	switch from.Type {
	case "events_api":
		e, err = readEvent(from.Payload, c.me)
	case "interactive":
		e, err = readPress(from.Payload, c.me)
		at = "before"
	case "slash_commands":
		e, err = readCommand(from.Payload, c.me, c.p.o.Command)
		at = "before"
		if err == nil && e.kind == legible && c.receiver.Admits(e.sender()) {
			seen = map[string]string{"response_type": "ephemeral", "text": escaped.Replace(term.Clean(e.message.Text, maxUnits/2))}
		}
	}
	if err != nil {
		c.log.Warn(ops.LogSlackEventUnreadable, "type", term.Clean(from.Type, maxName), "error", c.api.Why(err))
		return c.acknowledge(from.ID, nil)
	}
	if at == "before" { // a person waits for it, and Slack does not deliver it again
		if err := c.acknowledge(from.ID, seen); err != nil {
			return err
		}
		return c.handle(e)
	}
	if err := c.handle(e); err != nil {
		return err
	}
	return c.acknowledge(from.ID, nil)
}

// handle takes one message. It is handled if handle returns no error.
func (c *conn) handle(e event) error {
	key := e.message.Dedupe
	if e.kind == nothing || c.p.handled.has(key) {
		return nil
	}
	var err error
	for attempt := 1; ; attempt++ {
		if err = c.offer(e); err == nil {
			c.p.handled.add(key)
			return nil
		}
		if c.Tasks.Err() != nil {
			return err
		}
		if attempt == maxAttempts {
			break
		}
		if !c.Sleep(c.p.again) {
			return c.Tasks.Err()
		}
	}
	c.log.Error(ops.LogSlackMessageLost, "session", e.message.Session, "attempts", maxAttempts, "error", c.api.Why(err))
	if !e.message.Mentioned {
		c.p.handled.add(key)
		return nil
	}
	if err := c.notices.Tell(e.at, "Your message could not be taken, because of a fault of the gateway. Please send it again later."); err != nil {
		return err
	}
	c.p.handled.add(key)
	return nil
}

// offer hands a message on if its sender may speak and the bot listens there. An error is worth another try.
func (c *conn) offer(e event) error {
	if !e.private && !c.p.listens(e.channel, e.team) {
		if e.message.Mentioned && c.p.unlisted.Add(e.channel) {
			c.log.Warn(ops.LogSlackUnlisted, "team", e.team, "channel", e.channel)
		}
		return nil
	}
	if history, is := c.receiver.(adapter.Historian); is && e.inThread && !e.others && history.Remembers(e.message.Session) {
		e.message.Mentioned = true // the bot takes part in the thread
	}
	switch {
	case !c.receiver.Admits(e.sender()):
		if e.message.Mentioned {
			c.reject(e)
		}
		return nil
	case e.kind == unread:
		if e.message.Mentioned {
			c.notices.Mention(e.at, "I cannot read this kind of message, so it was ignored.")
		}
		return nil
	}
	name := e.message.Sender
	if known := c.name(e.user); known != "" {
		name = known
	}
	e.called(name)
	if e.raw != "" {
		e.message.Text = c.commanded(readable(e.raw, func(user string) string { name, _ := c.p.names.look(user); return name }))
	}
	e.message.Quoted = readable(e.message.Quoted, nil)
	err := c.notices.Hand(c.receiver, e.message)
	if err == nil {
		c.notices.Accepted(e.at)
		return nil
	}
	if refusal, is := errors.AsType[*ops.Error](err); is {
		return c.notices.Refuse(e.at, e.message.Session, refusal)
	}
	return fmt.Errorf("hand a message on: %w", err)
}

// commanded is a text with the slash of a chat command, if it is one behind commandSign.
func (c *conn) commanded(text string) string {
	rest, signed := strings.CutPrefix(strings.TrimSpace(text), commandSign)
	commander, knows := c.receiver.(adapter.Commander)
	if command := adapter.Slash + rest; signed && knows && commander.Commands(command) {
		return command
	}
	return text
}

// reject refuses a user who may not speak. Channels get no answer.
func (c *conn) reject(e event) {
	if c.p.unknown.Add(e.user) {
		c.log.Warn(ops.LogSlackStranger, "user", e.user, "private", e.private)
	}
	if e.private {
		c.notices.Unknown(e.at, e.sender())
	}
}
