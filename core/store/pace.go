package store

import (
	"sync"
	"sync/atomic"
	"time"
)

// paceWindow is how far back Health.P99 looks, and paceKept how many transactions it counts at most.
const (
	paceWindow = time.Minute
	paceKept   = 256
	// slowTransaction is 50 times the duration of a transaction on a spinning disk.
	slowTransaction = time.Second
)

// health is the state behind Health. Only the writer's goroutine changes it.
type health struct {
	// moved is when the writer last finished a transaction, as nanoseconds after Store.opened.
	moved atomic.Int64

	mu    sync.Mutex
	err   error
	since time.Time
	begun time.Time // of the transaction under way; zero: there is none
	took  [paceKept]pace
	next  int // the place of the next entry in took
}

// pace is how long one transaction took, and when it ended.
type pace struct {
	ended time.Time
	took  time.Duration
}

// begin records that a transaction begins.
func (h *health) begin(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun = now
}

// end records that the transaction has ended, and returns how long it took.
func (h *health) end(opened, now time.Time) time.Duration {
	h.moved.Store(int64(now.Sub(opened)))
	h.mu.Lock()
	defer h.mu.Unlock()
	took := now.Sub(h.begun)
	h.took[h.next] = pace{now, took}
	h.next = (h.next + 1) % paceKept
	h.begun = time.Time{}
	return took
}

// set records why nothing can be written; nil: writing works. It reports whether that is a change.
func (h *health) set(err error, now time.Time) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if changed = (err == nil) != (h.err == nil); changed {
		h.since = now
	}
	h.err = err
	return changed
}
