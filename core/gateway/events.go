package gateway

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// eventsKept is how many events can be read again, enough for a client that was away for a few seconds under load.
const eventsKept = 4096

// hub keeps the last events in a ring that readers pull from. Nobody who emits waits for anybody who reads: there is no
// queue per reader, and one that is too slow finds that the oldest are gone.
type hub struct {
	mu   sync.Mutex
	ring [eventsKept]ops.Event
	next uint64 // the sequence number of the next event; the first is 1
	wake chan struct{}
	// missed is how many events readers did not get because they were too slow.
	missed atomic.Uint64
}

func newHub() *hub { return &hub{next: 1, wake: make(chan struct{})} }

// emit adds an event. It never blocks.
func (h *hub) emit(t ops.EventType, subject, text string, data map[string]any) {
	h.mu.Lock()
	h.ring[h.next%eventsKept] = ops.Event{Seq: h.next, At: ops.At(time.Now()), Type: t, Subject: subject, Text: text, Data: data}
	h.next++
	woken := h.wake
	h.wake = make(chan struct{})
	h.mu.Unlock()
	close(woken)
}

// adapterChanged emits the state of an adapter, with the error that brought it there.
func (g *Gateway) adapterChanged(a ops.Adapter) {
	text, data := string(a.State), map[string]any{"state": a.State, "attempt": a.Attempt}
	if cause := term.Clean(a.LastError, 300); cause != "" && a.State != ops.AdapterConnected {
		text, data["error"] = text+": "+cause, cause
	}
	g.events.emit(ops.EventAdapterState, a.Name, text, data)
}

// newest is the sequence number of the newest event, 0 if there is none.
func (h *hub) newest() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next - 1
}

// after returns up to max kept events after seq, how many before them are lost, and what is closed at the next event.
func (h *hub) after(seq uint64, max int) (events []ops.Event, lost uint64, wake <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if seq >= h.next { // a number of another life: begin with what is kept
		seq = 0
	}
	from := seq + 1
	if h.next > eventsKept && from < h.next-eventsKept {
		oldest := h.next - eventsKept
		if seq > 0 {
			lost = oldest - from
		}
		from = oldest
	}
	for ; from < h.next && len(events) < max; from++ {
		events = append(events, h.ring[from%eventsKept])
	}
	return events, lost, h.wake
}

const (
	// skippedEvery is the shortest time between two reports of skipped events to a reader of some kinds.
	skippedEvery = 250 * time.Millisecond
	// gather is how long such a reader waits for more when something has come: it is woken 20 times a second and not at
	// each of some thousand events.
	gather = 50 * time.Millisecond
	// chunk is how many events are taken under one hold of the lock.
	chunk = 256
)

// follow yields the events after seq, then new ones, until ctx ends or over is closed and nothing is left. With kinds it
// yields events of these types, and EventSkipped for the others.
func (h *hub) follow(ctx context.Context, seq uint64, over <-chan struct{}, kinds []ops.EventType) iter.Seq2[ops.Event, error] {
	return func(yield func(ops.Event, error) bool) {
		skipped, told := 0, time.Time{}
		for {
			events, lost, wake := h.after(seq, chunk)
			if lost > 0 {
				gap := ops.Event{
					Seq: seq + lost, At: ops.At(time.Now()), Type: ops.EventDropped, Subject: "events",
					Text: "events were missed: the reader was too slow", Data: map[string]any{"count": lost},
				}
				if !yield(gap, nil) {
					return
				}
			}
			for _, e := range events {
				seq = e.Seq
				if len(kinds) > 0 && !slices.Contains(kinds, e.Type) {
					skipped++
					continue
				}
				if !yield(e, nil) {
					return
				}
			}
			if skipped > 0 && time.Since(told) >= skippedEvery {
				others := ops.Event{
					Seq: seq, At: ops.At(time.Now()), Type: ops.EventSkipped, Subject: "events",
					Text: "events of other types", Data: map[string]any{"count": skipped},
				}
				if skipped, told = 0, time.Now(); !yield(others, nil) {
					return
				}
			}
			if len(events) == chunk || len(events) > 0 && len(kinds) == 0 {
				continue
			}
			if !h.wait(ctx, seq, over, wake, len(kinds) > 0, skipped > 0) {
				return
			}
		}
	}
}

// wait waits for the next event, gathered with those that follow it at once, and while some were skipped for the time to
// tell of them. It reports false when there will be no more.
func (h *hub) wait(ctx context.Context, seq uint64, over, wake <-chan struct{}, gathers, skipped bool) (more bool) {
	var tell <-chan time.Time
	if skipped {
		tell = time.After(skippedEvery)
	}
	select { // no deadline: a follower waits for as long as its ctx lives
	case <-wake:
	case <-tell:
		return true
	case <-ctx.Done():
		return false
	case <-over:
		return seq < h.newest()
	}
	if gathers {
		select {
		case <-time.After(gather):
		case <-ctx.Done():
			return false
		case <-over:
		}
	}
	return true
}
