package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Health is the state of a store's writing. It comes from memory alone: reading it never waits for the disk.
type Health struct {
	// Err is why nothing can be written: the last write failed and no row was written since, or the store accepts no more
	// writes (ErrDisplaced, *DamagedError). It is nil while writing works, as far as the store knows (HF13).
	Err error
	// Since is when Err was first seen.
	Since time.Time
	// Running is how long the transaction under way has taken; 0: none is.
	Running time.Duration
	// P99 is the 99th percentile of the time of the transactions that ended within paceWindow. Transactions is how many
	// those are, and Slow how many of them took slowTransaction or longer.
	P99                time.Duration
	Transactions, Slow int
}

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

// Health returns what the store knows of its writing at now.
func (s *Store) Health(now time.Time) Health {
	h := &s.health
	h.mu.Lock()
	defer h.mu.Unlock()
	out := Health{Err: h.err, Since: h.since}
	if !h.begun.IsZero() {
		out.Running = max(now.Sub(h.begun), 0)
	}
	var recent []time.Duration
	for _, p := range h.took {
		if !p.ended.IsZero() && now.Sub(p.ended) < paceWindow {
			recent = append(recent, p.took)
			if p.took >= slowTransaction {
				out.Slow++
			}
		}
	}
	if out.Transactions = len(recent); len(recent) > 0 {
		slices.Sort(recent)
		out.P99 = recent[(len(recent)*99+99)/100-1]
	}
	return out
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

// Stall bounds a write that must survive the end of its turn: it fails when the store has finished no transaction for this
// long. One transaction costs up to four fsyncs (the log's header, the commit, and two of a checkpoint), so a disk that
// takes 3 s for each is slow and not stalled (HF22).
const Stall = 20 * time.Second

// Patient is ctx without its end, for a write that must outlast its turn and a slow disk. It ends after a Stall.
func (s *Store) Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return s.Patience(context.WithoutCancel(ctx), Stall)
}

// Patience returns a context for writes that must outlast a slow disk. It ends when ctx does, or when the writer has
// finished no transaction for bound. A write may wait behind others while each of them ends in time (HF22). Its cause is
// then a context.DeadlineExceeded with that text. The caller calls the returned function when it is done.
func (s *Store) Patience(ctx context.Context, bound time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	began := time.Since(s.opened)
	var mu sync.Mutex // orders the assignment of timer and its first call
	var timer *time.Timer
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		still := time.Since(s.opened) - max(began, time.Duration(s.health.moved.Load()))
		if still < bound {
			timer.Reset(bound - still)
			return
		}
		cancel(fmt.Errorf("the store has finished no write for %s: %w", bound, context.DeadlineExceeded))
	}
	mu.Lock()
	timer = time.AfterFunc(bound, look)
	mu.Unlock()
	return ctx, func() {
		timer.Stop()
		cancel(context.Canceled)
	}
}
