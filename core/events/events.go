// Package events keeps the newest events of a gateway and hands them to any number of readers.
//
// Emitting never waits for a reader: a reader that is too slow misses the oldest events and gets their number. The lock of
// a Hub is a leaf: no other lock is taken under it.
package events

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/ops"
)

// kept is how many events can be read again, enough for a client that was away for a few seconds under load.
const kept = 4096

// Hub keeps the newest events in a ring that readers pull from. There is no queue per reader. Its methods may be called
// from any goroutine.
type Hub struct {
	mu   sync.Mutex // guards ring, next and wake
	ring [kept]ops.Event
	next uint64 // the sequence number of the next event; the first is 1
	wake chan struct{}

	closed chan struct{}
	close  sync.Once // of closed
	// missed is how many events readers did not get because they were too slow.
	missed atomic.Uint64
}

// New returns a hub without events.
func New() *Hub { return &Hub{next: 1, wake: make(chan struct{}), closed: make(chan struct{})} }

// Emit adds an event. It never blocks.
func (h *Hub) Emit(t ops.EventType, subject, text string, data ops.Payload) {
	h.mu.Lock()
	h.ring[h.next%kept] = ops.Event{Seq: h.next, At: ops.At(time.Now()), Type: t, Subject: subject, Text: text, Data: data}
	h.next++
	woken := h.wake
	h.wake = make(chan struct{})
	h.mu.Unlock()
	close(woken)
}

// Close says that no event follows: a reader gets those that it has not read yet, and ends. It may be called twice.
func (h *Hub) Close() { h.close.Do(func() { close(h.closed) }) }

// Missed is how many events readers did not get because they were too slow.
func (h *Hub) Missed() uint64 { return h.missed.Load() }

// Newest is the sequence number of the newest event, 0 if there is none.
func (h *Hub) Newest() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next - 1
}

// after returns up to max kept events after seq, how many before them are lost, and what is closed at the next event.
func (h *Hub) after(seq uint64, max int) (events []ops.Event, lost uint64, wake <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if seq >= h.next { // a number of another life: begin with what is kept
		seq = 0
	}
	from := seq + 1
	if h.next > kept && from < h.next-kept {
		oldest := h.next - kept
		if seq > 0 {
			lost = oldest - from
		}
		from = oldest
	}
	for ; from < h.next && len(events) < max; from++ {
		events = append(events, h.ring[from%kept])
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

// Follow yields the events after seq, then new ones, until ctx ends, or until the hub is closed and nothing is left. With
// kinds it yields events of these types, and EventSkipped for the others.
func (h *Hub) Follow(ctx context.Context, seq uint64, kinds ...ops.EventType) iter.Seq2[ops.Event, error] {
	return func(yield func(ops.Event, error) bool) {
		skipped, reported := uint64(0), time.Time{}
		for {
			events, lost, wake := h.after(seq, chunk)
			if lost > 0 {
				h.missed.Add(lost)
				if !yield(missing(ops.EventDropped, seq+lost, "events were missed: the reader was too slow", lost), nil) {
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
			if skipped > 0 && time.Since(reported) >= skippedEvery {
				if !yield(missing(ops.EventSkipped, seq, "events of other types", skipped), nil) {
					return
				}
				skipped, reported = 0, time.Now()
			}
			if len(events) == chunk || len(events) > 0 && len(kinds) == 0 {
				continue
			}
			if !h.wait(ctx, seq, wake, len(kinds) > 0, skipped > 0) {
				return
			}
		}
	}
}

// missing is an event about others that a reader does not get.
func missing(t ops.EventType, seq uint64, text string, count uint64) ops.Event {
	return ops.Event{Seq: seq, At: ops.At(time.Now()), Type: t, Subject: "events", Text: text, Data: ops.Missed{Count: count}}
}

// wait waits for the next event, gathered with those that follow it at once, and while some were skipped for the time to
// tell of them. It reports false when there will be no more.
func (h *Hub) wait(ctx context.Context, seq uint64, wake <-chan struct{}, gathers, skipped bool) (more bool) {
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
	case <-h.closed:
		return seq < h.Newest()
	}
	if gathers {
		select {
		case <-time.After(gather):
		case <-ctx.Done():
			return false
		case <-h.closed:
		}
	}
	return true
}
