package tui

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// stream is a console whose events can be asked for by type, as the gateway's.
type stream struct {
	*gateway
	mu     sync.Mutex
	events []ops.Event
	few    bool // what was asked for last
}

func (s *stream) emit(kind ops.EventType) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, ops.Event{Seq: uint64(len(s.events) + 1), At: ops.At(time.Now()), Type: kind})
}

func (s *stream) Events(ctx context.Context, after uint64, kinds ...ops.EventType) iter.Seq2[ops.Event, error] {
	return func(yield func(ops.Event, error) bool) {
		for ctx.Err() == nil {
			s.mu.Lock()
			s.few = len(kinds) > 0
			rest := slices.Clone(s.events[after:])
			s.mu.Unlock()
			skipped := 0
			for _, e := range rest {
				if after = e.Seq; len(kinds) > 0 && !slices.Contains(kinds, e.Type) {
					skipped++
				} else if !yield(e, nil) {
					return
				}
			}
			if skipped > 0 && !yield(ops.Event{Seq: after, At: ops.At(time.Now()), Type: ops.EventSkipped, Data: ops.Missed{Count: uint64(skipped)}}, nil) {
				return
			}
			select {
			case <-time.After(250 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
}

// On a busy gateway the feed follows few kinds, without missing one of them; when events are shown it has every one since
// it left the whole stream; and it follows all again when the gateway is quiet.
func TestTheFeedFollowsFewKindsOfABusyGatewayAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{gateway: newGateway()}
		m := newBench(t, s.gateway, Options{}).m
		m.feed = newFeed(s)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.feed.run(ctx)
		}()
		few := func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.few
		}
		load := func(seconds, perSecond int) {
			for i := range seconds * perSecond {
				kind := ops.EventTurnProgress
				if i%perSecond == 7 {
					kind = ops.EventAdapterState
				}
				s.emit(kind)
				time.Sleep(time.Second / time.Duration(perSecond))
				if i%(perSecond/5) == 0 {
					synctest.Wait()
					select {
					case <-m.feed.wake:
						m.feed.nudge()
						m.onBatch(m.feed.next(ctx).(batch))
					default:
					}
				}
			}
		}
		load(3, 20)
		if few() {
			t.Fatal("20 events a second count as many")
		}
		load(5, 500)
		if !few() {
			t.Fatal("500 events a second are all followed")
		}
		states := 0
		for _, e := range m.events {
			if e.Type == ops.EventAdapterState {
				states++
			}
		}
		if states < 7 {
			t.Fatalf("of 8 events that change more than rows came %d", states)
		}
		m.feed.show(true)
		load(2, 500)
		if few() {
			t.Fatal("not every event is followed while events are shown")
		}
		for i, e := range m.events {
			if e.Seq != uint64(i+1) {
				t.Fatalf("event %d is in place %d of the view", e.Seq, i)
			}
		}
		if n := len(m.events); n < 60+2500+500 {
			t.Fatalf("the view has %d events", n)
		}
		m.feed.show(false)
		load(2, 500)
		if !few() {
			t.Fatal("500 events a second are all followed when they are shown no longer")
		}
		load(5, 10)
		if few() {
			t.Fatal("a quiet gateway is not followed in full again")
		}
		for i, e := range m.events {
			if e.Seq != uint64(i+1) {
				t.Fatalf("after the load event %d is in place %d", e.Seq, i)
			}
		}
		cancel()
		<-ended
		m.tasks.end(time.Second)
	})
}
