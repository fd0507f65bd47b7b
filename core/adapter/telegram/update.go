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
	nothing  kind = iota // no message of a person: a bot, a service message
	readable             // a message with a text, a file or something else that can be read, or the press of a button
	unread               // a message of which nothing can be read: a game, a story
)

// event is an update as it concerns us.
type event struct {
	kind kind
	// from is the chat, user the person's id.
	from    address
	user    int64
	private bool
	// message is what the Receiver gets of a readable one.
	message adapter.Inbound
	// what is the content of one that cannot be read, for its sender; album joins the messages of one album; forwarded is the line
	// that says whom the message is from.
	what, album, forwarded string
	// press is the id of the press of a button, and pressed what the button had; empty: nothing was pressed.
	press, pressed string
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
	// Forwarded is who wrote the message that this person passes on; nil: this person wrote it.
	Forwarded *origin `json:"forward_origin"`
	From      *person `json:"from"`
	Chat      struct {
		ID   int64  `json:"id"`
		Type string `json:"type"`
	} `json:"chat"`
}

// person is who sent a message.
type person struct {
	ID       int64  `json:"id"`
	IsBot    bool   `json:"is_bot"`
	UserName string `json:"username"`
	First    string `json:"first_name"`
	Last     string `json:"last_name"`
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

// read tells what the update is to the bot me. With an error it is nothing.
func read(raw json.RawMessage, me self) (event, error) {
	var u struct {
		Message json.RawMessage `json:"message"`
		Edited  json.RawMessage `json:"edited_message"`
		Press   json.RawMessage `json:"callback_query"`
	}
	if err := json.Unmarshal(raw, &u); err != nil {
		return event{}, fmt.Errorf("read an update: %w", err)
	}
	switch {
	case u.Message != nil:
		return readMessage(u.Message, false, me)
	case u.Edited != nil:
		return readMessage(u.Edited, true, me)
	case u.Press != nil:
		return readPress(u.Press, me)
	}
	return event{}, nil
}

// readMessage tells what a new or changed message is.
func readMessage(raw json.RawMessage, edited bool, me self) (event, error) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return event{}, err
	}
	if m.From == nil || m.From.ID == 0 || m.From.IsBot || m.Chat.ID == 0 || m.AutoForward {
		return event{}, nil
	}
	e := m.event()
	said, named := m.unmention(me)
	all := contentOf(raw)
	if strings.TrimSpace(cmp.Or(m.Text, m.Caption)) == "" {
		if e.what = all.unread; e.what != "" && !edited {
			e.kind = unread
		}
		if edited || len(all.files) == 0 && len(all.lines) == 0 { // a live location changes every few seconds
			return e, nil
		}
	}
	ours := true
	if m.Forwarded != nil { // what another person wrote is not a command of this one
		e.forwarded = fmt.Sprintf("[Forwarded from %s]", m.Forwarded)
		said = strings.TrimRight(e.forwarded+"\n"+said, "\n")
	} else if said, ours = command(said, me.Name); !ours {
		return event{}, nil
	}
	e.kind, e.what = readable, ""
	e.message = m.inbound(e, me, all.words(said))
	e.message.Files, e.message.Forwarded = all.files, m.Forwarded != nil
	e.message.Mentioned = e.private || named || m.answers(me)
	if e.album = m.Album; edited {
		e.album, e.message.Edited = "", true
		e.message.Dedupe += fmt.Sprintf(":%d", m.Edited)
	}
	return e, nil
}

// event is where a message of a person came from.
func (m *message) event() event {
	e := event{
		from: address{chat: m.Chat.ID}, user: m.From.ID,
		private: m.Chat.Type == "private" || m.Chat.Type == "" && m.Chat.ID > 0,
	}
	// Outside of a forum the field names the message that is answered, which is not a separate conversation.
	if m.IsTopic && m.Topic > 0 {
		e.from.topic = m.Topic
	}
	return e
}

// inbound is what the Receiver gets of a message.
func (m *message) inbound(e event, me self, said string) adapter.Inbound {
	in := adapter.Inbound{
		Adapter: "telegram", Session: e.session(), Target: e.from.String(), Text: said, Chat: e.chat(), ID: strconv.FormatInt(m.ID, 10),
		User: strconv.FormatInt(m.From.ID, 10), Sender: term.Clean(strings.TrimSpace(m.From.First+" "+m.From.Last), maxName),
		Quoted: m.quoted(),
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
