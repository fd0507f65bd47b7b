package matrixtest

import (
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"slices"
	"strconv"
	"time"
)

// filter is what a /sync is to bring of the rooms' timelines.
type filter struct {
	text  []byte
	types []string
	limit int
}

// readFilter reads a filter.
func readFilter(text []byte) (f filter, ok bool) {
	var in struct {
		Room struct {
			Timeline struct {
				Types []string `json:"types"`
				Limit int      `json:"limit"`
			} `json:"timeline"`
		} `json:"room"`
	}
	if json.Unmarshal(text, &in) != nil {
		return f, false
	}
	f = filter{text: text, types: in.Room.Timeline.Types, limit: in.Room.Timeline.Limit}
	if f.limit == 0 {
		f.limit = 10
	}
	return f, true
}

// takes reports whether the filter lets an event through.
func (f filter) takes(e *event) bool {
	return f.types == nil || slices.ContainsFunc(f.types, func(pattern string) bool {
		is, err := path.Match(pattern, e.typed)
		return is && err == nil
	})
}

func (s *Server) keepFilter(body []byte) reply {
	f, ok := readFilter(body)
	if !ok {
		return refuse(http.StatusBadRequest, "M_BAD_JSON")
	}
	s.filters = append(s.filters, f)
	return reply{body: fields{"filter_id": strconv.Itoa(len(s.filters) - 1)}}
}

// filterOf is the filter that a /sync names, or brings along.
func (s *Server) filterOf(named string) (f filter, ok bool) {
	if n, err := strconv.Atoi(named); err == nil && n >= 0 && n < len(s.filters) {
		return s.filters[n], true
	}
	if named == "" {
		named = "{}"
	}
	return readFilter([]byte(named))
}

// place reads a token of /sync or of /messages.
func place(token string) (int, error) {
	if token == "" || token[0] != 's' && token[0] != 't' {
		return 0, errors.New("not a token")
	}
	return strconv.Atoi(token[1:])
}

// sync waits until there is something after since, or for as long as the caller asks. A fault that begins meanwhile is the answer.
func (s *Server) sync(r *http.Request) (out reply, faulty bool, f Fault) {
	q := r.URL.Query()
	wait, _ := strconv.Atoi(q.Get("timeout")) // of nothing it is 0
	limit := time.NewTimer(time.Duration(wait) * time.Millisecond)
	defer limit.Stop()
	over := wait == 0
	for first := true; ; first = false {
		s.mu.Lock()
		if first {
			s.syncs++
		}
		since, err := place(q.Get("since"))
		wanted, ok := s.filterOf(q.Get("filter"))
		if q.Get("since") != "" && (err != nil || s.forgets) || !ok {
			s.mu.Unlock()
			return refuse(http.StatusBadRequest, "M_INVALID_PARAM"), false, f
		}
		rooms, some := s.since(since, wanted)
		changed, next := s.changed, "s"+strconv.Itoa(len(s.events))
		s.mu.Unlock()
		if f, faulty = s.fault(http.MethodGet + " " + r.URL.Path); faulty {
			return out, faulty, f
		}
		if some || over || q.Get("since") == "" {
			return reply{body: fields{"next_batch": next, "rooms": rooms}}, false, f
		}
		select {
		case <-changed:
		case <-limit.C:
			over = true
		case <-r.Context().Done():
			return out, false, f
		case <-s.closed:
			return out, false, f
		}
	}
}

// since is what happened after a place, and whether there is something; the lock is held.
func (s *Server) since(since int, f filter) (rooms fields, some bool) {
	joined, invited, left := fields{}, fields{}, fields{}
	for name, r := range s.rooms {
		switch membership, at := r.members[BotID].membership, s.memberSince(name); {
		case membership == "join":
			from := since
			if at >= since {
				from = 0 // it is new to the bot
			}
			if timeline, some := s.timeline(name, from, f); some || at >= since {
				joined[name] = fields{
					"timeline": timeline, "state": fields{"events": []any{}}, "ephemeral": fields{"events": []any{}}, "account_data": fields{"events": []any{}},
					"unread_notifications": fields{}, "summary": fields{},
				}
			}
		case membership == "invite" && at >= since:
			var state []fields
			for _, e := range s.events {
				if e.room == name && e.state != nil && *e.state == BotID {
					state = append(state, fields{"type": e.typed, "sender": e.sender, "state_key": BotID, "content": e.content})
				}
			}
			invited[name] = fields{"invite_state": fields{"events": state}}
		case membership == "leave" && at >= since:
			left[name] = fields{}
		}
	}
	return fields{"join": joined, "invite": invited, "leave": left}, len(joined)+len(invited)+len(left) > 0
}

// memberSince is the place of the event that made the bot what it is in the room.
func (s *Server) memberSince(room string) int {
	for i, e := range slices.Backward(s.events) {
		if e.room == room && e.typed == "m.room.member" && *e.state == BotID {
			return i
		}
	}
	return -1
}

// timeline is what happened in a room from a place on: the last events, and whether there were more.
func (s *Server) timeline(room string, from int, f filter) (out fields, some bool) {
	events, limited, prev := []fields{}, false, "t"+strconv.Itoa(len(s.events))
	for i := len(s.events) - 1; i >= from; i-- {
		e := s.events[i]
		if e.room != room || !f.takes(e) {
			continue
		}
		if len(events) == f.limit {
			limited = true
			break
		}
		events = append(events, e.described(false))
		prev = "t" + strconv.Itoa(i)
	}
	slices.Reverse(events)
	return fields{"events": events, "limited": limited, "prev_batch": prev}, len(events) > 0
}
