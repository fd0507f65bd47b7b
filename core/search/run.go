package search

import (
	"context"
	"errors"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// The pace of the goroutine.
const (
	// New messages are taken once the store was not written to for so long: turns go first, and one step takes the messages of many.
	gather = 250 * time.Millisecond
	// mostBehind is how long turns that never end keep a new message from being taken.
	mostBehind = 3 * time.Second
	// A piece of a step is followed by a pause of as many times its duration, so that turns have the processor and the disk: for what is
	// new, for the rest, and for the rest while the store is written to.
	pauseNewer, pauseOlder, pauseBusy = 2, 3, 12
	leastPause, mostPause             = 2 * time.Millisecond, 500 * time.Millisecond
	// idle is how long after its last step the index gives up its connections and what they keep in memory. At a start without
	// work it does so at once.
	idle = 30 * time.Second
	// retry is when a step that failed is tried again.
	retry = 30 * time.Second
)

// warnRebuilt is the code of the warning that the index was made again, warnOff that there is none.
const (
	warnRebuilt = "search.rebuilt"
	warnOff     = "search.off"
)

// run opens the index and fills it until ctx ends.
func (x *Index) run(ctx context.Context) {
	defer func() { x.opened(nil, "the gateway stops") }()
	failed := ""
	var remade time.Time
	for first := true; ctx.Err() == nil; first = false {
		err := x.work(ctx, first)
		if f, is := errors.AsType[forgotten](err); is {
			x.opened(nil, "the index is made again")
			if err = remove(x.o.Path); err == nil {
				f.removed <- nil
				continue
			}
			f.removed <- err
		}
		switch {
		case ctx.Err() != nil || errors.Is(err, store.ErrClosed):
			return
		case remakable(err) && (remade.IsZero() || time.Since(remade) > retry):
			remade = time.Now()
			x.opened(nil, "the index is made again")
			x.o.Warn(warnRebuilt, "the search index is made again: "+term.Clean(err.Error(), 200)+"; searches find older messages as it grows")
			if err = remove(x.o.Path); err == nil {
				continue
			}
		}
		why := term.Clean(err.Error(), 300)
		if x.opened(nil, why); failed == "" {
			x.o.Warn(warnOff, "nothing can be searched until the cause is gone: "+why)
		} else if failed != why {
			x.o.Log.Warn(ops.LogSearchFailed, "error", why)
		}
		failed = why
		select {
		case <-time.After(retry):
		case removed := <-x.forgets:
			removed <- remove(x.o.Path)
		case <-ctx.Done():
			return
		}
	}
}

// opened sets the open file and closes the one before; nil says why there is none.
func (x *Index) opened(f *file, why string) {
	x.mu.Lock()
	before := x.file
	x.file, x.why = f, why
	if f == nil {
		x.building = time.Time{}
	}
	x.mu.Unlock()
	if before != nil {
		if err := before.close(); err != nil {
			x.o.Log.Warn(ops.LogSearchFailed, "error", term.Clean(err.Error(), 300))
		}
	}
}

// work opens the index and fills it until ctx ends or something fails.
func (x *Index) work(ctx context.Context, first bool) error {
	f, err := open(ctx, x.o.Path)
	if err != nil {
		return err
	}
	x.opened(f, "")
	p := &pace{store: x.wake, idle: leastPause}
	fill := &filler{store: x.store, file: f, rest: p.rest}
	if fill.reach, err = f.reach(ctx); err != nil {
		return err
	}
	if first { // messages may have been deleted while no index was open
		fill.swept = fill.reach.high
	}
	for {
		began := time.Now()
		fill.gathers = !p.ripe(began)
		did, err := fill.step(ctx)
		if err != nil {
			return err
		}
		x.note(fill, began)
		behind := fill.newest > fill.reach.high
		if !behind {
			p.waits = time.Time{}
		}
		if p.rested.After(began) {
			began = p.rested
		}
		pause := p.pause(did, time.Since(began))
		switch {
		case did != nothing:
			p.idle = idle
		case behind:
			pause = gather
		default:
			pause = 0
		}
		if err := x.wait(ctx, fill, p, pause); err != nil {
			return err
		}
	}
}

// wait waits for a pause. Without one it waits until the store is written to, and gives up connections after a while. What a search finds
// wrong ends it with that error.
func (x *Index) wait(ctx context.Context, fill *filler, p *pace, pause time.Duration) error {
	over, idle, written := time.After(pause), (<-chan time.Time)(nil), (<-chan struct{})(nil)
	if pause == 0 {
		over, idle, written = nil, time.After(p.idle), x.wake
	}
	for {
		select {
		case <-over:
			return nil
		case <-idle:
			fill.file.rest()
			x.store.Shrink(ctx)
		case <-written:
			p.wrote(time.Now())
			return sleep(ctx, gather)
		case <-x.sweep:
			fill.swept = fill.reach.high
			return nil
		case err := <-x.broken:
			return err
		case removed := <-x.forgets:
			return forgotten{removed}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// forgotten ends the work on an index that has words which must go.
type forgotten struct{ removed chan<- error }

func (forgotten) Error() string { return "messages were deleted" }

// pace says when the goroutine works, and how long it rests. It belongs to that goroutine.
type pace struct {
	store <-chan struct{} // says that the store was written to
	// written is when the store was last written to, as far as is known; waits is since when a new message may wait, zero: none does.
	written, waits time.Time
	rested         time.Time     // when the last rest within a step ended
	idle           time.Duration // how long after the last step the connections are given up
}

// wrote says that the store was written to.
func (p *pace) wrote(now time.Time) {
	p.written = now
	if p.waits.IsZero() {
		p.waits = now
	}
}

// look asks whether the store was written to.
func (p *pace) look(now time.Time) {
	select {
	case <-p.store:
		p.wrote(now)
	default:
	}
}

// ripe reports whether new messages are to be taken now.
func (p *pace) ripe(now time.Time) bool {
	p.look(now)
	return p.waits.IsZero() || now.Sub(p.written) >= gather || now.Sub(p.waits) >= mostBehind
}

// pause is how long to rest after a piece of work.
func (p *pace) pause(did work, took time.Duration) time.Duration {
	now, times := time.Now(), time.Duration(pauseOlder)
	p.look(now)
	switch {
	case did == newer:
		times = pauseNewer
	case now.Sub(p.written) < gather:
		times = pauseBusy
	}
	return min(max(took*times, leastPause), mostPause)
}

// rest rests after a piece of a step that goes on.
func (p *pace) rest(ctx context.Context, did work, took time.Duration) error {
	err := sleep(ctx, p.pause(did, took))
	p.rested = time.Now()
	return err
}

// note keeps what a step has reached.
func (x *Index) note(fill *filler, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.reach = fill.reach
	x.newest = fill.newest
	switch {
	case fill.reach.low <= 1:
		x.building = time.Time{}
	case x.building.IsZero():
		x.building = now
	}
}

// sleep returns the cause of ctx if it ended first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
