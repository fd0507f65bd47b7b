package telegram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

const (
	// maxRefusing bounds the chats whose last refusal is remembered.
	maxRefusing = 1024
	// maxNotices bounds the notices to unknown users that wait. Users beyond it get no answer.
	maxNotices = 16
	// noticePace is the time between two notices to unknown users.
	noticePace = time.Second
)

// refuse tells the chat why its message was not taken. Its error is a notice that may not have arrived, so that the
// message is not handled.
func (c *conn) refuse(e event, why *ops.Error) error {
	c.log.Info(ops.LogTelegramMessageRefused, "session", e.message.Session, "code", string(why.Code))
	text, lasts := adapter.Refusal(why)
	if lasts && c.refusing[e.from] == text {
		return nil
	}
	if err := c.tell(e.from, text); err != nil {
		return fmt.Errorf("tell a chat that its message was refused: %w", err)
	}
	if lasts {
		if len(c.refusing) >= maxRefusing {
			clear(c.refusing)
		}
		c.refusing[e.from] = text
	}
	return nil
}

// tell sends a notice that matters. A chat that refuses all messages cannot get it, which is not an error.
func (c *conn) tell(to address, text string) error {
	ctx, cancel := context.WithTimeout(c.tasks, c.p.notice)
	defer cancel()
	_, err := c.Send(ctx, adapter.Outgoing{Target: to.String(), Text: text})
	if _, is := errors.AsType[*adapter.RefusedError](err); is {
		return nil
	}
	return err
}

// notify sends a notice that is merely polite. Where one fails, the next minute goes without, until quiet: neither Telegram nor
// the messages behind it are made to wait.
func (c *conn) notify(quiet *time.Time, to address, text string) (sent bool) {
	err := c.tell(to, text)
	if err == nil {
		return true
	}
	*quiet = time.Now().Add(adapter.Pause(err, time.Minute))
	c.log.Debug(ops.LogTelegramNotice, "error", err.Error())
	return false
}

// replyUnread says that nothing of a message can be read.
func (c *conn) replyUnread(e event) {
	if e.private && !time.Now().Before(c.quietUntil) {
		c.notify(&c.quietUntil, e.from, fmt.Sprintf("I cannot read this kind of message (%s), so it was ignored.", e.what))
	}
}

// reject refuses a user who may not speak. Groups get no answer: the bot may hear all that is said there. The notice to a
// private chat is sent by usher, so that the poll loop never waits for it (HF16).
func (c *conn) reject(e event) {
	if !c.p.unknown.Add(e.user) {
		return
	}
	c.log.Warn(ops.LogTelegramStranger, "user", e.user, "private", e.private)
	if !e.private {
		return
	}
	select {
	case c.notices <- e:
	default:
		c.p.unanswered.Add(1)
	}
}

// rejectGroup says once, to the log and to a group where an allowed user writes to the bot, that the group is not listed.
func (c *conn) rejectGroup(e event) {
	if !e.message.Mentioned && !strings.HasPrefix(e.message.Text, "/") || !c.p.unlisted.Add(e.from.chat) {
		return
	}
	c.log.Warn(ops.LogTelegramGroup, "group", e.from.chat, "user", e.user)
	if !time.Now().Before(c.quietUntil) {
		c.notify(&c.quietUntil, e.from, fmt.Sprintf("This group is not on my list. Its id is %d; my owner can add it to adapters.telegram.groups.", e.from.chat))
	}
}

// usher sends the notices to unknown users, one each noticePace, until tasks ends. Where one fails, the unknown users of the next
// minute get no answer; those that still wait are dropped by then, because a late answer is of no use.
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
		if time.Now().Before(quiet) {
			c.p.unanswered.Add(1)
			continue
		}
		text := fmt.Sprintf("You are not on this bot's allow list. Your user id is %d; its owner can add you.", e.user)
		if !c.notify(&quiet, e.from, text) {
			c.p.unanswered.Add(1)
		}
		if !c.sleep(noticePace) {
			return
		}
	}
}
