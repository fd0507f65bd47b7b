package model

import (
	"context"
	"sync"

	"gatewaytui/core/limit"
)

// Slots bounds how many model calls run at once, over all endpoints. A call that finds no slot waits in a limit.Queue: the
// slots that become free go to the sessions in turn.
//
// Its methods may be called from any goroutine. Make one with NewSlots.
type Slots struct {
	mu   sync.Mutex
	most int
	free int
	// waiting has a channel for each call that waits, which is closed when the call has its slot.
	waiting limit.Queue[chan struct{}]
}

// NewSlots returns n free slots; n is at least 1.
func NewSlots(n int) *Slots {
	return &Slots{most: max(n, 1), free: max(n, 1)}
}

// Acquire takes a slot for a call of session and returns the function that gives it back, which may be called more than
// once. Where none is free it calls wait first, which may be nil, and then waits until the slots come to this call or ctx
// ends. The error is ctx's cause. A stop does not end the wait: a turn that waits is a running turn, which the drain lets
// finish and which its end interrupts.
func (s *Slots) Acquire(ctx context.Context, session string, wait func()) (release func(), err error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.free > 0 { // no call waits while a slot is free
		s.free--
		s.mu.Unlock()
		return sync.OnceFunc(s.release), nil
	}
	granted := make(chan struct{})
	place := s.waiting.Push(session, granted)
	s.mu.Unlock()
	if wait != nil {
		wait()
	}
	select {
	case <-granted:
		return sync.OnceFunc(s.release), nil
	case <-ctx.Done():
		s.leave(granted, place)
		return nil, context.Cause(ctx)
	}
}

// Waiting is how many calls wait.
func (s *Slots) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting.Len()
}

// Used is how many calls run.
func (s *Slots) Used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most - s.free
}

// leave takes a call out of the queue that no longer wants a slot; one that it was given meanwhile goes to the next call.
func (s *Slots) leave(granted chan struct{}, place limit.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-granted:
		s.pass()
	default:
		s.waiting.Remove(place)
	}
}

func (s *Slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass()
}

// pass gives a slot to the call that is served next. s.mu is held.
func (s *Slots) pass() {
	granted, some := s.waiting.Pop()
	if !some {
		s.free++
		return
	}
	close(granted)
}
