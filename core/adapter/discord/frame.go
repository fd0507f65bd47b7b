package discord

import (
	"encoding/json"
	"fmt"
	"time"
)

// What a frame is (https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-opcodes).
const (
	opDispatch       = 0 // an event of the session
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// frame is one frame from the gateway.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`

	// event is what Data says; nil where only Op counts.
	event any
}

// decode reads one frame. An event that is not known, or not understood, is an *other, so that its number counts.
func decode(text []byte) (frame, error) {
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		return frame{}, fmt.Errorf("read a frame: %w", err)
	}
	switch f.Op {
	case opDispatch:
		f.event = eventOf(f.Type)
	case opHello:
		f.event = new(hello)
	case opInvalidSession:
		f.event = new(invalid)
	}
	if _, unknown := f.event.(*other); unknown || f.event == nil || len(f.Data) == 0 {
		return f, nil
	}
	if err := json.Unmarshal(f.Data, f.event); err != nil {
		if f.Op != opDispatch || f.Type == "READY" {
			return frame{}, fmt.Errorf("read a frame of type %d: %w", f.Op, err)
		}
		f.event = &other{kind: f.Type, wrong: err}
	}
	return f, nil
}

// eventOf is an empty event of a type.
func eventOf(kind string) any {
	switch kind {
	case "READY":
		return new(ready)
	case "RESUMED":
		return new(resumed)
	case "MESSAGE_CREATE":
		return new(message)
	case "MESSAGE_UPDATE":
		return new(change)
	case "INTERACTION_CREATE":
		return new(interaction)
	}
	return &other{kind: kind}
}

// hello is the beginning of a connection.
type hello struct {
	Interval int64 `json:"heartbeat_interval"` // milliseconds
}

// every is the time between two heartbeats; 0 is none that can be kept.
func (h *hello) every() time.Duration {
	if h.Interval > maxBeat.Milliseconds() {
		return 0
	}
	return time.Duration(h.Interval) * time.Millisecond
}

// invalid is the end of a session, true where Discord would still go on with it.
type invalid bool

// ready is the beginning of a session.
type ready struct {
	User user `json:"user"`
	App  struct {
		ID id `json:"id"`
	} `json:"application"`
	Session string `json:"session_id"`
	Resume  string `json:"resume_gateway_url"`
}

// resumed comes when all events that the bot had missed have come.
type resumed struct{}

// other is an event that is not for the bot, or that was not understood, wrong telling why.
type other struct {
	kind  string
	wrong error
}
