package telegram

import (
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf16"
)

// mention is the part of a MessageEntity that can name the bot. Offset and Length are in UTF-16 units.
type mention struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   struct {
		ID int64 `json:"id"`
	} `json:"user"`
}

// answered is a message that another one answers.
type answered struct {
	ID      int64  `json:"message_id"`
	Text    string `json:"text"`
	Caption string `json:"caption"`
	From    struct {
		ID int64 `json:"id"`
	} `json:"from"`
	// TopicCreated is set on the message that began a topic, which every message of the topic answers.
	TopicCreated json.RawMessage `json:"forum_topic_created"`
}

// unmention is the text without the bot's name at its beginning, and whether the text names the bot at all.
func (m *message) unmention(me self) (said string, named bool) {
	said, entities := m.Text, m.Entities
	if said == "" {
		said, entities = m.Caption, m.CaptionEntities
	}
	units := utf16.Encode([]rune(said))
	for _, e := range entities {
		end := e.Offset + e.Length
		if e.Offset < 0 || e.Length <= 0 || end < e.Offset || end > len(units) {
			continue
		}
		name := string(utf16.Decode(units[e.Offset:end]))
		switch e.Type {
		case "mention":
			if me.Name == "" || !strings.EqualFold(name, "@"+me.Name) {
				continue
			}
		case "text_mention":
			if e.User.ID != me.ID {
				continue
			}
		case "bot_command":
			if _, to, addressed := strings.Cut(name, "@"); !addressed || me.Name == "" || !strings.EqualFold(to, me.Name) {
				continue
			}
			named = true
			continue
		default:
			continue
		}
		named = true
		if rest := strings.TrimSpace(string(utf16.Decode(units[end:]))); e.Offset == 0 && rest != "" {
			said = rest
		}
	}
	return said, named
}

// answers reports whether the message answers one of the bot's.
func (m *message) answers(me self) bool {
	return m.Answered != nil && m.Answered.From.ID == me.ID && m.Answered.TopicCreated == nil
}

// quoted is what the message answers, in the part that its sender chose.
func (m *message) quoted() string {
	if m.Answered == nil || m.Answered.TopicCreated != nil {
		return ""
	}
	return cmp.Or(m.Quote.Text, m.Answered.Text, m.Answered.Caption)
}
