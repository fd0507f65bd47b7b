// Package follow reads a gateway's events for a reader that shows lines, and asks in between what a running stop waits for.
//
// What it promises: an event is shown once and in order; each thing that a stop waits for is named when it is first seen and then
// at most once in again; a gateway that is gone ends it with the reader's error.
package follow

import (
	"context"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

const (
	// Tick is how often a running stop is asked what it waits for.
	Tick = 500 * time.Millisecond
	// again is how soon the same blocker is named again.
	again = 10 * time.Second
	// maxBlockers is how many blockers are named at once.
	maxBlockers = 10
)

// Stream reads a gateway's events and, while it stops, what it waits for.
type Stream struct {
	// News has what is read. It is closed when the events end.
	News chan Heard
	// Stopping says that the gateway stops. Each sets it with the first phase of a stop.
	Stopping bool

	console ops.Console
	shown   map[string]time.Time // blockers, and when each was last named
	cancel  context.CancelFunc
	reading sync.WaitGroup
}

// Heard is an event, or why there are no more.
type Heard struct {
	Event ops.Event
	Err   error
}

// Waits is what a running stop waits for that is due to be named.
type Waits struct {
	Shutdown ops.Shutdown
	Phase    string
	Items    []ops.Item
	More     int // that are due and not in Items
}

// Start begins to read the events after the given one, with kinds only those of these types. The caller closes what it returns.
func Start(ctx context.Context, console ops.Console, after uint64, kinds ...ops.EventType) *Stream {
	ctx, cancel := context.WithCancel(ctx)
	f := &Stream{console: console, News: make(chan Heard), shown: map[string]time.Time{}, cancel: cancel}
	f.reading.Go(func() {
		defer close(f.News)
		for ev, err := range console.Events(ctx, after, kinds...) {
			select {
			case f.News <- Heard{ev, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	return f
}

// Close ends the reading and waits for it.
func (f *Stream) Close() {
	f.cancel()
	f.reading.Wait()
}

// Each shows every event as it comes and, unless waits is nil, in between what a stop waits for. It returns nil when ctx ends, which
// is what bounds it, and the reader's error when the gateway is gone.
func (f *Stream) Each(ctx context.Context, show func(ops.Event), waits func(Waits)) error {
	tick := time.Tick(Tick)
	for {
		select {
		case h, more := <-f.News:
			if !more || ctx.Err() != nil {
				return nil
			}
			if h.Err != nil {
				return h.Err
			}
			f.Stopping = f.Stopping || h.Event.Type == ops.EventShutdownPhase
			show(h.Event)
		case <-tick:
			if !f.Stopping || waits == nil {
				continue
			}
			if w, ok := f.due(ctx, maxBlockers, true); ok {
				waits(w)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// One is one thing that the running phase waits for and is due to be named; false if there is none.
func (f *Stream) One(ctx context.Context) (Waits, bool) { return f.due(ctx, 1, false) }

// due is what the running phase waits for and is to be named now, at most so many things; false if there is nothing. With all the
// other things count as named as well.
func (f *Stream) due(ctx context.Context, most int, all bool) (Waits, bool) {
	s, err := f.console.Shutdown(ctx)
	if err != nil {
		return Waits{}, false // the events say what is the matter
	}
	phase, running := s.Running()
	if !running {
		return Waits{}, false
	}
	w, now := Waits{Shutdown: s, Phase: phase.Name}, time.Now()
	for _, b := range s.Blockers() {
		name := phase.Name + "\x00" + b.Kind + "\x00" + b.ID
		switch {
		case now.Sub(f.shown[name]) < again:
			continue
		case len(w.Items) < most:
			w.Items = append(w.Items, b)
		case all:
			w.More++
		default:
			continue
		}
		f.shown[name] = now
	}
	return w, len(w.Items) > 0
}
