package external

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

const (
	// maxAttempts is how often one message is given to a Receiver that fails.
	maxAttempts = 3
	// maxFailures bounds the messages whose failures are remembered.
	maxFailures = 1024
	// maxName bounds the name of a user, in runes, and maxQuoted the text of a message that is answered, in bytes.
	maxName   = 64
	maxQuoted = 8 << 10
)

// failures counts how often a Receiver failed on a message, by Inbound.Dedupe.
type failures struct {
	mu    sync.Mutex
	times map[string]int
}

// add counts a failure, and returns how many there are.
func (f *failures) add(dedupe string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.times == nil || len(f.times) >= maxFailures {
		f.times = map[string]int{}
	}
	f.times[dedupe]++
	return f.times[dedupe]
}

func (f *failures) forget(dedupe string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.times, dedupe)
}

// take handles the messages, one after the other, until Tasks ends. Those that wait then are to be given again.
func (c *conn) take() {
	defer close(c.returned)
	for {
		select {
		case <-c.Tasks.Done():
			for {
				select {
				case m := <-c.in:
					c.answer(m, typeLater)
				default:
					return
				}
			}
		case m := <-c.in:
			c.answer(m, c.handle(m))
		}
	}
}

// answer says what became of a message.
func (c *conn) answer(m *message, typ string) {
	_, _ = c.push(context.Background(), command{Type: typ, Seq: m.Seq}, nil) // the end of the connection ends the wait, and is an answer too
	c.window.leave()
}

// handle takes one message, and returns the answer to it.
func (c *conn) handle(m *message) (answer string) {
	if err := m.served(); err != nil {
		if c.p.unserved.Add(err.Error()) {
			c.log.Warn(ops.LogExternalUnserved, "error", err.Error())
		}
		return typeRefused
	}
	in, at := m.inbound(c.p.o.Name), chat(m.Chat)
	answer, err := c.offer(m, in)
	switch {
	case err == nil:
		c.p.failures.forget(in.Dedupe)
		return answer
	case c.Tasks.Err() != nil:
		return typeLater
	}
	attempts := c.p.failures.add(in.Dedupe)
	if attempts < maxAttempts {
		return typeLater
	}
	c.log.Error(ops.LogExternalLost, "session", in.Session, "attempts", attempts, "error", c.words.Why(err))
	c.p.failures.forget(in.Dedupe)
	if in.Mentioned {
		c.notices.Mention(at, "Your message could not be taken, because of a fault of the gateway. Please send it again later.")
	}
	return typeRefused
}

// offer hands a message on if its sender may speak and the bot listens there. An error is worth another try.
func (c *conn) offer(m *message, in adapter.Inbound) (answer string, err error) {
	at, user := chat(m.Chat), adapter.User{Platform: c.p.o.Name, ID: m.User.ID, Name: in.Sender}
	private, listed := m.private(), m.Group != "" && slices.Contains(c.p.o.Groups, m.Group)
	switch {
	case !c.receiver.Admits(user):
		c.reject(m, user, private, listed)
		return typeRefused, nil
	case !private && !listed:
		c.rejectGroup(m)
		return typeRefused, nil
	case strings.TrimSpace(in.Text) == "" && len(in.Files) == 0:
		if in.Mentioned {
			c.notices.Mention(at, "There is no text in your message, so it was ignored.")
		}
		return typeRefused, nil
	}
	err = c.notices.Hand(c.receiver, in)
	if err == nil {
		c.notices.Accepted(at)
		return typeTook, nil
	}
	if refusal, is := errors.AsType[*ops.Error](err); is {
		return typeRefused, c.notices.Refuse(at, in.Session, refusal)
	}
	return "", fmt.Errorf("hand a message on: %w", err)
}

// reject refuses a user who may not speak. Groups get no answer.
func (c *conn) reject(m *message, user adapter.User, private, listed bool) {
	if !private && (!listed || !m.Mentioned) {
		return
	}
	if c.p.unknown.Add(user.ID) {
		c.log.Warn(ops.LogExternalStranger, "user", user.ID, "private", private)
	}
	if private {
		c.notices.Unknown(chat(m.Chat), user)
	}
}

// rejectGroup says once, to the log and to a group where an allowed user writes to the bot, that the group is not listed.
func (c *conn) rejectGroup(m *message) {
	if !m.Mentioned && !strings.HasPrefix(m.Text, "/") || !c.p.unlisted.Add(m.Group) {
		return
	}
	group := term.Clean(m.Group, maxUser)
	c.log.Warn(ops.LogExternalUnlisted, "group", group, "user", m.User.ID)
	c.notices.Mention(chat(m.Chat), fmt.Sprintf("This group is not on my list. Its id is %s; my owner can add it to adapters.%s.groups.", group, c.p.o.Name))
}

// inbound is the message for the gateway.
func (m *message) inbound(name string) adapter.Inbound {
	in := adapter.Inbound{
		Adapter: name, Session: m.session(name), User: m.User.ID, Sender: term.Clean(m.User.Name, maxName), Chat: m.Kind, Mentioned: m.Mentioned || m.private(),
		Quoted: strings.ToValidUTF8(m.Quoted[:min(len(m.Quoted), maxQuoted)], ""), Edited: m.Edited, Forwarded: m.Forwarded, ID: m.ID, Target: chat(m.Chat).String(),
		Text: m.Text, Dedupe: m.dedupe(name),
	}
	if in.Sender == "" {
		in.Sender = m.User.ID
	} else {
		in.User = fmt.Sprintf("%s (%s)", in.Sender, m.User.ID)
	}
	if !m.private() { // people see which of their messages is answered
		in.Target += "#" + m.ID
	}
	for _, f := range m.Files {
		in.Files = append(in.Files, adapter.File{Name: f.Name, Type: f.MediaType, Size: f.Size, Spoken: f.Spoken, Ref: f.Ref})
	}
	return in
}
