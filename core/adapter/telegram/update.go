package telegram

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// maxName bounds a user's name in runes. Telegram's own limit is 32; this text comes from outside.
const maxName = 64

// kind is what an update is to us.
type kind int

const (
	nothing kind = iota // no message of a person: a bot, a service message
	text                // a message with a text
	nonText             // a message without one: a picture, a voice
)

// event is an update as it concerns us.
type event struct {
	kind kind
	// from is the chat, user the person's id.
	from    address
	user    int64
	private bool
	// message is what the Receiver gets of a text.
	message adapter.Inbound
	// what is the content of a speechless one, for its sender; album joins the messages of one album.
	what, album string
}

// message is the part of Telegram's Message that we read. Telegram invents new kinds of content every few months, and a
// message with one of them is still a message.
type message struct {
	ID      int64  `json:"message_id"`
	Topic   int64  `json:"message_thread_id"`
	IsTopic bool   `json:"is_topic_message"`
	Text    string `json:"text"`
	Caption string `json:"caption"`
	Album   string `json:"media_group_id"`
	Edited  int64  `json:"edit_date"`
	// Entities and CaptionEntities are the styles of Text and Caption, in which a mention of the bot is.
	Entities        []mention `json:"entities"`
	CaptionEntities []mention `json:"caption_entities"`
	// Answered is the message that this one answers, Quote the part of it that its sender chose.
	Answered *answered `json:"reply_to_message"`
	Quote    struct {
		Text string `json:"text"`
	} `json:"quote"`
	// AutoForward is a channel's post that Telegram copied into the channel's group.
	AutoForward bool `json:"is_automatic_forward"`
	From        *struct {
		ID       int64  `json:"id"`
		IsBot    bool   `json:"is_bot"`
		UserName string `json:"username"`
		First    string `json:"first_name"`
		Last     string `json:"last_name"`
	} `json:"from"`
	Chat struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
	} `json:"chat"`
}

// contents are the fields of a message that hold what its sender sent. What has none of them is a service message.
var contents = []string{
	"animation", "audio", "checklist", "contact", "dice", "document", "game", "location", "paid_media", "photo", "poll", "sticker",
	"story", "venue", "video", "video_note", "voice",
}

// contentNames are how to call those whose field is not a word for people.
var contentNames = map[string]string{
	"audio": "audio file", "document": "file", "paid_media": "media", "photo": "picture", "video_note": "video message", "voice": "voice message",
}

// self is who the bot is.
type self struct {
	ID   int64  `json:"id"`
	Name string `json:"username"` // without the @
}

// updateID reads the one field without which an update cannot be dealt with.
func updateID(raw json.RawMessage) (int64, error) {
	var u struct {
		ID *int64 `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &u); err != nil {
		return 0, fmt.Errorf("read an update: %w", err)
	}
	if u.ID == nil {
		return 0, fmt.Errorf("read an update: it has no update_id")
	}
	return *u.ID, nil
}

// messageOf is the new or changed message of an update; nil: it has none.
func messageOf(update json.RawMessage) (body json.RawMessage, edited bool, err error) {
	var u struct {
		Message json.RawMessage `json:"message"`
		Edited  json.RawMessage `json:"edited_message"`
	}
	if err := json.Unmarshal(update, &u); err != nil {
		return nil, false, fmt.Errorf("read an update: %w", err)
	}
	if u.Message == nil {
		return u.Edited, true, nil
	}
	return u.Message, false, nil
}

// read tells what the update is to the bot me. With an error it is nothing.
func read(raw json.RawMessage, me self) (event, error) {
	body, edited, err := messageOf(raw)
	if err != nil || body == nil {
		return event{}, err
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return event{}, err
	}
	if m.From == nil || m.From.ID == 0 || m.From.IsBot || m.Chat.ID == 0 || m.AutoForward {
		return event{}, nil
	}
	e := event{
		from: address{chat: m.Chat.ID}, user: m.From.ID, album: m.Album,
		private: m.Chat.Type == "private" || m.Chat.Type == "" && m.Chat.ID > 0,
	}
	// Outside of a forum the field names the message that is answered, which is not a separate conversation.
	if m.IsTopic && m.Topic > 0 {
		e.from.topic = m.Topic
	}
	said, named := m.unmention(me)
	if strings.TrimSpace(cmp.Or(m.Text, m.Caption)) == "" {
		if e.what = content(body); e.what != "" && !edited {
			e.kind = nonText
		}
		return e, nil
	}
	said, ours := command(said, me.Name)
	if !ours {
		return event{}, nil
	}
	e.kind = text
	e.message = m.inbound(e, me, said, body)
	e.message.Mentioned = e.private || named || m.answers(me)
	if edited {
		e.message.Edited = true
		e.message.Dedupe += fmt.Sprintf(":%d", m.Edited)
	}
	return e, nil
}

// inbound is what the Receiver gets of a message.
func (m *message) inbound(e event, me self, said string, raw json.RawMessage) adapter.Inbound {
	in := adapter.Inbound{
		Adapter: "telegram", Session: e.session(), Target: e.from.String(), Text: said, Chat: e.chat(), ID: strconv.FormatInt(m.ID, 10),
		User: strconv.FormatInt(m.From.ID, 10), Sender: term.Clean(strings.TrimSpace(m.From.First+" "+m.From.Last), maxName),
		Quoted: m.quoted(), Files: files(raw),
		// Numbers of messages are the chat's and the bot's; that of an update would change with a redelivery as a new one.
		Dedupe: fmt.Sprintf("telegram:%d:%d:%d", me.ID, m.Chat.ID, m.ID),
	}
	if name := term.Clean(m.From.UserName, maxName); name != "" {
		in.User = fmt.Sprintf("%s (%d)", name, m.From.ID)
		in.Sender = cmp.Or(in.Sender, name)
	}
	if !e.private && m.ID > 0 { // people see which of their messages is answered
		in.Target += "#" + in.ID
	}
	return in
}

// session is the key of the chat's session (CONTRACT.md, 4): one for each person who speaks to the bot alone, one for each
// topic of a forum, and one for each member of a group without topics (CV10).
func (e event) session() string {
	key := fmt.Sprintf("telegram:group:%d", e.from.chat)
	if e.private {
		key = fmt.Sprintf("telegram:dm:%d", e.from.chat)
	}
	switch {
	case e.from.topic != 0:
		key += fmt.Sprintf(":topic:%d", e.from.topic)
	case !e.private:
		key += fmt.Sprintf(":user:%d", e.user)
	}
	return key
}

// chat is the kind of the chat.
func (e event) chat() adapter.ChatKind {
	switch {
	case e.private:
		return adapter.ChatDM
	case e.from.topic != 0:
		return adapter.ChatThread
	}
	return adapter.ChatGroup
}

// content is what a message without text holds, empty if it is a service message.
func content(message json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(message, &fields) != nil {
		return ""
	}
	for _, field := range contents {
		if v, has := fields[field]; has && string(v) != "null" {
			return cmp.Or(contentNames[field], field)
		}
	}
	return ""
}

// command takes the bot's own name off a command, as groups address it: /stop@name. With another bot's name the message
// is not ours.
func command(said, name string) (rest string, ours bool) {
	if !strings.HasPrefix(said, "/") {
		return said, true
	}
	end := strings.IndexFunc(said, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' })
	if end < 0 {
		end = len(said)
	}
	word, to, addressed := strings.Cut(said[:end], "@")
	if !addressed {
		return said, true
	}
	if !plainName(word[1:]) || !plainName(to) {
		return said, true // a path, an address: no command
	}
	if name == "" || !strings.EqualFold(to, name) {
		return "", false
	}
	return word + said[end:], true
}

// plainName reports whether s may be the name of a command or of a bot.
func plainName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
	})
}

// address is where a message came from and its answer goes: a chat, and the topic of a forum or 0.
type address struct{ chat, topic int64 }

// String is the form of adapter.Inbound.Target: "4711", or "-100/7" with a topic.
func (a address) String() string {
	if a.topic == 0 {
		return strconv.FormatInt(a.chat, 10)
	}
	return fmt.Sprintf("%d/%d", a.chat, a.topic)
}

// parseTarget reads an adapter.Inbound.Target: the address of a chat and the message that is answered, or 0.
func parseTarget(s string) (to address, answers int64, err error) {
	at, message, answer := strings.Cut(s, "#")
	if to, err = parseAddress(at); err != nil || !answer {
		return to, 0, err
	}
	answers, err = messageID(message)
	return to, answers, err
}

func parseAddress(s string) (address, error) {
	chat, topic, forum := strings.Cut(s, "/")
	var a address
	var err error
	if a.chat, err = strconv.ParseInt(chat, 10, 64); err != nil || a.chat == 0 {
		return address{}, fmt.Errorf("%.40q is not the address of a chat", s)
	}
	if forum {
		if a.topic, err = strconv.ParseInt(topic, 10, 64); err != nil || a.topic <= 0 {
			return address{}, fmt.Errorf("%.40q has no topic of a chat", s)
		}
	}
	return a, nil
}

// messageID reads the id of a message that the bot sent.
func messageID(s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id <= 0 {
		return 0, &adapter.RefusedError{Why: fmt.Sprintf("%.40q is not the id of a message", s)}
	}
	return id, nil
}
