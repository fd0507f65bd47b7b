package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

const (
	// maxAttempts is how often one message is given to a Receiver that fails, each time by another connection.
	maxAttempts = 3
	// maxLooks is how often the homeserver is asked about one message, if it fails on that alone.
	maxLooks = 10
)

// take handles one event of a room. It is handled if take returns no error; concerns says that it was a message of someone.
func (c *conn) take(room string, raw rawEvent) (concerns bool, err error) {
	if raw.Type == typeMember {
		c.p.rooms.forget(room)
		return false, nil
	}
	e, err := raw.read(room, c.me)
	if err != nil {
		c.unreadable(raw.Sender, err)
		return false, nil
	}
	if e.kind == nothing {
		return false, nil
	}
	if err = c.offer(&e); err == nil || c.Tasks.Err() != nil {
		return true, err
	}
	most := maxLooks
	if _, is := errors.AsType[*handError](err); is {
		most = maxAttempts
	}
	failures := c.p.cursor.failed(raw.ID)
	if failures < most {
		return true, err
	}
	c.log.Error(ops.LogMatrixMessageLost, "session", e.message.Session, "attempts", failures, "error", c.api.Why(err))
	if !e.message.Mentioned {
		return true, nil
	}
	return true, c.notices.Tell(e.at, "Your message could not be taken, because of a fault of the gateway. Please send it again later.")
}

// offer hands a message on if its sender may speak and the bot listens there. An error is worth another try.
func (c *conn) offer(e *event) error {
	listed := c.p.listens(e.at.room)
	at, err := c.p.rooms.get(c.Tasks, c.api, e.at.room)
	if err != nil {
		return err
	}
	private := !listed && at.private()
	e.message.Sender = term.Clean(at.names[e.sender], maxName)
	if e.message.Sender == "" {
		e.message.Sender = e.sender
	}
	e.message.User = person(e.sender, at.names[e.sender])
	e.message.Mentioned = e.message.Mentioned || private
	user := adapter.User{Platform: "matrix", ID: e.sender, Name: e.message.Sender}
	switch {
	case !c.receiver.Admits(user):
		c.reject(e, user, private, listed)
		return nil
	case !private && !listed:
		c.rejectRoom(e)
		return nil
	case e.kind == secret:
		return c.replySecret(e)
	case e.kind == unread:
		if e.message.Mentioned {
			c.notices.Mention(e.at, "I cannot read this kind of message, so it was ignored.")
		}
		return nil
	}
	if known, err := c.complete(e); err != nil || !known {
		return err
	}
	m := e.message
	m.Session, m.Target, m.Chat = e.at.session(e.sender, private), e.at.String(), e.chat(private)
	if !private && e.kind != pressed { // people see which of their messages is answered
		m.Target += "#" + m.ID
	}
	e.message.Session = m.Session
	if e.kind == pressed {
		m.ID = ""
	}
	return c.hand(e.at, m)
}

func (c *conn) hand(at address, m adapter.Inbound) error {
	err := c.notices.Hand(c.receiver, m)
	if err == nil {
		c.notices.Accepted(at)
		return nil
	}
	if refusal, is := errors.AsType[*ops.Error](err); is {
		return c.notices.Refuse(at, m.Session, refusal)
	}
	return &handError{err}
}

// handError says that the Receiver failed on a message.
type handError struct{ err error }

func (e *handError) Error() string { return "hand a message on: " + e.err.Error() }
func (e *handError) Unwrap() error { return e.err }

func (e *event) chat(private bool) adapter.ChatKind {
	switch {
	case e.at.thread != "":
		return adapter.ChatThread
	case private:
		return adapter.ChatDM
	}
	return adapter.ChatGroup
}

// complete asks the homeserver for what the message is about, and reports whether it is one for the gateway.
func (c *conn) complete(e *event) (known bool, err error) {
	which := e.about + e.answers // at most one of them
	if which == "" {
		return true, nil
	}
	about, was, err := c.api.event(c.Tasks, e.at.room, which)
	if _, is := errors.AsType[*refused](err); is {
		return e.kind == readable, nil // the message before it may not be read, or is gone
	}
	if err != nil {
		return false, err
	}
	switch e.kind {
	case changed: // the homeserver lets everyone relate to a message
		e.at.thread = was.thread()
		return about.Sender == e.sender && !about.redacted(), nil
	case pressed:
		if about.Sender != c.me.id || about.redacted() {
			return false, nil
		}
		e.at.thread, e.message.Mentioned = was.thread(), true
		e.message.Text, err = c.api.pressed(c.Tasks, e, was)
		return e.message.Text != "", err
	}
	quoted := withoutQuote(was.Body)
	e.message.Quoted = strings.ToValidUTF8(quoted[:min(len(quoted), maxQuoted)], "")
	e.message.Mentioned = e.message.Mentioned || about.Sender == c.me.id
	return true, nil
}

// event is an event of a room, and its content as a message.
func (a *api) event(ctx context.Context, room, which string) (e rawEvent, c content, err error) {
	err = a.act(ctx, request{verb: http.MethodGet, path: path(v3, "rooms", room, "event", which), limit: a.p.call}, &e)
	if err == nil && json.Unmarshal(e.Content, &c) != nil {
		c = content{}
	}
	return e, c, err
}

// replySecret says once in an encrypted room, and once in the log, that the bot cannot read there.
func (c *conn) replySecret(e *event) error {
	if !c.p.encrypted.Add(e.at.room) {
		return nil
	}
	c.log.Warn(ops.LogMatrixEncrypted, "room", e.at.room, "user", e.sender)
	c.notices.Mention(e.at, "I cannot read encrypted rooms. Please write to me in a room without encryption.")
	return nil
}

// reject refuses a user who may not speak. Rooms with others get no answer.
func (c *conn) reject(e *event, user adapter.User, private, listed bool) {
	if !private && (!listed || !e.message.Mentioned) {
		return
	}
	if c.p.unknown.Add(e.sender) {
		c.log.Warn(ops.LogMatrixStranger, "user", e.sender, "private", private)
	}
	if private {
		c.notices.Unknown(e.at, user)
	}
}

// rejectRoom says once, to the log and to a room where an allowed user writes to the bot, that the room is not listed.
func (c *conn) rejectRoom(e *event) {
	if !e.message.Mentioned && !strings.HasPrefix(e.message.Text, "/") || !c.p.unlisted.Add(e.at.room) {
		return
	}
	c.log.Warn(ops.LogMatrixUnlisted, "room", e.at.room, "user", e.sender)
	c.notices.Mention(e.at, fmt.Sprintf("This room is not on my list. Its id is %s; my owner can add it to adapters.matrix.groups.", e.at.room))
}
