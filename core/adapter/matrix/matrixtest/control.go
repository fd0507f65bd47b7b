package matrixtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Says is a message from a person. The zero value of a field is what a message to the bot alone has.
type Says struct {
	// User is who speaks, Name what that person is called.
	User, Name string
	// Room is where; empty is the person's own room with the bot.
	Room string
	Text string
	// Kind is the msgtype; empty is m.text. Type is the type of the event; empty is m.room.message.
	Kind, Type string
	// Thread is the first message of the thread, Answers the message that is answered.
	Thread, Answers string
	// Mentions are the users that the message names; nil: the program does not say.
	Mentions []string
	// File is the name of a file that came with it, Content what is in it, Voice that it was spoken.
	File, Content string
	Voice         bool
	// More is added to the content.
	More map[string]any
}

// RoomOf is a person's own room with the bot.
func RoomOf(user string) string {
	local, _, _ := strings.Cut(strings.TrimPrefix(user, "@"), ":")
	return "!dm-" + local + ":example.org"
}

// open makes sure that a room has the bot and a person; the lock is held.
func (s *Server) open(m *Says) {
	if m.Room == "" {
		m.Room = RoomOf(m.User)
	}
	if s.rooms[m.Room] == nil {
		s.rooms[m.Room] = &room{members: map[string]member{}}
		s.member(m.Room, BotID, BotName, "join", BotID)
	}
	if m.User != BotID {
		s.member(m.Room, m.User, m.Name, "join", m.User)
	}
}

// Open makes the room of a person with the bot before something is said in it, and returns it.
func (s *Server) Open(user, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := Says{User: user, Name: name}
	s.open(&m)
	return m.Room
}

// Say has a person write a message and returns its id.
func (s *Server) Say(m Says) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open(&m)
	content := fields{"msgtype": "m.text", "body": m.Text}
	if m.Kind != "" {
		content["msgtype"] = m.Kind
	}
	if m.File != "" {
		if m.Kind == "" {
			content["msgtype"] = "m.file"
		}
		content["url"] = s.keepFile(m.File, "text/plain", m.Content)
		content["info"] = fields{"mimetype": "text/plain", "size": len(m.Content)}
		content["filename"] = m.File
		if m.Text == "" {
			content["body"] = m.File
		}
		if m.Voice {
			content["org.matrix.msc3245.voice"] = fields{}
		}
	}
	if m.Mentions != nil {
		content["m.mentions"] = fields{"user_ids": m.Mentions}
	}
	to := fields{}
	if m.Thread != "" {
		to = fields{"rel_type": "m.thread", "event_id": m.Thread, "is_falling_back": true, "m.in_reply_to": fields{"event_id": m.Thread}}
	}
	if m.Answers != "" {
		to["m.in_reply_to"], to["is_falling_back"] = fields{"event_id": m.Answers}, false
	}
	if len(to) > 0 {
		content["m.relates_to"] = to
	}
	maps.Copy(content, m.More)
	typed := m.Type
	if typed == "" {
		typed = "m.room.message"
	}
	return s.add(&event{room: m.Room, typed: typed, sender: m.User, content: content})
}

// Change has a user change a message, of which the new text is this.
func (s *Server) Change(room, user, message, text string) string {
	return s.Inject(room, user, "m.room.message", map[string]any{
		"msgtype": "m.text", "body": "* " + text, "m.new_content": fields{"msgtype": "m.text", "body": text},
		"m.relates_to": fields{"rel_type": "m.replace", "event_id": message},
	})
}

// React has a user react to a message.
func (s *Server) React(room, user, message, key string) string {
	return s.Inject(room, user, "m.reaction", map[string]any{"m.relates_to": fields{"rel_type": "m.annotation", "event_id": message, "key": key}})
}

// Inject adds an event of a user to a room as it is, and returns its id.
func (s *Server) Inject(room, user, typed string, content map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := Says{User: user, Room: room}
	if s.rooms[room] == nil || s.rooms[room].members[user].membership == "" {
		s.open(&m)
	}
	return s.add(&event{room: room, typed: typed, sender: user, content: content})
}

// Invite has a user make a room and invite the bot to it.
func (s *Server) Invite(room, user, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rooms[room] == nil {
		s.rooms[room] = newRoom()
	}
	s.member(room, user, name, "join", user)
	s.member(room, BotID, BotName, "invite", user)
}

func newRoom() *room { return &room{members: map[string]member{}} }

// Enter has a user join a room, and Leave has a user, or the bot, leave it.
func (s *Server) Enter(room, user, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rooms[room] == nil {
		s.rooms[room] = newRoom()
	}
	s.member(room, user, name, "join", user)
}

// Leave has a user, or the bot, leave a room.
func (s *Server) Leave(room, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.member(room, user, "", "leave", user)
}

// Encrypt makes a room one whose messages are encrypted.
func (s *Server) Encrypt(room string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms[room].encrypted = true
}

// Joined reports whether the bot is in the room.
func (s *Server) Joined(room string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[room]
	return r != nil && r.members[BotID].membership == "join"
}

// Redact has the sender of a message take it away.
func (s *Server) Redact(room, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.find(room, message); e != nil {
		e.redacted = true
	}
}

// Message is a message of the bot as it stands in its room now.
type Message struct {
	ID, Room, Kind, Text, HTML string
	Thread, Answers            string
	Transaction                string
	Mentions                   any // m.mentions
	FileName, File             string
	// Reactions are those of the bot.
	Reactions []string
}

// Sent are the messages of the bot as they stand in the rooms now, in order.
func (s *Server) Sent() (all []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		rel := relationOf(e.content)
		if e.sender != BotID || e.typed != "m.room.message" || e.redacted || rel.kind == "m.replace" {
			continue
		}
		content := e.content
		for _, edit := range s.events {
			if r := relationOf(edit.content); edit.room == e.room && edit.sender == BotID && !edit.redacted && r.kind == "m.replace" && r.about == e.id {
				if now, is := edit.content["m.new_content"].(fields); is {
					content = now
				}
			}
		}
		text := func(of fields, key string) string { value, _ := of[key].(string); return value }
		m := Message{
			ID: e.id, Room: e.room, Kind: text(content, "msgtype"), Text: text(content, "body"), HTML: text(content, "formatted_body"),
			Transaction: e.transaction, Mentions: content["m.mentions"], Reactions: s.reactions(e.room, e.id),
		}
		if rel.kind == "m.thread" {
			m.Thread = rel.about
		}
		to, _ := e.content["m.relates_to"].(fields)
		answers, _ := to["m.in_reply_to"].(fields)
		m.Answers = text(answers, "event_id")
		if f, is := s.media[text(content, "url")]; is {
			m.File, m.FileName = f.content, text(content, "filename")
		}
		all = append(all, m)
	}
	return all
}

// reactions are the bot's on a message; the lock is held.
func (s *Server) reactions(room, message string) (keys []string) {
	for _, e := range s.events {
		if r := relationOf(e.content); e.room == room && e.sender == BotID && !e.redacted && r.kind == "m.annotation" && r.about == message {
			keys = append(keys, r.key)
		}
	}
	return keys
}

// Reactions are the bot's on a message of a room.
func (s *Server) Reactions(room, message string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reactions(room, message)
}

// Types reports whether a room shows that the bot types.
func (s *Server) Types(room string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rooms[room].typing
}

// Syncs is how many calls of /sync there were.
func (s *Server) Syncs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.syncs
}

// Kept is the account data of this type.
func (s *Server) Kept(typed string) json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accountData[typed]
}

// Forget has the server know no token of /sync from before, or know them again.
func (s *Server) Forget(forgets bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgets = forgets
}

// Age makes the server one from before Matrix 1.11, whose files are at another place.
func (s *Server) Age() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.old = true
}

// Calls are the calls that begin with call, e.g. "PUT /_matrix/client/v3/rooms/"; all with an empty one.
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

// Fail answers the calls that begin with call, such as "PUT /_matrix/client/v3/rooms/", with f, those that wait as well.
func (s *Server) Fail(call string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[call] = &f
	close(s.changed)
	s.changed = make(chan struct{})
}

// Heal ends every fault.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.faults)
}

// fault is the fault of a call: of several the one with the longest name.
func (s *Server) fault(call string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, prefix := range slices.SortedFunc(maps.Keys(s.faults), func(a, b string) int { return len(b) - len(a) }) {
		if f := s.faults[prefix]; strings.HasPrefix(call, prefix) {
			if f.Times > 0 {
				if f.Times--; f.Times == 0 {
					delete(s.faults, prefix)
				}
			}
			return *f, true
		}
	}
	return Fault{}, false
}
