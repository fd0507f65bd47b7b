package main

import (
	"context"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views/lines"
)

const (
	// blockerTick is how often a running stop is asked what it waits for.
	blockerTick = 500 * time.Millisecond
	// blockerAgain is how soon a line about the same blocker is repeated.
	blockerAgain = 10 * time.Second
	// maxBlockers is how many blockers are named at once.
	maxBlockers = 10
)

// follower reads a gateway's events and, while it stops, what it waits for.
type follower struct {
	p        *program
	g        ops.Console
	news     chan heard
	stopping bool
	shown    map[string]time.Time // blockers, and when each was last named
	cancel   context.CancelFunc
	reading  sync.WaitGroup
}

type heard struct {
	event ops.Event
	err   error
}

// follow begins to read the events after the given one. The caller closes what it returns.
func (p *program) follow(ctx context.Context, g ops.Console, after uint64) *follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{p: p, g: g, news: make(chan heard), shown: map[string]time.Time{}, cancel: cancel}
	f.reading.Go(func() {
		defer close(f.news)
		for ev, err := range g.Events(ctx, after) {
			select {
			case f.news <- heard{ev, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	return f
}

func (f *follower) close() {
	f.cancel()
	f.reading.Wait()
}

// each shows every event as it comes, and in between what a stop waits for. It returns nil when ctx ends, which is what
// bounds it, and the reader's error when the gateway is gone.
func (f *follower) each(ctx context.Context, show func(ops.Event)) error {
	tick := time.NewTicker(blockerTick)
	defer tick.Stop()
	for {
		select {
		case h, more := <-f.news:
			if !more || ctx.Err() != nil {
				return nil
			}
			if h.err != nil {
				return h.err
			}
			f.stopping = f.stopping || h.event.Type == ops.EventShutdownPhase
			show(h.event)
		case <-tick.C:
			if f.stopping && !f.p.json {
				f.showBlockers(ctx)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// showBlockers names what the running phase waits for, each thing when it is first seen and then now and again.
func (f *follower) showBlockers(ctx context.Context) {
	s, err := f.g.Shutdown(ctx)
	if err != nil {
		return // the events say what is the matter
	}
	phase, running := s.Running()
	if !running {
		return
	}
	now, named, more := time.Now(), 0, 0
	for _, b := range s.Blockers() {
		name := phase.Name + "\x00" + b.Kind + "\x00" + b.ID
		if now.Sub(f.shown[name]) < blockerAgain {
			continue
		}
		f.shown[name] = now
		if named++; named > maxBlockers {
			more++
			continue
		}
		f.p.say("%-11s waits for %s", phase.Name, lines.Blocker(s, b))
	}
	if more > 0 {
		f.p.say("%-11s and for %d more", phase.Name, more)
	}
}
