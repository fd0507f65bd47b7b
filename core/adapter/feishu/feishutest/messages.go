package feishutest

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
)

const (
	// maxCard is the most bytes of a card, and maxUUID the most of a uuid.
	maxCard = 30 << 10
	maxUUID = 50
)

// payload is the body of a message that a bot posts.
type payload struct {
	To       string `json:"receive_id"`
	Kind     string `json:"msg_type"`
	Content  string `json:"content"`
	UUID     string `json:"uuid"`
	InThread bool   `json:"reply_in_thread"`
}

// post is a message to a chat, or the answer to a message.
func (s *Server) post(toKind, answers string, p payload) answer {
	if i := slices.IndexFunc(s.sent, func(m Message) bool { return m.UUID != "" && m.UUID == p.UUID }); i >= 0 {
		return answer{data: s.sent[i].described()}
	}
	m := Message{ID: "om_" + s.nextID(), To: p.To, Answers: answers, InThread: p.InThread, Kind: p.Kind, Content: p.Content, UUID: p.UUID}
	prefix := map[string]string{"chat_id": "oc_", "open_id": "ou_"}[toKind]
	switch {
	case answers != "":
		m.To = s.chats[answers]
	case prefix == "" || !strings.HasPrefix(p.To, prefix):
		return refusedWith(230001, "Your request contains an invalid request parameter, ext=invalid receive_id.")
	}
	if strings.HasPrefix(m.To, "ou_") {
		m.To = Alone(m.To)
	}
	if len(p.UUID) > maxUUID {
		return refusedWith(230001, "Your request contains an invalid request parameter, ext=uuid is too long.")
	}
	if wrong := s.show(&m); wrong.code != 0 {
		return wrong
	}
	s.sent = append(s.sent, m)
	s.chats[m.ID] = m.To
	return answer{data: m.described()}
}

// Alone is the id of the chat of the bot with one person.
func Alone(user string) string { return "oc_p2p_" + strings.TrimPrefix(user, "ou_") }

func (s *Server) edit(at int, p payload) answer {
	m := s.sent[at]
	if m.Kind != "interactive" {
		return refusedWith(230054, "This operation is not supported for this message type.")
	}
	m.Content = p.Content
	if wrong := s.show(&m); wrong.code != 0 {
		return wrong
	}
	s.sent[at] = m
	return answer{}
}

// show finds out what a person sees of a message.
func (s *Server) show(m *Message) answer {
	m.Text, m.Buttons, m.Plain = "", nil, false
	var content struct {
		Text string `json:"text"`
		File string `json:"file_key"`
	}
	switch {
	case m.Kind == "interactive":
		return s.showCard(m)
	case json.Unmarshal([]byte(m.Content), &content) != nil:
		return refusedWith(230001, "Your request contains an invalid request parameter, ext=content is not a string in json format.")
	case m.Kind == "text" && content.Text != "":
		m.Text, m.Plain = content.Text, true
		return answer{}
	case m.Kind == "file":
		if f, is := s.files[content.File]; is {
			m.FileName, m.File = f.name, f.content
			return answer{}
		}
	}
	return refusedWith(230001, "Your request contains an invalid request parameter, ext=invalid msg_type.")
}

// parts are the properties of the parts of a card that are known. The real one knows more; what it does not know it refuses.
var parts = map[string][]string{
	"markdown": {"content"}, "div": {"text"}, "plain_text": {"content"}, "img": {"img_key", "alt"}, "column_set": {"flex_mode", "columns"},
	"column": {"width", "elements"}, "button": {"text", "behaviors"},
}

func (s *Server) showCard(m *Message) answer {
	var card struct {
		Schema string `json:"schema"`
		Config struct {
			Update bool `json:"update_multi"`
		} `json:"config"`
		Body struct {
			Elements []fields `json:"elements"`
		} `json:"body"`
	}
	d := json.NewDecoder(strings.NewReader(m.Content))
	d.DisallowUnknownFields()
	if len(m.Content) > maxCard {
		return refusedWith(230025, "The length of the message content reaches its limit.")
	}
	if d.Decode(&card) != nil || card.Schema != "2.0" || !card.Config.Update || len(card.Body.Elements) == 0 {
		return refusedWith(230099, "Failed to create card content, ext=ErrCode: 200621; ErrMsg: parse card json err")
	}
	for _, e := range card.Body.Elements {
		if why := s.showPart(m, e); why != "" {
			return refusedWith(230099, "Failed to create card content, ext=ErrMsg: "+why)
		}
	}
	m.Text = strings.TrimPrefix(m.Text, "\n")
	return answer{}
}

// showPart adds what a person sees of a part; empty: it is right.
func (s *Server) showPart(m *Message, e fields) (why string) {
	tag, _ := e["tag"].(string)
	known, is := parts[tag]
	for name := range e {
		if !is || name != "tag" && !slices.Contains(known, name) {
			return fmt.Sprintf("unknown property %s of %s", name, tag)
		}
	}
	within := func(name string) string {
		all, _ := e[name].([]any)
		for _, one := range all {
			part, _ := one.(fields)
			if why := s.showPart(m, part); why != "" {
				return why
			}
		}
		return ""
	}
	said, _ := e["content"].(string)
	text, _ := e["text"].(fields)
	switch tag {
	case "markdown":
		m.Text += "\n" + html.UnescapeString(said)
	case "div":
		said, _ = text["content"].(string)
		m.Text, m.Plain = m.Text+"\n"+said, true
	case "img":
		key, _ := e["img_key"].(string)
		f, is := s.files[key]
		if !is {
			return "the image key is not known"
		}
		m.FileName, m.File = f.name, f.content
	case "column_set":
		return within("columns")
	case "column":
		return within("elements")
	case "button":
		label, _ := text["content"].(string)
		behaviors, _ := e["behaviors"].([]any)
		if label == "" || len(behaviors) != 1 {
			return "a button without a text or a behavior"
		}
		what, _ := behaviors[0].(fields)
		value, err := json.Marshal(what["value"])
		if err != nil || what["type"] != "callback" {
			return "a button that calls no one"
		}
		m.Buttons = append(m.Buttons, Button{label, value})
	}
	return ""
}

// described is a message of the bot as a call about it gives it.
func (m Message) described() fields {
	content := m.Content
	if m.Kind == "interactive" { // of a card the real one gives the texts alone
		content = string(encode(fields{"title": nil, "elements": []any{[]any{fields{"tag": "text", "text": m.Text}}}}))
	}
	return fields{
		"message_id": m.ID, "chat_id": m.To, "msg_type": m.Kind, "sender": fields{"id": AppID, "id_type": "app_id", "sender_type": "app"},
		"body": fields{"content": content}, "deleted": false, "updated": false,
	}
}

func (s *Server) place(id string) int {
	return slices.IndexFunc(s.sent, func(m Message) bool { return m.ID == id })
}

func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}
