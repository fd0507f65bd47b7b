package feishutest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Says is a message from a person. The zero value of a field is what a text to the bot alone has.
type Says struct {
	// User is who speaks.
	User string
	// Chat is the group; empty is the person's own chat with the bot.
	Chat string
	// Thread is the thread of the chat, Root the message that began it, and Answers the message that this one answers.
	Thread, Root, Answers string
	Text                  string
	// Names are whom the text names, as @_user_1, @_user_2 and so on.
	Names []string
	// Bot is a message of another app.
	Bot bool
	// Type and Content are a message of another type than text.
	Type, Content string
	// FileName and File are a file that comes with it: in a post if there is a text.
	FileName, File string
}

// Say has a person write a message and returns its id.
func (s *Server) Say(m Says) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := "om_" + s.nextID()
	chat, kind := m.Chat, "group"
	if chat == "" {
		chat, kind = Alone(m.User), "p2p"
	}
	if m.Type == "" {
		m.Type, m.Content = "text", string(encode(fields{"text": m.Text}))
	}
	if m.FileName != "" {
		m.Type, m.Content = s.attach(m)
	}
	mentions := []any{}
	for i, name := range m.Names {
		mentions = append(mentions, fields{"key": "@_user_" + strconv.Itoa(i+1), "id": ids(name), "name": "name of " + name, "tenant_key": "tenant"})
	}
	sender := fields{"sender_id": ids(m.User), "sender_type": "user", "tenant_key": "tenant"}
	if m.Bot {
		sender["sender_type"] = "app"
	}
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	message := fields{
		"message_id": id, "chat_id": chat, "chat_type": kind, "message_type": m.Type, "content": m.Content, "create_time": now, "update_time": now,
		"mentions": mentions,
	}
	for name, value := range map[string]string{"thread_id": m.Thread, "root_id": m.Root, "parent_id": m.Answers} {
		if value != "" {
			message[name] = value
		}
	}
	s.chats[id] = chat
	s.said[id] = fields{
		"message_id": id, "chat_id": chat, "msg_type": m.Type, "body": fields{"content": m.Content}, "sender": fields{"id": m.User, "id_type": "open_id", "sender_type": "user"},
	}
	s.reactions[id] = []reaction{{"other", m.User, "user", "SMILE"}}
	s.dispatch("im.message.receive_v1", fields{"sender": sender, "message": message})
	return id
}

// attach is the type and the content of a message with a file; the lock is held.
func (s *Server) attach(m Says) (kind, content string) {
	key := "file_v2_" + s.nextID()
	s.files[key] = file{m.FileName, m.File}
	switch {
	case m.Text != "":
		return "post", string(encode(fields{"title": "", "content": []any{[]any{
			fields{"tag": "text", "text": m.Text}, fields{"tag": "media", "file_key": key, "image_key": "img_v2_1"},
		}}}))
	case strings.HasSuffix(m.FileName, ".opus"):
		return "audio", string(encode(fields{"file_key": key, "duration": 2000}))
	}
	return "file", string(encode(fields{"file_key": key, "file_name": m.FileName}))
}

func ids(user string) fields {
	return fields{"open_id": user, "union_id": "on_" + user, "user_id": nil}
}

// Press has a person press the button with this label below a message of the bot, and reports whether it is there.
func (s *Server) Press(user, message, label string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.place(message)
	if at < 0 {
		return false
	}
	m := s.sent[at]
	i := slices.IndexFunc(m.Buttons, func(b Button) bool { return b.Label == label })
	if i < 0 {
		return false
	}
	s.dispatch("card.action.trigger", fields{
		"operator": fields{"open_id": user, "union_id": "on_" + user, "user_id": nil, "tenant_key": "tenant"}, "token": "c-token", "host": "im_message",
		"action":  fields{"tag": "button", "value": m.Buttons[i].Value},
		"context": fields{"open_message_id": m.ID, "open_chat_id": m.To},
	})
	return true
}

// Choose has a person use an entry of the bot's menu.
func (s *Server) Choose(user, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch("application.bot.menu_v6", fields{"operator": fields{"operator_name": "alice", "operator_id": ids(user)}, "event_key": key, "timestamp": 1})
}

// Dispatch sends an event of this type as it is.
func (s *Server) Dispatch(kind string, data json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(kind, data)
}

// Frame sends a frame as it is to every bot that listens.
func (s *Server) Frame(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.conns {
		l.sendRaw(text)
	}
}

// Again sends what was not acknowledged once more.
func (s *Server) Again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.conns {
		for _, e := range slices.Clone(s.pending) {
			s.push(l, e)
		}
	}
}

// Pending is how many events were not acknowledged.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

// Tear has the next events come in so many frames.
func (s *Server) Tear(pieces int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pieces = pieces
}

// Name has the people of these ids be called so, by id.
func (s *Server) Name(user, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people[user] = name
}

// Revoke takes these permissions from the app.
func (s *Server) Revoke(permissions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = permissions
}

// Expire ends the token of the bot.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = ""
}

// Tokens is how many tokens were given.
func (s *Server) Tokens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tokens
}

// Every is how often clients send a ping from now on.
func (s *Server) Every(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.every = d
}

// Drop breaks every connection.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.conns {
		_ = l.conn.CloseNow() // it is over in any case
	}
}

// Refuse refuses the next long connections; nil takes them again.
func (s *Server) Refuse(r *Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = r
}

// Deafen answers no frame and sends no event from now on, or does both again.
func (s *Server) Deafen(deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = deaf
}

// Fail answers the calls that begin with call, such as "POST /open-apis/im/v1/messages", with f.
func (s *Server) Fail(call string, f Fault) { s.faults.Put(call, f, f.Times) }

// Heal ends every fault of calls.
func (s *Server) Heal() { s.faults.Heal() }

// Sent are the messages of the bot as they stand in the chats now, in order.
func (s *Server) Sent() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// Reactions are the bot's on a message, in Feishu's words.
func (s *Server) Reactions(message string) (emojis []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.reactions[message] {
		if one.operator == AppID {
			emojis = append(emojis, one.emoji)
		}
	}
	return emojis
}

// Calls are the REST calls that begin with call; all with an empty one.
func (s *Server) Calls(call string) (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if strings.HasPrefix(c, call) {
			out = append(out, c)
		}
	}
	return out
}

// Connections is how many long connections are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}
