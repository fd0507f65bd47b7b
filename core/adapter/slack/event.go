package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// maxName bounds a user's name in runes. Slack's own limit is 80; this text comes from outside.
const maxName = 64

// message is the part of a message event that is read (https://docs.slack.dev/reference/events/message).
type message struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Channel string `json:"channel"`
	Team    string `json:"team"`
	User    string `json:"user"`
	Bot     string `json:"bot_id"`
	Text    string `json:"text"`
	// Stamp is the time stamp of the message, and its name in its channel; Thread that of the first message of its thread.
	Stamp  string `json:"ts"`
	Thread string `json:"thread_ts"`
	// Parent is who wrote the first message of the thread.
	Parent string `json:"parent_user_id"`
	Files  []file `json:"files"`
	// Shared are messages that the sender passes on, and previews of links.
	Shared []struct {
		Text    string `json:"text"`
		IsShare bool   `json:"is_share"`
		Message bool   `json:"is_msg_unfurl"`
	} `json:"attachments"`
	Edited struct {
		Stamp string `json:"ts"`
	} `json:"edited"`
	// Now and Before are set in a change of a message.
	Now    *message `json:"message"`
	Before *message `json:"previous_message"`
}

// kind is what an event is to us.
type kind int

const (
	nothing kind = iota // not for the bot, or not of a person
	legible             // a message with a text or a file
	unread              // a message of which nothing can be read
)

// event is a message as it concerns us.
type event struct {
	kind    kind
	user    string
	channel string
	team    string
	// at is where an answer goes.
	at      place
	message adapter.Inbound
	private bool
	// inThread means that the message is in a thread that others began, where the bot may take part; others that it is for another user.
	inThread, others bool
	// raw is the text as Slack wrote it.
	raw string
}

// subtypes are the kinds of messages that a person writes; the others say that a user joined, a topic was set and so on.
var subtypes = []string{"", "file_share", "thread_broadcast", "me_message"}

// readEvent tells what an event of the workspace is to the bot.
func readEvent(payload json.RawMessage, me self) (event, error) {
	var outer struct {
		Team  string          `json:"team_id"`
		Event json.RawMessage `json:"event"`
	}
	if err := json.Unmarshal(payload, &outer); err != nil {
		return event{}, err
	}
	var kind struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(outer.Event, &kind) != nil || kind.Type != "message" && kind.Type != "app_mention" {
		return event{}, nil
	}
	var m message
	if err := json.Unmarshal(outer.Event, &m); err != nil {
		return event{}, err
	}
	team := cmp.Or(outer.Team, me.Team)
	if m.Subtype == "message_changed" {
		return m.change(me, team), nil
	}
	return m.read(me, team), nil
}

// read tells what the message is to the bot.
func (m *message) read(me self, team string) event {
	if !m.ofPerson(me) {
		return event{}
	}
	said, named, others := unmention(m.Text, me.User)
	alone := private(m.Channel)
	e := event{kind: legible, user: m.User, channel: m.Channel, team: team, private: alone, others: others, raw: said}
	thread := m.Thread
	if thread == m.Stamp {
		thread = "" // it began the thread
	}
	e.inThread = thread != ""
	e.at = place{m.Channel, thread}
	if !alone && thread == "" {
		e.at.thread = m.Stamp
	}
	quoted := ""
	for _, s := range m.Shared {
		if s.IsShare || s.Message {
			quoted = cmp.Or(quoted, s.Text)
		}
	}
	if strings.TrimSpace(said) == "" && len(m.Files) == 0 && quoted == "" {
		e.kind = unread
	}
	e.message = adapter.Inbound{
		Adapter: "slack", Target: place{m.Channel, thread}.String() + "#" + m.Stamp, ID: m.Stamp, Files: filesOf(m.Files),
		Dedupe: "slack:" + m.Channel + ":" + m.Stamp, Mentioned: alone || named || m.Type == "app_mention" || e.inThread && m.Parent == me.User && !others,
		Quoted: quoted,
	}
	e.chat()
	return e
}

// change tells what the change of a message is to the bot. Slack also sends one when it has made a preview of a link, or when a thread
// has a new message.
func (m *message) change(me self, team string) event {
	if m.Now == nil || m.Now.Edited.Stamp == "" || m.Before != nil && (m.Before.Text == m.Now.Text || m.Before.Edited.Stamp == m.Now.Edited.Stamp) {
		return event{}
	}
	now := *m.Now
	now.Type, now.Channel = "message", m.Channel
	e := now.read(me, team)
	if e.kind != legible {
		return event{}
	}
	e.message.Edited = true
	e.message.Dedupe += ":edited:" + term.Clean(m.Now.Edited.Stamp, maxStamp)
	return e
}

// ofPerson reports whether a person wrote the message: not the bot, another bot, or Slack itself.
func (m *message) ofPerson(me self) bool {
	return isID(m.User) && m.User != me.User && m.User != "USLACKBOT" && m.Bot == "" && isID(m.Channel) && isStamp(m.Stamp) &&
		(m.Thread == "" || isStamp(m.Thread)) && slices.Contains(subtypes, m.Subtype)
}

// chat sets the session of the message (CONTRACT.md, 4) and the kind of its chat: one for each person who speaks to the bot alone, and
// one for each thread. What is not in a thread of a channel has one for each member (CV10).
func (e *event) chat() {
	m := &e.message
	switch {
	case e.private && e.at.thread == "":
		m.Chat, m.Session = adapter.ChatDM, "slack:dm:"+e.user
	case e.private:
		m.Chat, m.Session = adapter.ChatThread, fmt.Sprintf("slack:dm:%s:thread:%s", e.user, e.at.thread)
	case e.at.thread != "":
		m.Chat, m.Session = adapter.ChatThread, fmt.Sprintf("slack:channel:%s:thread:%s", e.channel, e.at.thread)
	default:
		m.Chat, m.Session = adapter.ChatGroup, fmt.Sprintf("slack:channel:%s:user:%s", e.channel, e.user)
	}
}

// called sets what people call the sender.
func (e *event) called(name string) {
	e.message.Sender, e.message.User = name, e.user
	if name != "" {
		e.message.User = fmt.Sprintf("%s (%s)", name, e.user)
	}
}

// sender is who sent the message.
func (e *event) sender() adapter.User {
	return adapter.User{Platform: "slack", ID: e.user, Name: e.message.Sender}
}
