package feishu

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gatewaytui/core/adapter"
	"gatewaytui/core/term"
)

// maxName bounds a user's name in runes: this text comes from outside.
const maxName = 64

// The events that are read. Others are acknowledged and say nothing to us.
const (
	eventMessage = "im.message.receive_v1"
	eventPress   = "card.action.trigger"
	eventMenu    = "application.bot.menu_v6"
)

// envelope is what every event is in.
type envelope struct {
	Header struct {
		ID   string `json:"event_id"`
		Type string `json:"event_type"`
	} `json:"header"`
	Event json.RawMessage `json:"event"`
}

// decode reads JSON into v.
func decode(text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read an event: %w", err)
	}
	return nil
}

// person is the ids of a user; the other ones of it are not used.
type person struct {
	ID string `json:"open_id"`
}

// said is the part of a message that we read.
type said struct {
	Sender struct {
		ID   person `json:"sender_id"`
		Type string `json:"sender_type"`
	} `json:"sender"`
	Message struct {
		ID       string    `json:"message_id"`
		Root     string    `json:"root_id"`
		Parent   string    `json:"parent_id"`
		Chat     string    `json:"chat_id"`
		Thread   string    `json:"thread_id"`
		ChatType string    `json:"chat_type"`
		Type     string    `json:"message_type"`
		Content  string    `json:"content"`
		Mentions []mention `json:"mentions"`
	} `json:"message"`
}

// mention is a user whom a text names. The text has the key.
type mention struct {
	Key  string `json:"key"`
	ID   person `json:"id"`
	Name string `json:"name"`
}

// pressed is the part of a press of a button that we read.
type pressed struct {
	Operator person `json:"operator"`
	Action   struct {
		Value button `json:"value"`
	} `json:"action"`
	Context struct {
		Chat string `json:"open_chat_id"`
	} `json:"context"`
}

// chosen is a use of the bot's menu, which its makers write in the developer console.
type chosen struct {
	Operator struct {
		ID   person `json:"operator_id"`
		Name string `json:"operator_name"`
	} `json:"operator"`
	Key string `json:"event_key"`
}

// kind is what an event is to us.
type kind int

const (
	nothing  kind = iota // not for the bot, or not of a person
	readable             // a message with a text or a file
	unread               // a message of which nothing can be read: a sticker, a poll
)

// event is a message as it concerns us.
type event struct {
	kind kind
	user string
	at   address
	// parent is the message that this one answers; empty: none.
	parent  string
	message adapter.Inbound
}

// read tells what an event is to the bot me.
func (e envelope) read(me string) (event, error) {
	switch e.Header.Type {
	case eventMessage:
		var s said
		if err := decode(e.Event, &s); err != nil {
			return event{}, err
		}
		return s.read(me), nil
	case eventPress:
		var p pressed
		if err := decode(e.Event, &p); err != nil {
			return event{}, err
		}
		return p.read(e.Header.ID), nil
	case eventMenu:
		var c chosen
		if err := decode(e.Event, &c); err != nil {
			return event{}, err
		}
		return c.read(e.Header.ID), nil
	}
	return event{}, nil
}

// read tells what the message is to the bot me.
func (s *said) read(me string) event {
	m, user := s.Message, s.Sender.ID.ID
	if s.Sender.Type != "user" || user == me || !isID(user, userID) || !isID(m.ID, messageID) || !isID(m.Chat, groupID) {
		return event{}
	}
	e := event{kind: readable, user: user, at: address{to: m.Chat}}
	private := m.ChatType == "p2p"
	if private {
		e.at.to = user
	}
	if isID(m.Thread, threadID) {
		e.at.thread, e.at.root = m.Thread, m.ID
		if isID(m.Root, messageID) {
			e.at.root = m.Root
		}
	}
	if isID(m.Parent, messageID) {
		e.parent = m.Parent
	}
	text, files := contentOf(m.Type, m.Content, m.ID)
	text, named := mentionedIn(text, m.Mentions, me)
	if strings.TrimSpace(text) == "" && len(files) == 0 {
		e.kind = unread
	}
	e.message = e.inbound(text, "feishu:"+m.ID)
	e.message.ID, e.message.Files, e.message.Mentioned = m.ID, files, private || named
	if !private { // people see which of their messages is answered
		e.message.Target += "#" + m.ID
	}
	return e
}

// inbound is the message of an event; its session and the name of its sender are known later.
func (e event) inbound(text, dedupe string) adapter.Inbound {
	return adapter.Inbound{
		Adapter: "feishu", Session: e.at.session(e.user), User: e.user, Sender: e.user, Chat: e.at.chat(), Target: e.at.String(), Text: text, Dedupe: dedupe,
	}
}

// key is how a text names a user.
var key = regexp.MustCompile(`@_user_\d+|@_all`)

// mentionedIn is a text with the names of those whom it mentions, without the bot's own at its beginning, and whether it names the bot.
func mentionedIn(text string, mentions []mention, me string) (string, bool) {
	named := false
	rest := strings.TrimSpace(text)
	for _, one := range mentions {
		if one.ID.ID != me || one.Key == "" {
			continue
		}
		named = true
		if after, found := strings.CutPrefix(rest, one.Key); found && !startsWithDigit(after) {
			text, rest = strings.TrimSpace(after), strings.TrimSpace(after)
		}
	}
	return key.ReplaceAllStringFunc(text, func(found string) string {
		if found == "@_all" {
			return "@all"
		}
		at := slices.IndexFunc(mentions, func(one mention) bool { return one.Key == found })
		if at < 0 {
			return found
		}
		return "@" + term.Clean(mentions[at].Name, maxName)
	}), named
}

// startsWithDigit reports whether what follows a key belongs to it: @_user_1 is not @_user_12.
func startsWithDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

// read tells what the press of a button is to the bot: a message of who pressed, in the chat in which the button is.
func (p *pressed) read(id string) event {
	user := p.Operator.ID
	at, err := parseAddress(p.Action.Value.At)
	if err != nil || id == "" || p.Action.Value.Say == "" || !isID(user, userID) {
		return event{}
	}
	if here := at.to == p.Context.Chat || at.to == user; !here { // the button names the chat, and Feishu says who pressed and where
		return event{}
	}
	e := event{kind: readable, user: user, at: at}
	e.message = e.inbound(p.Action.Value.Say, "feishu:"+id)
	e.message.Mentioned = true
	return e
}

// read tells what a use of the menu is to the bot: a command to the bot alone.
func (c *chosen) read(id string) event {
	user, said := c.Operator.ID.ID, strings.TrimSpace(c.Key)
	if id == "" || said == "" || !isID(user, userID) {
		return event{}
	}
	if !strings.HasPrefix(said, "/") {
		said = "/" + said
	}
	e := event{kind: readable, user: user, at: address{to: user}}
	e.message = e.inbound(said, "feishu:"+id)
	e.message.Mentioned = true
	return e
}
