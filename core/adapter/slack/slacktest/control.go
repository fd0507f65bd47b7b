package slacktest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Says is a message from a person. The zero value of a field is what a message to the bot alone has.
type Says struct {
	// User is who speaks.
	User string
	// Channel is where; empty is the person's own channel with the bot, whose id is D and the person's.
	Channel string
	// Thread is the time stamp of the first message of the thread, Parent who wrote that.
	Thread, Parent string
	Text           string
	Subtype        string
	Bot            bool
	// Mention has the message come as an app_mention as well.
	Mention bool
	// Files are the names of the files that came with it, and what is in them; Spoken that they are voice messages.
	Files  map[string]string
	Spoken bool
	// Shared is the text of a message that this one passes on.
	Shared string
}

// Say has a person write a message and returns its time stamp.
func (s *Server) Say(m Says) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Channel == "" {
		m.Channel = "D" + m.User
	}
	id := s.stamp()
	event := fields{
		"type": "message", "channel": m.Channel, "user": m.User, "text": m.Text, "ts": id, "event_ts": id, "team": Team,
		"channel_type": "channel", "client_msg_id": s.id("m-"),
		"blocks": []any{fields{"type": "rich_text", "block_id": "x", "elements": []any{}}},
	}
	if strings.HasPrefix(m.Channel, "D") {
		event["channel_type"] = "im"
	}
	if m.Thread != "" {
		event["thread_ts"], event["parent_user_id"] = m.Thread, m.Parent
	}
	if m.Bot {
		event["bot_id"] = "B1"
	}
	if m.Shared != "" {
		event["attachments"] = []any{fields{"text": m.Shared, "is_share": true, "is_msg_unfurl": true, "author_name": "Bob"}}
	}
	var files []any
	for _, name := range slices.Sorted(maps.Keys(m.Files)) {
		id := s.id("F")
		s.files[id] = upload{name, m.Files[name]}
		f := s.file(id, s.files[id])
		if m.Spoken {
			f["subtype"], f["mimetype"] = "slack_audio", "audio/mp4"
		}
		files = append(files, f)
	}
	if len(files) > 0 {
		event["files"], event["subtype"] = files, "file_share"
	}
	if m.Subtype != "" {
		event["subtype"] = m.Subtype
	}
	s.said[m.Channel+" "+id] = event
	s.event(event)
	if m.Mention {
		again := maps.Clone(event)
		again["type"] = "app_mention"
		delete(again, "channel_type")
		s.event(again)
	}
	return id
}

// event sends an event of the workspace; the lock is held.
func (s *Server) event(event fields) {
	s.dispatch("events_api", fields{
		"token": "x", "team_id": Team, "api_app_id": "A1", "type": "event_callback", "event_id": s.id("Ev"), "event_time": 1, "event": event,
		"authorizations": []any{fields{"team_id": Team, "user_id": BotUser, "is_bot": true}},
	})
}

// Change has the person who wrote a message change its text. With edited, Slack says that a person did it.
func (s *Server) Change(channel, message, text string, edited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.said[channel+" "+message]
	now := maps.Clone(before)
	now["text"] = text
	if edited {
		now["edited"] = fields{"user": now["user"], "ts": s.stamp()}
	}
	s.said[channel+" "+message] = now
	s.event(fields{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": channel, "ts": s.stamp(), "message": now, "previous_message": before,
	})
}

// Event sends an event as it is.
func (s *Server) Event(event json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch("events_api", fields{"team_id": Team, "type": "event_callback", "event_id": s.id("Ev"), "event": event})
}

// Press has a person press the button with this label below a message, and reports whether it is there.
func (s *Server) Press(user, message, label string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.sent, func(m Message) bool { return m.ID == message })
	var all []part
	if i < 0 || json.Unmarshal(s.sent[i].Blocks, &all) != nil {
		return false
	}
	m := s.sent[i]
	for _, b := range all {
		for _, button := range b.Elements {
			if b.Type != "actions" || button.label() != label {
				continue
			}
			container := fields{"type": "message", "message_ts": m.ID, "channel_id": m.Channel, "is_ephemeral": false}
			if m.Thread != "" {
				container["thread_ts"] = m.Thread
			}
			s.dispatch("interactive", fields{
				"type": "block_actions", "user": fields{"id": user, "username": "user" + user, "team_id": Team}, "team": fields{"id": Team, "domain": "example"},
				"channel": fields{"id": m.Channel, "name": "general"}, "container": container, "message": m.described(), "trigger_id": s.id("t"), "api_app_id": "A1",
				"actions": []any{fields{"type": "button", "block_id": b.ID, "action_id": button.Action, "value": button.Value, "action_ts": s.stamp(), "text": fields{"type": "plain_text", "text": label}}},
			})
			return true
		}
	}
	return false
}

// Use has a person use a slash command in a channel, with what stands behind it.
func (s *Server) Use(user, channel, name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch("slash_commands", fields{
		"token": "x", "team_id": Team, "team_domain": "example", "channel_id": channel, "channel_name": "general", "user_id": user, "user_name": "user" + user,
		"command": name, "text": text, "api_app_id": "A1", "is_enterprise_install": "false", "response_url": "https://example.com", "trigger_id": s.id("t"),
	})
}

// Reactions are the names of the bot's on a message.
func (s *Server) Reactions(channel, message string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reactions[channel+" "+message])
}

// Answers are the payloads of acknowledgements, in order.
func (s *Server) Answers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// Statuses are what the bot showed next to messages: the channel, the message and the status.
func (s *Server) Statuses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.statuses)
}

// Scopes are those that the bot's token has, with commas between them.
func (s *Server) Scopes(scopes string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scopes = scopes
}

// Deafen answers no ping and takes no acknowledgement from now on, or each one again.
func (s *Server) Deafen(deaf bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deaf = deaf
}

// Mute says no hello to the next sockets, or again.
func (s *Server) Mute(mute bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = mute
}

// Others is how many sockets other programs have.
func (s *Server) Others(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.others = n
}

// Fail answers the calls whose method begins with method, such as "chat.", with f. The socket is "link", an upload "upload". The fault
// that was set last counts.
func (s *Server) Fail(method string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = slices.Insert(s.faults, 0, fault{method, f})
}

// Heal ends every fault.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// fault is a fault of the calls whose method begins so.
type fault struct {
	begins string
	Fault
}

// fault is that of a call, which it uses up once.
func (s *Server) fault(method string) (f Fault, faulty bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.faults, func(f fault) bool { return strings.HasPrefix(method, f.begins) })
	if i < 0 {
		return Fault{}, false
	}
	f = s.faults[i].Fault
	if s.faults[i].Times--; s.faults[i].Times == 0 {
		s.faults = slices.Delete(s.faults, i, i+1)
	}
	return f, true
}

// Sent are the messages of the bot as they stand in the channels now, in order.
func (s *Server) Sent() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// Calls are the calls of the Web API whose method begins with method; all with an empty one.
func (s *Server) Calls(method string) (out []Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if strings.HasPrefix(c.Method, method) {
			out = append(out, c)
		}
	}
	return out
}

// Connections is how many sockets are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}

// Opens is how many sockets were asked for.
func (s *Server) Opens() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opens
}
