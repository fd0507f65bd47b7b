package discord

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// maxName bounds a user's name in runes. Discord's own limit is 32; this text comes from outside.
const maxName = 64

// id is a Discord id (a snowflake); 0 is none. In JSON it is a string.
type id int64

// UnmarshalJSON implements json.Unmarshaler.
func (i *id) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	read, err := parseID(s)
	*i = read
	return err
}

// MarshalText implements encoding.TextMarshaler: an id is a string in JSON.
func (i id) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

func (i id) String() string { return strconv.FormatInt(int64(i), 10) }

// parseID reads an id as it stands in JSON and in adapter.Inbound.Target.
func parseID(s string) (id, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%.40q is not an id of Discord", s)
	}
	return id(n), nil
}

// user is a person or a bot.
type user struct {
	ID     id     `json:"id"`
	Name   string `json:"username"`
	Shown  string `json:"global_name"`
	Bot    bool   `json:"bot"`
	System bool   `json:"system"`
}

// message is the part of a MESSAGE_CREATE that we read.
type message struct {
	ID      id     `json:"id"`
	Channel id     `json:"channel_id"`
	Guild   id     `json:"guild_id"`
	Webhook id     `json:"webhook_id"`
	Author  user   `json:"author"`
	Text    string `json:"content"`
	Type    int    `json:"type"`
	Member  struct {
		Nick string `json:"nick"`
	} `json:"member"`
	Mentions []user `json:"mentions"`
	Answered *struct {
		Author user   `json:"author"`
		Text   string `json:"content"`
	} `json:"referenced_message"`
	Files []attachment `json:"attachments"`
}

// change is a message whose sender changed it.
type change struct {
	message
	Edited string `json:"edited_timestamp"`
}

// Types of messages that a person writes; the others say that someone joined, a thread began and so on.
const (
	typeDefault = 0
	typeReply   = 19
)

// kind is what an event is to us.
type kind int

const (
	nothing  kind = iota // not for the bot, or not of a person
	readable             // a message with a text or a file
	unread               // a message of which nothing can be read: a sticker, a poll
)

// event is a message as it concerns us.
type event struct {
	kind           kind
	user           id
	channel, guild id
	message        adapter.Inbound
	private        bool
}

// read tells what the message is to the bot me. Its session is known once its channel is.
func (m *message) read(me id) event {
	if !m.ofPerson(me) {
		return event{}
	}
	said, named := unmention(m.Text, me)
	named = named || slices.ContainsFunc(m.Mentions, func(u user) bool { return u.ID == me })
	e := event{kind: readable, user: m.Author.ID, channel: m.Channel, guild: m.Guild, private: m.Guild == 0}
	if strings.TrimSpace(said) == "" && len(m.Files) == 0 {
		e.kind = unread
	}
	e.message = adapter.Inbound{
		Adapter: "discord", Target: m.Channel.String(), Text: said, ID: m.ID.String(), Files: m.files(), Dedupe: "discord:" + m.ID.String(),
		User: person(m.Author), Sender: term.Clean(cmp.Or(m.Member.Nick, m.Author.Shown, m.Author.Name), maxName),
		Mentioned: e.private || named || m.Answered != nil && m.Answered.Author.ID == me,
	}
	if !e.private { // people see which of their messages is answered
		e.message.Target += "#" + e.message.ID
	}
	if m.Answered != nil {
		e.message.Quoted = m.Answered.Text
	}
	return e
}

// read tells what the change of a message is to the bot me. Discord also sends one when it has made a preview of a link.
func (m *change) read(me id) event {
	if m.Edited == "" {
		return event{}
	}
	e := m.message.read(me)
	if e.kind != readable {
		return event{}
	}
	e.message.Edited = true
	e.message.Dedupe += ":" + term.Clean(m.Edited, maxName)
	return e
}

// ofPerson reports whether a person wrote the message: not the bot me, another bot, or Discord itself.
func (m *message) ofPerson(me id) bool {
	who := m.Author
	return who.ID != 0 && who.ID != me && !who.Bot && !who.System && m.Webhook == 0 && m.Channel != 0 && m.ID != 0 &&
		(m.Type == typeDefault || m.Type == typeReply)
}

// person is a user for people and for the audit.
func person(u user) string {
	if name := term.Clean(u.Name, maxName); name != "" {
		return fmt.Sprintf("%s (%s)", name, u.ID)
	}
	return u.ID.String()
}

// unmention takes the bot's name off the beginning of a text, and reports whether the text names the bot at all.
func unmention(text string, me id) (rest string, named bool) {
	rest = strings.TrimSpace(text)
	for _, name := range []string{"<@" + me.String() + ">", "<@!" + me.String() + ">"} {
		named = named || strings.Contains(rest, name)
		if after, found := strings.CutPrefix(rest, name); found {
			rest = strings.TrimSpace(after)
		}
	}
	if !named {
		return text, false
	}
	return rest, true
}

// session is the key of the session (CONTRACT.md, 4): one for each person who speaks to the bot alone, one for each thread, and
// one for each member of a channel (CV10).
func (e event) session(at channel) string {
	switch {
	case e.private:
		return fmt.Sprintf("discord:dm:%s", e.user)
	case at.Thread():
		return fmt.Sprintf("discord:guild:%s:channel:%s:thread:%s", e.guild, at.Parent, e.channel)
	}
	return fmt.Sprintf("discord:guild:%s:channel:%s:user:%s", e.guild, e.channel, e.user)
}

// interaction is the part of an INTERACTION_CREATE that we read: a button was pressed, or a command of the menu used.
type interaction struct {
	ID      id     `json:"id"`
	Token   string `json:"token"`
	Type    int    `json:"type"`
	Channel id     `json:"channel_id"`
	Guild   id     `json:"guild_id"`
	User    user   `json:"user"` // in a chat with the bot alone
	Member  struct {
		Nick string `json:"nick"`
		User user   `json:"user"`
	} `json:"member"`
	Data struct {
		Button  string `json:"custom_id"`
		Command string `json:"name"`
		Options []struct {
			Name  string `json:"name"`
			Value any    `json:"value"`
		} `json:"options"`
	} `json:"data"`
}

// Types of interactions.
const (
	used    = 2 // a command of the menu
	pressed = 3 // a button
)

// said is what the person would have written instead; empty: nothing that we know.
func (i *interaction) said() string {
	switch {
	case i.Type == pressed:
		return i.Data.Button
	case i.Type != used || i.Data.Command == "":
		return ""
	}
	said := "/" + i.Data.Command
	for _, o := range i.Data.Options {
		if value, is := o.Value.(string); is && o.Name == textOption {
			said += " " + value
		}
	}
	return said
}

// read tells what the interaction is to the bot: a message.
func (i *interaction) read() event {
	u := i.User
	if i.Guild != 0 {
		u = i.Member.User
	}
	said := i.said()
	if said == "" || u.ID == 0 || i.Channel == 0 || i.ID == 0 {
		return event{}
	}
	return event{kind: readable, user: u.ID, channel: i.Channel, guild: i.Guild, private: i.Guild == 0, message: adapter.Inbound{
		Adapter: "discord", Target: i.Channel.String(), Text: said, Mentioned: true, Dedupe: "discord:" + i.ID.String(),
		User: person(u), Sender: term.Clean(cmp.Or(i.Member.Nick, u.Shown, u.Name), maxName),
	}}
}
