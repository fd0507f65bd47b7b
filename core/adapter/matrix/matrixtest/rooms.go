package matrixtest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// room is a room with who is in it.
type room struct {
	members   map[string]member
	typing    bool // the bot
	encrypted bool
}

type member struct{ membership, name string }

// event is an event of a room.
type event struct {
	room, id, typed, sender string
	state                   *string
	content, before         fields
	redacted                bool
	at                      time.Time
	transaction             string
}

// add appends an event and wakes every /sync; the lock is held.
func (s *Server) add(e *event) string {
	s.lastID++
	if e.id == "" {
		e.id = "$event" + strconv.Itoa(s.lastID)
	}
	e.at = time.Now()
	s.events = append(s.events, e)
	close(s.changed)
	s.changed = make(chan struct{})
	return e.id
}

// member makes a user a member of a room in this way; the lock is held, or not needed yet.
func (s *Server) member(in, user, name, membership, by string) {
	r := s.rooms[in]
	was := r.members[user]
	if was.membership == membership && was.name == name {
		return
	}
	r.members[user] = member{membership, name}
	var before fields
	if was.membership != "" {
		before = fields{"membership": was.membership, "displayname": was.name}
	}
	s.add(&event{room: in, typed: "m.room.member", sender: by, state: &user, content: fields{"membership": membership, "displayname": name}, before: before})
}

// described is an event as the API has it.
func (e *event) described(withRoom bool) fields {
	out := fields{"event_id": e.id, "type": e.typed, "sender": e.sender, "content": e.content, "origin_server_ts": e.at.UnixMilli()}
	if withRoom {
		out["room_id"] = e.room
	}
	if e.state != nil {
		out["state_key"] = *e.state
	}
	unsigned := fields{}
	if e.before != nil {
		unsigned["prev_content"] = e.before
	}
	if e.redacted {
		out["content"] = fields{}
		unsigned["redacted_because"] = fields{"type": "m.room.redaction", "sender": e.sender, "event_id": "$redaction", "content": fields{}}
	}
	if e.transaction != "" && e.sender == BotID {
		unsigned["transaction_id"] = e.transaction
	}
	out["unsigned"] = unsigned
	return out
}

// find is an event by its id; nil: there is none.
func (s *Server) find(room, id string) *event {
	i := slices.IndexFunc(s.events, func(e *event) bool { return e.room == room && e.id == id })
	if i < 0 {
		return nil
	}
	return s.events[i]
}

// inRoom is a call about a room; the lock is held.
func (s *Server) inRoom(r *http.Request, in, what string, rest []string, body []byte) reply {
	known := s.rooms[in]
	if known == nil || known.members[BotID].membership != "join" {
		if what == "join" {
			return s.join(in)
		}
		return refuse(http.StatusForbidden, "M_FORBIDDEN")
	}
	switch {
	case what == "joined_members":
		return known.joined()
	case what == "send" && len(rest) == 2:
		return s.send(in, rest[0], rest[1], body)
	case what == "redact" && len(rest) == 2:
		return s.redact(in, rest[0])
	case what == "typing":
		known.typing = strings.Contains(string(body), `"typing":true`)
		return reply{}
	case what == "event" && len(rest) == 1:
		if e := s.find(in, rest[0]); e != nil {
			return reply{body: e.described(true)}
		}
	case what == "relations" && len(rest) == 3:
		return s.relations(in, rest[0], rest[1], rest[2])
	case what == "messages":
		return s.messages(r, in)
	case what == "state" && strings.Join(rest, "/") == "m.room.encryption" && known.encrypted:
		return reply{body: fields{"algorithm": "m.megolm.v1.aes-sha2"}}
	}
	return refuse(http.StatusNotFound, "M_NOT_FOUND")
}

// joined are who is in the room.
func (r *room) joined() reply {
	joined := fields{}
	for user, m := range r.members {
		if m.membership == "join" {
			joined[user] = fields{"display_name": m.name, "avatar_url": nil}
		}
	}
	return reply{body: fields{"joined": joined}}
}

// join makes the bot a member of a room that it was invited to.
func (s *Server) join(in string) reply {
	r := s.rooms[in]
	if r == nil || r.members[BotID].membership != "invite" && r.members[BotID].membership != "join" {
		return refuse(http.StatusForbidden, "M_FORBIDDEN")
	}
	s.member(in, BotID, BotName, "join", BotID)
	return reply{body: fields{"room_id": in}}
}

// send takes an event of the bot. A transaction that is known gives the event that it made.
func (s *Server) send(in, typed, transaction string, body []byte) reply {
	call := in + " " + typed + " " + transaction
	if id, is := s.transactions[call]; is {
		return reply{body: fields{"event_id": id}}
	}
	var content fields
	if json.Unmarshal(body, &content) != nil {
		return refuse(http.StatusBadRequest, "M_BAD_JSON")
	}
	if len(body) > 65000 {
		return refuse(http.StatusRequestEntityTooLarge, "M_TOO_LARGE")
	}
	rel := relationOf(content)
	if rel.kind == "m.annotation" {
		for _, e := range s.events {
			if other := relationOf(e.content); e.room == in && e.sender == BotID && !e.redacted && other == rel {
				return refuse(http.StatusBadRequest, "M_DUPLICATE_ANNOTATION")
			}
		}
	}
	id := s.add(&event{room: in, typed: typed, sender: BotID, content: content, transaction: transaction})
	s.transactions[call] = id
	return reply{body: fields{"event_id": id}}
}

// redact takes away the content of an event.
func (s *Server) redact(in, id string) reply {
	e := s.find(in, id)
	if e == nil {
		return refuse(http.StatusNotFound, "M_NOT_FOUND")
	}
	e.redacted = true
	return reply{body: fields{"event_id": s.add(&event{room: in, typed: "m.room.redaction", sender: BotID, content: fields{"redacts": id}})}}
}

// relation is how an event relates to another one.
type relation struct{ kind, about, key string }

func relationOf(content fields) (r relation) {
	to, _ := content["m.relates_to"].(fields)
	r.kind, _ = to["rel_type"].(string)
	r.about, _ = to["event_id"].(string)
	r.key, _ = to["key"].(string)
	return r
}

// relations are the events that relate to one, the last first.
func (s *Server) relations(in, about, kind, typed string) reply {
	if s.find(in, about) == nil {
		return refuse(http.StatusNotFound, "M_NOT_FOUND")
	}
	chunk := []fields{}
	for _, e := range slices.Backward(s.events) {
		if r := relationOf(e.content); e.room == in && !e.redacted && r.kind == kind && r.about == about && e.typed == typed {
			chunk = append(chunk, e.described(true))
		}
	}
	return reply{body: fields{"chunk": chunk}}
}

// messages are the events of a room before a place, the last first.
func (s *Server) messages(r *http.Request, in string) reply {
	q := r.URL.Query()
	from, errFrom := place(q.Get("from"))
	to, errTo := place(q.Get("to"))
	limit, err := strconv.Atoi(q.Get("limit"))
	f, ok := readFilter([]byte(`{"room":{"timeline":` + q.Get("filter") + `}}`))
	if errFrom != nil || q.Get("to") != "" && errTo != nil || err != nil || !ok || q.Get("dir") != "b" {
		return refuse(http.StatusBadRequest, "M_INVALID_PARAM")
	}
	chunk, end := []fields{}, ""
	for i := min(from, len(s.events)) - 1; i >= to; i-- {
		if e := s.events[i]; e.room == in && f.takes(e) {
			if len(chunk) == limit {
				end = "t" + strconv.Itoa(i+1)
				break
			}
			chunk = append(chunk, e.described(true))
		}
	}
	out := fields{"chunk": chunk, "start": q.Get("from")}
	if end != "" {
		out["end"] = end
	}
	return reply{body: out}
}
