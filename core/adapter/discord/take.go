package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

const (
	// maxAttempts is how often one message is given to a Receiver that fails.
	maxAttempts = 3
	// maxRefusing bounds the channels whose last refusal is remembered.
	maxRefusing = 1024
	// maxNotices bounds the notices to unknown users that wait. Users beyond it get no answer.
	maxNotices = 16
	// noticePace is the time between two notices to unknown users.
	noticePace = time.Second
)

// handle takes one message. It is handled if handle returns no error.
func (c *conn) handle(e event) error {
	if e.kind == nothing {
		return nil
	}
	var err error
	for attempt := 1; ; attempt++ {
		if err = c.offer(e); err == nil || c.tasks.Err() != nil {
			return err
		}
		if attempt == maxAttempts {
			break
		}
		if !c.sleep(c.p.again) {
			return c.tasks.Err()
		}
	}
	c.log.Error(ops.LogDiscordMessageLost, "session", e.message.Session, "attempts", maxAttempts, "error", c.api.why(err))
	if !e.message.Mentioned {
		return nil
	}
	return c.tell(e.channel, "Your message could not be taken, because of a fault of the gateway. Please send it again later.")
}

// offer hands a message on if its sender may speak and the bot listens there. An error is worth another try.
func (c *conn) offer(e event) error {
	var at channel
	if !e.private && len(c.p.o.Groups) == 0 && !e.message.Mentioned {
		return nil
	}
	if !e.private {
		var err error
		if at, err = c.p.channels.get(c.tasks, c.api, e.channel); err != nil {
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
	case !c.p.allows(e.user):
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
	err := c.hand(m)
	if err == nil {
		delete(c.refusing, e.channel)
		return nil
	}
	if refusal, is := errors.AsType[*ops.Error](err); is {
		return c.refuse(e, m.Session, refusal)
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

// hand gives a message to the Receiver. A panic there is that message's failure and not the end of the process (E7).
func (c *conn) hand(m adapter.Inbound) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error(ops.LogDiscordPanic, "session", m.Session, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	_, err = c.receiver.Receive(c.tasks, m)
	return err
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
	if err := c.api.call(c.tasks, c.p.notice, http.MethodPost, "/interactions/"+i.ID.String()+"/"+i.Token+"/callback", in, nil); err != nil {
		c.log.Debug(ops.LogDiscordNotice, "error", err.Error())
	}
}

// refuse tells the chat why its message was not taken.
func (c *conn) refuse(e event, session string, why *ops.Error) error {
	c.log.Info(ops.LogDiscordMessageRefused, "session", session, "code", string(why.Code))
	text, lasts := adapter.Refusal(why)
	if lasts && c.refusing[e.channel] == text {
		return nil
	}
	if err := c.tell(e.channel, text); err != nil {
		return fmt.Errorf("tell a chat that its message was refused: %w", err)
	}
	if lasts {
		if len(c.refusing) >= maxRefusing {
			clear(c.refusing)
		}
		c.refusing[e.channel] = text
	}
	return nil
}

// tell sends a notice that matters. A chat that refuses all messages cannot get it, which is not an error.
func (c *conn) tell(to id, text string) error {
	ctx, cancel := context.WithTimeout(c.tasks, c.p.notice)
	defer cancel()
	_, err := c.Send(ctx, adapter.Outgoing{Target: to.String(), Text: text})
	if _, is := errors.AsType[*adapter.RefusedError](err); is {
		return nil
	}
	return err
}

// notify sends a notice that is merely polite. Where one fails, the next minute goes without, until quiet: neither Discord nor
// the messages behind it are made to wait.
func (c *conn) notify(quiet *time.Time, to id, text string) (sent bool) {
	err := c.tell(to, text)
	if err == nil {
		return true
	}
	*quiet = time.Now().Add(adapter.Pause(err, time.Minute))
	c.log.Debug(ops.LogDiscordNotice, "error", err.Error())
	return false
}

// replyUnread says that nothing of a message can be read.
func (c *conn) replyUnread(e event) {
	if e.message.Mentioned && !time.Now().Before(c.quietUntil) {
		c.notify(&c.quietUntil, e.channel, "I cannot read this kind of message, so it was ignored.")
	}
}

// reject refuses a user who may not speak. Guilds get no answer. The notice to a chat with the bot alone is sent by usher, so that
// no message waits for it (HF16).
func (c *conn) reject(e event) {
	if !c.p.unknown.Add(e.user) {
		return
	}
	c.log.Warn(ops.LogDiscordStranger, "user", e.user, "private", e.private)
	if !e.private {
		return
	}
	select {
	case c.notices <- e:
	default:
		c.p.unanswered.Add(1)
	}
}

// usher sends the notices to unknown users, one each noticePace, until tasks ends. Where one fails, the unknown users of the next
// minute get no answer.
func (c *conn) usher() {
	defer close(c.ushered)
	var quiet time.Time // none is sent before then
	for {
		var e event
		select {
		case e = <-c.notices:
		case <-c.tasks.Done():
			return
		}
		text := fmt.Sprintf("You are not on this bot's allow list. Your user id is %s; its owner can add you.", e.user)
		if time.Now().Before(quiet) || !c.notify(&quiet, e.channel, text) {
			c.p.unanswered.Add(1)
			continue
		}
		if !c.sleep(noticePace) {
			return
		}
	}
}
