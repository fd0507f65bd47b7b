package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/feishu/longconn"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// maxAttempts is how often one message is given to a Receiver that fails.
const maxAttempts = 3

// run handles the events, one after the other, until tasks ends or one cannot be handled.
func (c *conn) run() {
	defer close(c.returned)
	for {
		select {
		case <-c.Tasks.Done():
			return
		case in := <-c.events:
			if c.Tasks.Err() != nil {
				return
			}
			if err := c.take(in); err != nil {
				if c.Tasks.Err() == nil {
					c.over(err)
				}
				return
			}
		}
	}
}

// take handles one event and acknowledges it. A press is acknowledged first: the person waits for that, and Feishu sends it once.
func (c *conn) take(in incoming) error {
	began := time.Now()
	var e envelope
	var found event
	err := decode(in.payload, &e)
	if err == nil {
		found, err = e.read(c.me)
	}
	if err != nil { // it will not be another one the next time
		c.log.Warn(ops.LogFeishuEventUnreadable, "type", term.Clean(e.Header.Type, maxName), "error", c.api.Why(err))
	}
	if e.Header.Type == eventPress {
		unheard := c.acknowledge(in.frame, began)
		if err := c.handle(found); err != nil {
			return err
		}
		return unheard
	}
	if _, known := c.p.handled.get(e.Header.ID); !known || e.Header.ID == "" {
		if err := c.handle(found); err != nil {
			return err
		}
		if e.Header.ID != "" {
			c.p.handled.put(e.Header.ID, struct{}{})
		}
	}
	return c.acknowledge(in.frame, began)
}

// acknowledge tells Feishu that an event was handled: the same frame, with how long that took.
func (c *conn) acknowledge(f longconn.Frame, began time.Time) error {
	f.Headers = append(f.Headers, longconn.Header{Key: longconn.HeaderTook, Value: strconv.FormatInt(time.Since(began).Milliseconds(), 10)})
	f.Payload = []byte(`{"code":200}`)
	return c.write(c.line, f.Marshal())
}

// handle takes one message. It is handled if handle returns no error.
func (c *conn) handle(e event) error {
	if e.kind == nothing {
		return nil
	}
	lost, err := c.Try(maxAttempts, c.p.again, func() error { return c.offer(e) })
	if lost {
		return c.lose(e, err)
	}
	return err
}

// lose gives a message up on which the Receiver failed, and asks its sender for another one.
func (c *conn) lose(e event, err error) error {
	c.log.Error(ops.LogFeishuMessageLost, "session", e.message.Session, "attempts", maxAttempts, "error", c.api.Why(err))
	if !e.message.Mentioned {
		return nil
	}
	return c.notices.Tell(e.at, "Your message could not be taken, because of a fault of the gateway. Please send it again later.")
}

// offer hands a message on if its sender may speak and the bot listens there. An error is worth another try.
func (c *conn) offer(e event) error {
	m := e.message
	if !e.at.private() && !c.p.listens(e.at.to) {
		if m.Mentioned && c.p.unlisted.Add(e.at.to) {
			c.log.Warn(ops.LogFeishuUnlisted, "group", e.at.to)
		}
		return nil
	}
	if !c.receiver.Admits(e.sender("")) {
		if m.Mentioned {
			c.reject(e)
		}
		return nil
	}
	if e.parent != "" {
		answered, err := c.parent(e.parent)
		if err != nil {
			return err
		}
		m.Mentioned = m.Mentioned || answered.mine
		if e.at.thread == "" || e.parent != e.at.root { // else it is merely in the thread
			m.Quoted = answered.text
		}
	}
	if e.kind == unread {
		if m.Mentioned {
			c.notices.Mention(e.at, "I cannot read this kind of message, so it was ignored.")
		}
		return nil
	}
	if name := c.name(e.user); name != "" {
		m.Sender, m.User = name, fmt.Sprintf("%s (%s)", name, e.user)
	}
	err := c.notices.Hand(c.receiver, m)
	if err == nil {
		c.notices.Accepted(e.at)
		return nil
	}
	if refusal, is := errors.AsType[*ops.Error](err); is {
		return c.notices.Refuse(e.at, m.Session, refusal)
	}
	return fmt.Errorf("hand a message on: %w", err)
}

// reject refuses a user who may not speak. Groups get no answer.
func (c *conn) reject(e event) {
	if c.p.unknown.Add(e.user) {
		c.log.Warn(ops.LogFeishuStranger, "user", e.user, "private", e.at.private())
	}
	if e.at.private() {
		c.notices.Unknown(e.at, e.sender(""))
	}
}

// sender is who sent the message.
func (e event) sender(name string) adapter.User {
	return adapter.User{Platform: "feishu", ID: e.user, Name: name}
}

// parent is a message that was answered.
type parent struct {
	text string
	mine bool
}

// parent looks a message up that was answered. A message that the bot may not read is one without a text.
func (c *conn) parent(message string) (found parent, err error) {
	if found, known := c.p.parents.get(message); known {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(c.Tasks, c.p.notice)
	defer cancel()
	var out struct {
		Items []struct {
			Type   string `json:"msg_type"`
			Sender struct {
				ID   string `json:"id"`
				Type string `json:"sender_type"`
			} `json:"sender"`
			Body struct {
				Content string `json:"content"`
			} `json:"body"`
			Mentions []struct {
				Key  string `json:"key"`
				Name string `json:"name"`
			} `json:"mentions"`
		} `json:"items"`
	}
	err = c.api.act(ctx, request{verb: http.MethodGet, path: messages + "/" + message}, &out)
	if _, is := errors.AsType[*adapter.RefusedError](err); err != nil && !is {
		return parent{}, fmt.Errorf("look up the message that is answered: %w", err)
	}
	if err == nil && len(out.Items) > 0 {
		m := out.Items[0]
		var mentions []mention
		for _, one := range m.Mentions {
			mentions = append(mentions, mention{Key: one.Key, Name: one.Name})
		}
		text, _ := contentOf(m.Type, m.Body.Content, message)
		found.text, _ = mentionedIn(text, mentions, c.me)
		found.mine = m.Sender.Type == "app" && m.Sender.ID == c.p.o.AppID
	}
	c.p.parents.put(message, found)
	return found, nil
}

// named is what a person is called. The zero time is for ever.
type named struct {
	text  string
	until time.Time
}

// name is what a person is called; empty: it cannot be had, for which no message fails. Events have no names.
func (c *conn) name(user string) string {
	if name, known := c.p.names.get(user); known && (name.until.IsZero() || time.Now().Before(name.until)) {
		return name.text
	}
	ctx, cancel := context.WithTimeout(c.Tasks, c.p.notice)
	defer cancel()
	var out struct {
		User struct {
			Name string `json:"name"`
		} `json:"user"`
	}
	err := c.api.act(ctx, request{verb: http.MethodGet, path: "/open-apis/contact/v3/users/" + user + "?user_id_type=open_id"}, &out)
	name := named{text: term.Clean(out.User.Name, maxName)}
	if err != nil {
		c.log.Debug(ops.LogFeishuUnnamed, "error", err.Error())
		name.until = time.Now().Add(c.p.unnamed)
	}
	c.p.names.put(user, name)
	return name.text
}
