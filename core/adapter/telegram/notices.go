package telegram

import (
	"fmt"
	"strconv"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

// replyUnread says that nothing of a message can be read.
func (c *conn) replyUnread(e event) {
	if e.private {
		c.notices.Mention(e.from, fmt.Sprintf("I cannot read this kind of message (%s), so it was ignored.", e.what))
	}
}

// reject refuses a user who may not speak. Groups get no answer: the bot may hear all that is said there.
func (c *conn) reject(e event) {
	if c.p.unknown.Add(e.user) {
		c.log.Warn(ops.LogTelegramStranger, "user", e.user, "private", e.private)
	}
	if e.private {
		c.notices.Unknown(e.from, e.sender())
	}
}

// sender is who sent the message.
func (e event) sender() adapter.User {
	return adapter.User{Platform: "telegram", ID: strconv.FormatInt(e.user, 10), Name: e.message.Sender}
}

// admits reports whether the messages of the event's sender are read.
func (c *conn) admits(e event) bool { return c.receiver.Admits(e.sender()) }

// rejectGroup says once, to the log and to a group where an allowed user writes to the bot, that the group is not listed.
func (c *conn) rejectGroup(e event) {
	if !e.message.Mentioned && !strings.HasPrefix(e.message.Text, "/") || !c.p.unlisted.Add(e.from.chat) {
		return
	}
	c.log.Warn(ops.LogTelegramGroup, "group", e.from.chat, "user", e.user)
	c.notices.Mention(e.from, fmt.Sprintf("This group is not on my list. Its id is %d; my owner can add it to adapters.telegram.groups.", e.from.chat))
}
