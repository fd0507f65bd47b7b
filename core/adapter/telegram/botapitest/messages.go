package botapitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// Sent is a message that the bot sent.
type Sent struct {
	ChatID, ThreadID int64
	Text             string
	// Entities are the styles of Text as JSON; empty: none.
	Entities string
	// ReplyTo is the message that it answers; 0: none.
	ReplyTo int64
	// Buttons is the inline keyboard as JSON; empty: none.
	Buttons string
	// Kind is photo or document for a file, with FileName, FileType and File, its content; Text is then the caption.
	Kind, FileName, FileType, File string
}

// Action is a chat action that the bot showed.
type Action struct {
	ChatID, ThreadID int64
	Action           string
	At               time.Time
}

// message is a message of the bot. Its id is its place in Server.sent, from 1.
type message struct {
	Sent
	id      int
	removed bool
	file    file
}

// Sent are the messages of the bot as they stand in the chats now, in the order in which they were sent.
func (s *Server) Sent() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Sent
	for _, m := range s.sent {
		if !m.removed {
			out = append(out, m.Sent)
		}
	}
	return out
}

// Actions are the chat actions that the bot showed, in order.
func (s *Server) Actions() []Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.actions)
}

func (s *Server) sendMessage(w http.ResponseWriter, args map[string]string) {
	if acceptable(w, args) {
		s.keep(w, args, Sent{Text: args["text"]})
	}
}

// keep adds a message to the chat that the call names, and answers with it.
func (s *Server) keep(w http.ResponseWriter, args map[string]string, m Sent) {
	var err error
	if m.ChatID, err = strconv.ParseInt(args["chat_id"], 10, 64); err != nil {
		refuse(w, "chat not found")
		return
	}
	if m.Buttons, err = keyboard(args["reply_markup"]); err != nil {
		refuse(w, err.Error())
		return
	}
	m.ThreadID, _ = strconv.ParseInt(args["message_thread_id"], 10, 64)
	m.Entities, m.ReplyTo = args["entities"], answered(args)
	s.mu.Lock()
	kept := &message{Sent: m}
	if m.Kind != "" {
		kept.file = s.put(m.FileName, m.FileType, m.File)
	}
	s.sent = append(s.sent, kept)
	kept.id = len(s.sent)
	said := kept.described()
	s.change()
	s.mu.Unlock()
	answer(w, said)
}

// answered is the message that a call answers.
func answered(args map[string]string) int64 {
	var r struct {
		ID int64 `json:"message_id"`
	}
	_ = json.Unmarshal([]byte(args["reply_parameters"]), &r) // without the parameter it is none
	return r.ID
}

// acceptable reports whether the text of a call and its entities may be those of a message, and answers if not.
func acceptable(w http.ResponseWriter, args map[string]string) bool {
	text := args["text"]
	switch {
	case strings.TrimSpace(text) == "":
		refuse(w, "message text is empty")
		return false
	case len(utf16.Encode([]rune(text))) > 4096:
		refuse(w, "message is too long")
		return false
	}
	if _, err := Entities(text, args["entities"]); err != nil {
		refuse(w, "can't parse entities: "+err.Error())
		return false
	}
	return true
}

// described is the Message object.
func (m *message) described() map[string]any {
	out := map[string]any{
		"message_id": m.id, "date": time.Now().Unix(), "chat": chatOf(m.ChatID),
		"from": map[string]any{"id": BotID, "is_bot": true, "first_name": "Test", "username": BotName},
	}
	if m.ThreadID != 0 {
		out["message_thread_id"], out["is_topic_message"] = m.ThreadID, true
	}
	if m.Buttons != "" {
		out["reply_markup"] = json.RawMessage(m.Buttons)
	}
	switch m.Kind {
	case "":
		out["text"] = m.Text
		return out
	case photo:
		out[photo] = m.file.sizes()
	default:
		out[document] = m.file.described()
	}
	if m.Text != "" {
		out["caption"] = m.Text
	}
	return out
}

// chatOf is a Chat object.
func chatOf(id int64) map[string]any {
	if id < 0 {
		return map[string]any{"id": id, "type": "supergroup", "title": "group"}
	}
	return map[string]any{"id": id, "type": "private", "first_name": "User"}
}

// named is the message that a call is about, nil if there is none; the lock is held.
func (s *Server) named(args map[string]string) (id int, m *message) {
	id, _ = strconv.Atoi(args["message_id"])
	if id < 1 || id > len(s.sent) {
		return id, nil
	}
	m = s.sent[id-1]
	if m.removed || strconv.FormatInt(m.ChatID, 10) != args["chat_id"] {
		return id, nil
	}
	return id, m
}

func (s *Server) editMessage(w http.ResponseWriter, args map[string]string) {
	if !acceptable(w, args) {
		return
	}
	buttons, err := keyboard(args["reply_markup"])
	if err != nil {
		refuse(w, err.Error())
		return
	}
	s.mu.Lock()
	_, m := s.named(args)
	if m == nil {
		s.mu.Unlock()
		refuse(w, "message to edit not found")
		return
	}
	if m.Kind != "" {
		s.mu.Unlock()
		refuse(w, "there is no text in the message to edit")
		return
	}
	same := m.Text == args["text"] && m.Entities == args["entities"] && m.Buttons == buttons
	m.Text, m.Entities, m.Buttons = args["text"], args["entities"], buttons
	said := m.described()
	s.change()
	s.mu.Unlock()
	if same {
		refuse(w, "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
		return
	}
	answer(w, said)
}

func (s *Server) deleteMessage(w http.ResponseWriter, args map[string]string) {
	s.mu.Lock()
	_, m := s.named(args)
	if m != nil {
		m.removed = true
	}
	s.change()
	s.mu.Unlock()
	if m == nil {
		refuse(w, "message to delete not found")
		return
	}
	answer(w, true)
}

func (s *Server) sendAction(w http.ResponseWriter, args map[string]string) {
	chat, err := strconv.ParseInt(args["chat_id"], 10, 64)
	if err != nil || args["action"] == "" {
		refuse(w, "wrong parameter action in request")
		return
	}
	thread, _ := strconv.ParseInt(args["message_thread_id"], 10, 64)
	s.mu.Lock()
	s.actions = append(s.actions, Action{ChatID: chat, ThreadID: thread, Action: args["action"], At: time.Now()})
	s.change()
	s.mu.Unlock()
	answer(w, true)
}
