package botapitest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Update is a text message from a user to the bot. The zero value of a field leaves it out, or is what a private chat has.
type Update struct {
	// ID is the update_id; 0 takes the next.
	ID   int64
	User int64
	// Chat is the chat's id; 0 is User's private chat. A negative one is a group.
	Chat int64
	// Thread makes it a message of a forum topic.
	Thread   int64
	UserName string
	Text     string
	// Kind is the update's kind; empty is "message".
	Kind string
	// Message replaces or adds fields of the message object, e.g. caption, is_bot users, other kinds of content.
	Message map[string]any
}

// Inject queues an update and returns its id.
func (s *Server) Inject(u Update) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.ID == 0 {
		u.ID = s.nextID
	}
	s.nextID = max(s.nextID, u.ID+1)
	chat := cmp.Or(u.Chat, u.User)
	m := map[string]any{
		"message_id": u.ID, "date": time.Now().Unix(), "chat": chatOf(chat),
		"from": map[string]any{"id": u.User, "is_bot": false, "first_name": "User", "username": u.UserName},
	}
	if u.Text != "" {
		m["text"] = u.Text
	}
	if u.Thread != 0 {
		m["message_thread_id"], m["is_topic_message"] = u.Thread, true
	}
	maps.Copy(m, u.Message)
	s.heard[place{strconv.FormatInt(chat, 10), fmt.Sprint(m["message_id"])}] = true
	s.queue(u.ID, cmp.Or(u.Kind, "message"), m)
	return u.ID
}

// Album injects one message of u's user and chat for each of parts, which are the fields of their Message, as one album.
func (s *Server) Album(u Update, parts ...map[string]any) {
	s.mu.Lock()
	album := fmt.Sprintf("1%016d", s.nextID)
	s.mu.Unlock()
	for _, part := range parts {
		u.Message = maps.Clone(part)
		u.Message["media_group_id"] = album
		s.Inject(u)
	}
}

// queue adds an update. One of a kind that the bot does not want is not made, as from the first getUpdates that said so; the
// lock is held.
func (s *Server) queue(id int64, kind string, content any) {
	if len(s.allowed) > 0 && !slices.Contains(s.allowed, kind) {
		return
	}
	s.updates = append(s.updates, map[string]any{"update_id": id, kind: content})
	s.change()
}

// Unconfirmed is how many updates a bot has not confirmed.
func (s *Server) Unconfirmed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates)
}

// Holding reports whether a getUpdates is held open for want of an update.
func (s *Server) Holding() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holding > 0
}

func (s *Server) getUpdates(w http.ResponseWriter, r *http.Request, args map[string]string) {
	offset, _ := strconv.ParseInt(args["offset"], 10, 64)
	limit, _ := strconv.Atoi(args["limit"])
	if limit < 1 || limit > 100 {
		limit = 100
	}
	seconds, _ := strconv.Atoi(args["timeout"])
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
	defer cancel()

	s.mu.Lock()
	if s.webhook {
		s.mu.Unlock()
		fail(w, Fault{Code: 409, Description: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"})
		return
	}
	if list := args["allowed_updates"]; list != "" {
		s.allowed = nil
		if err := json.Unmarshal([]byte(list), &s.allowed); err != nil {
			s.mu.Unlock()
			refuse(w, "can't parse allowed updates JSON object")
			return
		}
	}
	s.polling++
	mine := s.polling
	s.updates = slices.DeleteFunc(s.updates, func(u map[string]any) bool { return u["update_id"].(int64) < offset })
	s.change()
	s.mu.Unlock()

	s.hold(1)
	defer s.hold(-1)
	var batch []map[string]any
	var cut bool
	_ = s.Await(ctx, func(s *Server) bool { // its error is the end of the poll, which is an answer
		s.mu.Lock()
		defer s.mu.Unlock()
		batch = slices.Clone(s.updates[:min(limit, len(s.updates))])
		cut = s.polling != mine
		return cut || s.closed || len(batch) > 0
	})
	if cut {
		fail(w, Fault{Code: 409, Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"})
		return
	}
	if batch == nil {
		batch = []map[string]any{}
	}
	answer(w, batch)
}

func (s *Server) hold(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding += n
	s.change()
}
