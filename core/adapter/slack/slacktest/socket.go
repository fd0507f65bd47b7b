package slacktest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// pace is the time between two pings of the server, and how long it waits for the answer. The first comes at another time than those
// of a client with the same pace: on a network of pipes, which buffer nothing, two pings that meet wait for each other.
const (
	first = 7 * time.Second
	pace  = 20 * time.Second
)

// line is a socket and what is to be sent through it, which the server's lock guards. No lock is held while it is sent.
type line struct {
	socket *websocket.Conn
	out    []json.RawMessage
	wake   chan struct{} // of one
}

// send has a frame sent; the server's lock is held.
func (l *line) send(frame any) {
	l.out = append(l.out, encode(frame))
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// write sends the frames of a socket.
func (s *Server) write(ctx context.Context, l *line) {
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		out := l.out
		l.out = nil
		s.mu.Unlock()
		for _, frame := range out {
			if l.socket.Write(ctx, websocket.MessageText, frame) != nil {
				return // so does the read of the app's next frame
			}
		}
	}
}

// link serves one socket of an app.
func (s *Server) link(w http.ResponseWriter, r *http.Request) {
	s.serves.Add(1)
	defer s.serves.Done()
	s.mu.Lock()
	ticket := r.URL.Query().Get("ticket")
	known, mute := s.tickets[ticket], s.mute
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if f, faulty := s.fault("link"); faulty || !known {
		if !faulty {
			f = Fault{Status: http.StatusForbidden}
		}
		s.fail(w, r, f)
		return
	}
	socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{OnPingReceived: func(context.Context, []byte) bool { return !s.isDeaf() }})
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.life)
	defer cancel()
	l := &line{socket: socket, wake: make(chan struct{}, 1)}
	defer func() { _ = socket.CloseNow() }() // it may be closed
	if !mute {
		s.join(l)
	}
	defer s.leave(l)
	s.serves.Go(func() { s.ping(ctx, socket) })
	s.serves.Go(func() { s.write(ctx, l) })
	for {
		_, text, err := socket.Read(ctx)
		if err != nil {
			return
		}
		s.hear(text)
	}
}

func (s *Server) isDeaf() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deaf
}

// join says hello, and delivers what was not acknowledged.
func (s *Server) join(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets = append(s.sockets, l)
	l.send(fields{
		"type": "hello", "num_connections": len(s.sockets) + s.others, "connection_info": fields{"app_id": "A1"},
		"debug_info": fields{"host": "applink-1", "started": "2026-01-01 00:00:00.000", "build_number": 1, "approximate_connection_time": 18060},
	})
	for i := range s.unacked {
		s.deliver(&s.unacked[i])
	}
}

func (s *Server) leave(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets = slices.DeleteFunc(s.sockets, func(o *line) bool { return o == l })
}

// ping asks a socket whether it is alive, and ends one that is not.
func (s *Server) ping(ctx context.Context, socket *websocket.Conn) {
	for next := first; ; next = pace {
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return
		}
		if s.isDeaf() {
			continue
		}
		within, cancel := context.WithTimeout(ctx, pace)
		err := socket.Ping(within)
		cancel()
		if err != nil {
			_ = socket.CloseNow() // it is dead
			return
		}
	}
}

// hear takes what an app sends: acknowledgements.
func (s *Server) hear(text []byte) {
	var ack struct {
		ID      string          `json:"envelope_id"`
		Payload json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(text, &ack) != nil || ack.ID == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf {
		return
	}
	i := slices.IndexFunc(s.unacked, func(e envelope) bool { return e.id == ack.ID })
	if i < 0 {
		return
	}
	s.unacked = slices.Delete(s.unacked, i, i+1)
	s.acked++
	if len(ack.Payload) > 0 {
		s.answers = append(s.answers, string(ack.Payload))
	}
}

// dispatch sends an envelope; the lock is held.
func (s *Server) dispatch(kind string, payload fields) {
	s.unacked = append(s.unacked, envelope{kind: kind, payload: payload})
	s.deliver(&s.unacked[len(s.unacked)-1])
}

// deliver sends an envelope to the newest socket, if there is one; the lock is held.
func (s *Server) deliver(e *envelope) {
	if len(s.sockets) == 0 {
		return
	}
	e.id = "envelope-" + s.id("")
	frame := fields{"type": e.kind, "envelope_id": e.id, "accepts_response_payload": e.kind != "events_api", "payload": e.payload}
	if e.kind == "events_api" {
		frame["retry_attempt"], frame["retry_reason"] = e.tries, ""
	}
	e.tries++
	s.sockets[len(s.sockets)-1].send(frame)
}

// Drop closes every socket, without a word.
func (s *Server) Drop() {
	s.mu.Lock()
	all := slices.Clone(s.sockets)
	s.mu.Unlock()
	for _, l := range all {
		_ = l.socket.CloseNow() // it is over in any case
	}
}

// Ask asks every app for a new connection, for a reason such as warning, refresh_requested or link_disabled.
func (s *Server) Ask(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.sockets {
		l.send(fields{"type": "disconnect", "reason": reason, "debug_info": fields{"host": "applink-1"}})
	}
}

// Frame sends a text as a frame.
func (s *Server) Frame(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.sockets {
		l.send(json.RawMessage(strings.TrimSpace(text)))
	}
}

// Repeat delivers again what was not acknowledged.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.unacked {
		s.deliver(&s.unacked[i])
	}
}

// Unacked is how many envelopes were not acknowledged, and Acked how many were.
func (s *Server) Unacked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unacked)
}

// Acked is how many envelopes were acknowledged.
func (s *Server) Acked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked
}
