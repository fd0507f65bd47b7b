package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// eventsHeader asks for the gateway's own events in a stream.
const eventsHeader = "X-Gateway-Events"

// maxEvents bounds the events of one answer that wait for a slow reader. The oldest are left out.
const maxEvents = 64

// The names of the events (CONTRACT.md, 4).
const (
	turnEvent     = "gateway.turn"
	progressEvent = "gateway.progress"
	approvalEvent = "gateway.approval"
)

// happening is one event as a client reads it. Type is its name, for clients that read no event line. Choices is empty: clients that
// take every event for a piece of a chat completion find that it has none.
type happening struct {
	Type    string `json:"type"`
	Turn    string `json:"turn"`
	Session string `json:"session,omitempty"`
	// Doing is the step as session rows have it, Text the same for people.
	Doing string   `json:"doing,omitempty"`
	Text  string   `json:"text,omitempty"`
	At    ops.Time `json:"at"`
	// Approval is what the turn asks a person, as rows of the inbox have it.
	Approval *ops.InboxItem `json:"approval,omitempty"`
	Choices  []int          `json:"choices"`
}

// asksForEvents reports whether a request wants the events.
func asksForEvents(h http.Header) bool { return strings.TrimSpace(h.Get(eventsHeader)) == "1" }

// Watch implements adapter.Watcher.
func (x *exchange) Watch(turn, doing string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.watched || x.outcome.ended || x.doing == doing && doing != "" {
		return
	}
	x.doing = doing
	h := happening{Type: progressEvent, Turn: turn, Doing: doing, At: ops.At(time.Now()), Choices: []int{}}
	if doing == "" {
		h.Type, h.Session = turnEvent, x.session
	} else {
		h.Text = ops.StepWords(doing)
	}
	x.happened(h)
}

// happened hands an event to the readers that want them. x.mu is held.
func (x *exchange) happened(h happening) {
	x.events = append(x.events, h)
	if len(x.events) > maxEvents {
		x.events = append(x.events[:0], x.events[1:]...)
		x.eventsGone++
	}
	for _, r := range x.readers {
		if r.events {
			r.signal()
		}
	}
}

// watch lets the reader have the events.
func (r *reader) watch() {
	r.x.mu.Lock()
	defer r.x.mu.Unlock()
	r.events, r.x.watched = true, true
	r.signal()
}

// takeEvents returns the events that came since the last take.
func (r *reader) takeEvents() (text []byte) {
	x := r.x
	x.mu.Lock()
	defer x.mu.Unlock()
	if !r.events {
		return nil
	}
	for i := max(r.seen-x.eventsGone, 0); i < len(x.events); i++ {
		data, _ := json.Marshal(x.events[i]) // strings: it always marshals
		text = append(append(append(text, "event: "+x.events[i].Type+"\ndata: "...), data...), "\n\n"...)
	}
	r.seen = x.eventsGone + len(x.events)
	return text
}
