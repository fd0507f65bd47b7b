package discordtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// frame is one frame of the gateway, in either direction.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int            `json:"s"`
	Type *string         `json:"t"`
}

func (s *Server) gatewayURL() string {
	return "ws" + strings.TrimPrefix(strings.TrimSuffix(s.URL, "/api"), "http") + "/gateway"
}

// gateway serves one connection of a bot.
func (s *Server) gateway(w http.ResponseWriter, r *http.Request) {
	s.serves.Add(1)
	defer s.serves.Done()
	conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	s.mu.Lock() // which every write to the connection holds
	s.conns[conn] = false
	interval, refuse := s.interval, s.refuse
	select {
	case <-s.closed:
		refuse = 1001
	default:
	}
	s.write(conn, frame{Op: 10, Data: encode(fields{"heartbeat_interval": interval.Milliseconds()})})
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		conn.Close()
	}()
	for {
		var f frame
		if conn.ReadJSON(&f) != nil {
			return
		}
		if (f.Op == 2 || f.Op == 6) && refuse != 0 {
			s.end(conn, refuse)
			return
		}
		if !s.answer(conn, f) {
			return
		}
	}
}

// answer handles one frame of a bot, and reports whether the connection goes on.
func (s *Server) answer(conn *websocket.Conn, f frame) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	var hello struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	_ = json.Unmarshal(f.Data, &hello) // a heartbeat is none
	if (f.Op == 2 || f.Op == 6) && strings.TrimPrefix(hello.Token, "Bot ") != s.token {
		s.end(conn, 4004)
		return false
	}
	switch f.Op {
	case 1:
		s.beats = append(s.beats, string(f.Data))
		if !s.deaf {
			s.write(conn, frame{Op: 11})
		}
	case 2:
		s.identifies = append(s.identifies, f.Data)
		s.session, s.events = "session-"+s.nextID(), nil
		s.conns[conn] = true
		s.dispatch("READY", fields{
			"v": 10, "user": self(), "guilds": []any{}, "session_id": s.session, "resume_gateway_url": s.gatewayURL(),
			"application": fields{"id": BotID, "flags": 0}, "shard": []int{0, 1}, "private_channels": []any{}, "relationships": []any{},
		})
	case 6:
		if hello.Session != s.session || hello.Seq > len(s.events) {
			s.write(conn, frame{Op: 9, Data: encode(false)})
			return true
		}
		s.resumes++
		for i := hello.Seq; i < len(s.events); i++ {
			send(conn, s.events[i])
		}
		s.conns[conn] = true
		s.dispatch("RESUMED", fields{})
	}
	return true
}

// dispatch adds an event to the session and sends it to the bot, if it listens; the lock is held.
func (s *Server) dispatch(kind string, data any) {
	seq := len(s.events) + 1
	event := encode(frame{Data: encode(data), Seq: &seq, Type: &kind})
	s.events = append(s.events, event)
	for conn, identified := range s.conns {
		if identified {
			send(conn, event)
		}
	}
}

func (s *Server) write(conn *websocket.Conn, f frame) { send(conn, encode(f)) }

// send writes one frame. Where that fails, so does the read of the bot's next one.
func send(conn *websocket.Conn, text []byte) {
	if conn.SetWriteDeadline(time.Now().Add(5*time.Second)) == nil {
		_ = conn.WriteMessage(websocket.TextMessage, text)
	}
}

// end closes a connection with a code; 0 closes it without one.
func (s *Server) end(conn *websocket.Conn, code int) {
	if code != 0 {
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second)) // it is closed in any case
	}
	conn.Close()
}

func encode(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}
