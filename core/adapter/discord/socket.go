package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/diamondburned/arikawa/v3/gateway"
	"github.com/diamondburned/arikawa/v3/utils/ws"
	"github.com/gorilla/websocket"
)

const (
	// maxFrame bounds one frame of the gateway in bytes.
	maxFrame = 8 << 20
	// writeTimeout bounds one write of a frame.
	writeTimeout = 5 * time.Second
)

// errReused ends the library's loop where it would connect again on its own.
var errReused = errors.New("a connection has one socket")

// socket is the one WebSocket of a connection. It implements ws.Connection. That of the library holds up the end of a connection
// for as long as a peer is silent in the handshake, and its reader outlives the connection if an event waits.
type socket struct {
	// life is that of the socket: its end closes it at once, in the handshake too.
	life   context.Context
	dialer websocket.Dialer
	dialed atomic.Bool
	conn   *websocket.Conn
	writer chan struct{} // of one
	reader sync.WaitGroup
}

// newSocket does no I/O. dial is nil for the usual way.
func newSocket(life context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), handshake time.Duration) *socket {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return &socket{
		life: life, writer: make(chan struct{}, 1),
		dialer: websocket.Dialer{
			Proxy: http.ProxyFromEnvironment, HandshakeTimeout: handshake,
			NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				if err == nil {
					context.AfterFunc(life, func() { _ = conn.Close() }) // it is over in any case
				}
				return conn, err
			},
		},
	}
}

// Dial implements ws.Connection. It connects once.
func (s *socket) Dial(ctx context.Context, address string) (<-chan ws.Op, error) {
	if s.dialed.Swap(true) {
		return nil, errReused
	}
	conn, resp, err := s.dialer.DialContext(ctx, address, nil)
	if err != nil {
		if resp != nil {
			return nil, fmt.Errorf("connect to the gateway: HTTP %s", resp.Status)
		}
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	conn.SetReadLimit(maxFrame)
	s.conn = conn
	ops := make(chan ws.Op)
	s.reader.Go(func() { s.read(conn, ops) })
	return ops, nil
}

// read hands on what comes until the socket or its life ends.
func (s *socket) read(conn *websocket.Conn, ops chan<- ws.Op) {
	defer close(ops)
	for {
		op, err := next(conn)
		if err != nil {
			closed := &ws.CloseEvent{Err: err, Code: -1}
			if c, is := errors.AsType[*websocket.CloseError](err); is {
				closed.Code = c.Code
			}
			op = ws.Op{Code: closed.Op(), Type: closed.EventType(), Data: closed}
		}
		select {
		case ops <- op:
		case <-s.life.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// frame is one frame from the gateway.
type frame struct {
	Op   ws.OpCode       `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type ws.EventType    `json:"t"`
}

// next reads one frame. An event that is not known, or not understood, is an *other, so that its number counts.
func next(conn *websocket.Conn) (ws.Op, error) {
	_, text, err := conn.ReadMessage()
	if err != nil {
		return ws.Op{}, err
	}
	return decode(text)
}

func decode(text []byte) (ws.Op, error) {
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		return ws.Op{}, fmt.Errorf("read a frame: %w", err)
	}
	op := ws.Op{Code: f.Op, Type: f.Type, Sequence: f.Seq}
	event := known.Lookup(f.Op, f.Type)
	if event == nil {
		op.Data = &other{op: f.Op, kind: f.Type}
		return op, nil
	}
	op.Data = event()
	if len(f.Data) == 0 {
		return op, nil
	}
	if err := json.Unmarshal(f.Data, op.Data); err != nil {
		if f.Op != dispatch || f.Type == "READY" {
			return ws.Op{}, fmt.Errorf("read a frame of type %d: %w", f.Op, err)
		}
		op.Data = &other{op: f.Op, kind: f.Type, wrong: err}
	}
	return op, nil
}

// dispatch is the code of frames that carry an event.
const dispatch ws.OpCode = 0

// known are the frames that are read.
var known = ws.NewOpUnmarshalers(
	func() ws.Event { return new(gateway.HeartbeatCommand) },
	func() ws.Event { return new(gateway.HeartbeatAckEvent) },
	func() ws.Event { return new(gateway.HelloEvent) },
	func() ws.Event { return new(gateway.ReconnectEvent) },
	func() ws.Event { return new(gateway.InvalidSessionEvent) },
	func() ws.Event { return new(gateway.ResumedEvent) },
	func() ws.Event { return new(ready) },
	func() ws.Event { return new(message) },
	func() ws.Event { return new(change) },
	func() ws.Event { return new(interaction) },
)

// ready is the beginning of a session.
type ready struct {
	User user `json:"user"`
	App  struct {
		ID id `json:"id"`
	} `json:"application"`
	Session string `json:"session_id"`
	Resume  string `json:"resume_gateway_url"`
}

func (*ready) Op() ws.OpCode           { return dispatch }
func (*ready) EventType() ws.EventType { return "READY" }

// other is an event that is not for the bot, or that was not understood, wrong telling why.
type other struct {
	op    ws.OpCode
	kind  ws.EventType
	wrong error
}

func (o *other) Op() ws.OpCode           { return o.op }
func (o *other) EventType() ws.EventType { return o.kind }

// Send implements ws.Connection.
func (s *socket) Send(ctx context.Context, text []byte) error {
	select {
	case s.writer <- struct{}{}:
		defer func() { <-s.writer }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return s.conn.WriteMessage(websocket.TextMessage, text)
}

// Close implements ws.Connection. It closes the socket without a word: a close frame would end the session.
func (s *socket) Close(bool) error {
	if s.conn == nil {
		return ws.ErrWebsocketClosed
	}
	_ = s.conn.Close() // of a socket that is closed already
	return nil
}
