package discordtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Says is a message from a person. The zero value of a field is what a message to the bot alone has.
type Says struct {
	// ID is the message's; empty takes the next.
	ID string
	// User is who speaks, Name what that person is called.
	User, Name string
	// Channel is where; empty is the person's own channel with the bot, whose id is 7 and the person's.
	Channel string
	// Guild is the guild that Channel is in.
	Guild string
	Text  string
	// Mentions are the users that the message names.
	Mentions []string
	// Answers is the author of the message that this one answers, Quoted its text.
	Answers, Quoted string
	Bot             bool
	// Type is the type of the message, 0 for what a person writes.
	Type int
	// Files are the names of the files that came with it, and what is in them.
	Files map[string]string
}

// Say has a person write a message and returns its id.
func (s *Server) Say(m Says) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.ID == "" {
		m.ID = s.nextID()
	}
	if m.Channel == "" {
		m.Channel = "7" + m.User
	}
	person := func(id, name string, bot bool) fields {
		return fields{"id": id, "username": name, "discriminator": "0", "global_name": nil, "avatar": nil, "bot": bot}
	}
	mentions := []any{}
	for _, id := range m.Mentions {
		mentions = append(mentions, person(id, "user"+id, id == BotID))
	}
	attachments := []any{}
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		path := "/files/" + s.nextID() + "/" + name
		s.files[path] = m.Files[name]
		attachments = append(attachments, fields{
			"id": s.nextID(), "filename": name, "size": len(m.Files[name]), "content_type": "text/plain",
			"url": strings.TrimSuffix(s.URL, "/api") + path, "proxy_url": strings.TrimSuffix(s.URL, "/api") + path,
		})
	}
	event := fields{
		"id": m.ID, "channel_id": m.Channel, "content": m.Text, "author": person(m.User, m.Name, m.Bot), "type": m.Type, "timestamp": now(),
		"edited_timestamp": nil, "mentions": mentions, "mention_roles": []any{}, "attachments": attachments, "embeds": []any{}, "tts": false,
		"pinned": false, "mention_everyone": false, "flags": 0, "channel_type": 1,
	}
	if m.Guild != "" {
		event["guild_id"], event["member"], event["channel_type"] = m.Guild, fields{"nick": nil, "roles": []any{}, "joined_at": now()}, 0
	}
	if m.Answers != "" {
		event["type"] = 19
		event["message_reference"] = fields{"message_id": "1", "channel_id": m.Channel}
		event["referenced_message"] = fields{"id": "1", "channel_id": m.Channel, "content": m.Quoted, "author": person(m.Answers, "user"+m.Answers, m.Answers == BotID), "type": 0}
	}
	s.said[m.ID] = event
	s.dispatch("MESSAGE_CREATE", event)
	return m.ID
}

// Change has the person who wrote a message change its text.
func (s *Server) Change(message, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	event := maps.Clone(s.said[message])
	event["content"], event["edited_timestamp"] = text, now()
	s.said[message] = event
	s.dispatch("MESSAGE_UPDATE", event)
}

// Press has a person press a button with this custom id in a channel.
func (s *Server) Press(user, at, customID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interact(user, at, 3, fields{"component_type": 2, "custom_id": customID})
}

// Use has a person use a command of the menu in a channel, with what stands behind it.
func (s *Server) Use(user, at, name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interact(user, at, 2, fields{"id": "1", "type": 1, "name": name, "options": []any{fields{"name": "text", "type": 3, "value": text}}})
}

// interact sends an interaction of this type; the lock is held.
func (s *Server) interact(user, at string, kind int, data fields) {
	event := fields{
		"id": s.nextID(), "application_id": BotID, "type": kind, "token": "interaction-token", "version": 1, "channel_id": at,
		"user": fields{"id": user, "username": "user" + user}, "data": data, "channel": channel(at), "entitlements": []any{},
		"authorizing_integration_owners": fields{},
	}
	if kind == 3 {
		event["message"] = s.described(Message{ID: "1", Channel: at})
	}
	s.dispatch("INTERACTION_CREATE", event)
}

// Reactions are the bot's on a message.
func (s *Server) Reactions(message string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reactions[message])
}

// Answered is what the bot answered interactions with, in order.
func (s *Server) Answered() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answered)
}

// Menu are the names of the commands of the bot's menu.
func (s *Server) Menu() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.menu {
		name, _ := c["name"].(string)
		names = append(names, name)
	}
	return names
}

// Dispatch sends an event of this type as it is.
func (s *Server) Dispatch(kind string, data json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(kind, data)
}

// Drop closes every connection, with a close code unless that is 0.
func (s *Server) Drop(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		s.end(conn, code)
	}
}

// Reconnect asks every bot for a new connection.
func (s *Server) Reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		s.write(conn, frame{Op: 7})
	}
}

// Invalidate says that the session is over, or, with resumable, that the bot may go on with it.
func (s *Server) Invalidate(resumable bool) {
	s.Frame(`{"op":9,"d":` + strconv.FormatBool(resumable) + `}`)
}

// Frame sends a frame to every bot as it is.
func (s *Server) Frame(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		send(conn, []byte(text))
	}
}

// Beats are the sequences of the heartbeats of bots, "null" for none.
func (s *Server) Beats() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.beats)
}

// Forget ends the session, so that a RESUME is refused.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = ""
}

// Refuse closes the next connections with this code when they identify; 0 takes them again.
func (s *Server) Refuse(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = code
}

// Deafen answers no heartbeat from now on, or each one again.
func (s *Server) Deafen(deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = deaf
}

// Interval is how often the next connections send a heartbeat.
func (s *Server) Interval(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interval = d
}

// Fail answers the calls that begin with call, such as "POST /channels/", with f.
func (s *Server) Fail(call string, f Fault) { s.faults.Put(call, f, f.Times) }

// Heal ends every fault of calls.
func (s *Server) Heal() { s.faults.Heal() }

// Sent are the messages of the bot as they stand in the channels now, in order.
func (s *Server) Sent() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// Calls are the REST calls that begin with call, e.g. "POST /channels/"; all with an empty one.
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

// Identifies are the IDENTIFY payloads, and Resumes how many sessions were resumed.
func (s *Server) Identifies() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.identifies)
}

// Resumes is how many RESUMEs were taken.
func (s *Server) Resumes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resumes
}

// Connections is how many connections of the gateway are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

func (s *Server) file(path string) (content string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, ok = s.files[path]
	return content, ok
}
