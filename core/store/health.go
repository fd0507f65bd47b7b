package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

// blame returns err of a call of SQLite as callers must see it. SQLite reports a malformed database when the disk refuses
// a read with EIO (SQLITE_IOERR_CORRUPTFS, https://www.sqlite.org/rescode.html#ioerr_corruptfs). While the last write
// failed because of the disk, such an error also counts as the disk's, and not as damage.
func (s *Store) blame(err error) error {
	err = damaged(s.path, err)
	if _, is := errors.AsType[*DamagedError](err); !is {
		return err
	}
	if last := s.Health(time.Now()).Err; refusedByDisk(last) {
		return last
	}
	return err
}
