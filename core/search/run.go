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
	// gather is how long messages gather before they are taken: one step then takes those of many turns.
	gather = 250 * time.Millisecond
	// A step is followed by a pause of as many times its duration, so that turns have the processor and the disk: for what is new,
	// for the rest, and for the rest while the store is written to.
	pauseNewer, pauseOlder, pauseBusy = 2, 3, 12
	leastPause, mostPause             = 2 * time.Millisecond, 500 * time.Millisecond
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
		if !sleep(ctx, retry) {
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
	fill := &filler{store: x.store, file: f}
	if fill.reach, err = f.reach(ctx); err != nil {
		return err
	}
	if first { // messages may have been deleted while no index was open
		fill.swept = fill.reach.high
	}
	for {
		began := time.Now()
		did, err := fill.step(ctx)
		if err != nil {
			return err
		}
		x.note(fill, began)
		took := time.Since(began)
		pause := took * pauseOlder
		switch {
		case did == newer:
			pause = took * pauseNewer
		case did != nothing && x.busy():
			pause = took * pauseBusy
		case did == nothing:
			select {
			case <-x.wake:
				pause = gather
			case <-x.sweep:
				fill.swept = fill.reach.high
			case err := <-x.broken:
				return err
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if !sleep(ctx, min(max(pause, leastPause), mostPause)) {
			return context.Cause(ctx)
		}
	}
}

// busy reports whether the store was written to since the last question.
func (x *Index) busy() bool {
	select {
	case <-x.wake:
		return true
	default:
		return false
	}
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

// sleep reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
