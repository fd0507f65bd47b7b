package feishutest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"gatewaytui/core/adapter/feishu/longconn"
)

// Refusal is how a long connection is refused: by the endpoint, or in the handshake with the code that says why.
type Refusal struct {
	Endpoint, Handshake, Auth int
}

// event is one event that a bot has to acknowledge.
type event struct {
	id      string
	payload []byte
	pieces  int
}

const (
	// writeBound is what a write to a bot may take.
	writeBound = 5 * time.Second
	// maxOut is how many frames wait to be written to a bot. Beyond it they are lost, and their events come again.
	maxOut = 4096
)

// line is a long connection with a bot. A frame waits in out, as it would in the buffers of a network.
type line struct {
	conn *websocket.Conn
	born int // a later one has a higher number
	out  chan []byte
}

// write writes what waits, until ctx or the connection ends.
func (l *line) write(ctx context.Context) {
	for {
		select {
		case text := <-l.out:
			bound, cancel := context.WithTimeout(ctx, writeBound)
			err := l.conn.Write(bound, websocket.MessageBinary, text)
			cancel()
			if err != nil {
				return // the read of the bot's next frame fails as well
			}
		case <-ctx.Done():
			return
		}
	}
}

// service is the number of the service in a frame.
const service = 33554678

func (s *Server) endpoint(app, secret string) answer {
	switch {
	case s.refuse != nil && s.refuse.Endpoint != 0:
		return refusedWith(s.refuse.Endpoint, "refused")
	case app != AppID || secret != s.secret:
		return refusedWith(514, "auth failed")
	}
	return answer{data: fields{
		"URL":          "ws" + strings.TrimPrefix(s.URL, "http") + "/line?device_id=" + s.nextID() + "&service_id=" + strconv.Itoa(service),
		"ClientConfig": s.config(),
	}}
}

func (s *Server) config() fields {
	return fields{"ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 1, "PingInterval": int(s.every / time.Second)}
}

// connect serves one long connection of a bot.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	s.serves.Add(1)
	defer s.serves.Done()
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil && refuse.Handshake != 0 {
		w.Header().Set("Handshake-Status", strconv.Itoa(refuse.Handshake))
		w.Header().Set("Handshake-Msg", "refused")
		w.Header().Set("Handshake-Autherrcode", strconv.Itoa(refuse.Auth))
		w.WriteHeader(http.StatusForbidden)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	conn.SetReadLimit(1 << 20)
	l := &line{conn: conn, out: make(chan []byte, maxOut)}
	ctx, cancel := context.WithCancel(context.Background()) // Close and Drop end the read
	var writer sync.WaitGroup
	writer.Go(func() { l.write(ctx) })
	s.mu.Lock()
	s.lines++
	l.born = s.lines
	s.conns[l] = false
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, l)
		s.mu.Unlock()
		_ = conn.CloseNow() // it is over in any case
		cancel()
		writer.Wait()
	}()
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		f, err := longconn.Read(text)
		if err != nil {
			return
		}
		s.hear(l, f)
	}
}

// hear takes one frame of a bot.
func (s *Server) hear(l *line, f longconn.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deaf {
		return
	}
	if f.Method == longconn.Control && f.Header(longconn.HeaderType) == longconn.TypePing {
		l.send(longconn.Frame{
			Service: service, Method: longconn.Control, Headers: []longconn.Header{{Key: longconn.HeaderType, Value: longconn.TypePong}}, Payload: encode(s.config()),
		})
		if !s.conns[l] {
			s.conns[l] = true
			for _, e := range slices.Clone(s.pending) {
				s.push(l, e)
			}
		}
		return
	}
	var said struct {
		Code int `json:"code"`
	}
	if json.Unmarshal(f.Payload, &said) == nil && said.Code == http.StatusOK && f.Header(longconn.HeaderTook) != "" {
		s.pending = slices.DeleteFunc(s.pending, func(e *event) bool { return e.id == f.Header(longconn.HeaderID) })
	}
}

// push sends an event in its frames, the last of them first where there are several.
func (s *Server) push(l *line, e *event) {
	size := (len(e.payload) + e.pieces - 1) / e.pieces
	for i := e.pieces - 1; i >= 0; i-- {
		l.send(longconn.Frame{
			Seq: 1, Log: 2, Service: service, Method: longconn.Data, Payload: e.payload[min(i*size, len(e.payload)):min((i+1)*size, len(e.payload))],
			Headers: []longconn.Header{
				{Key: longconn.HeaderType, Value: longconn.TypeEvent},
				{Key: longconn.HeaderID, Value: e.id},
				{Key: longconn.HeaderSum, Value: strconv.Itoa(e.pieces)},
				{Key: longconn.HeaderSeq, Value: strconv.Itoa(i)},
				{Key: "trace_id", Value: "trace-" + e.id},
			},
		})
	}
}

// send has a frame written.
func (l *line) send(f longconn.Frame) { l.sendRaw(f.Marshal()) }

func (l *line) sendRaw(text []byte) {
	select {
	case l.out <- text:
	default:
	}
}

// newest is the last connection that listens, nil without one: an earlier one may be over without a word.
func (s *Server) newest() (found *line) {
	for l, listens := range s.conns {
		if listens && !s.deaf && (found == nil || l.born > found.born) {
			found = l
		}
	}
	return found
}

// dispatch sends an event to one bot that listens, and keeps it until it is acknowledged; the lock is held.
func (s *Server) dispatch(kind string, data any) string {
	id := s.nextID()
	e := &event{id: "frame-" + id, pieces: s.pieces, payload: encode(fields{
		"schema": "2.0", "header": fields{
			"event_id": "event-" + id, "event_type": kind, "app_id": AppID, "tenant_key": "tenant", "token": "", "create_time": strconv.FormatInt(time.Now().UnixMilli(), 10),
		}, "event": data,
	})}
	s.pending = append(s.pending, e)
	if l := s.newest(); l != nil {
		s.push(l, e)
	}
	return "event-" + id
}
