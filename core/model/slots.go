package model

import (
	"container/list"
	"context"
	"sync"
)

// Slots bounds how many model calls run at once, over all endpoints. A call that finds no slot waits, and the slots that
// become free go to the sessions in turn: each waiting session gets one before any of them gets a second, in the order in
// which they began to wait. So a session with many waiting calls does not delay the others. Within a session the calls are
// served in their order.
//
// Its methods may be called from any goroutine. Make one with NewSlots.
type Slots struct {
	mu   sync.Mutex
	free int
	// turns has the sessions with waiting calls, the next one to be served first; each value is a *queue.
	turns    *list.List
	sessions map[string]*list.Element
	waiting  int
}

// queue is the waiting calls of one session, oldest first; each value is a *waiter.
type queue struct {
	session string
	calls   *list.List
}

// waiter is one waiting call. granted is closed when it has its slot.
type waiter struct{ granted chan struct{} }

// NewSlots returns n free slots; n is at least 1.
func NewSlots(n int) *Slots {
	return &Slots{free: max(n, 1), turns: list.New(), sessions: map[string]*list.Element{}}
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
	w := &waiter{granted: make(chan struct{})}
	place := s.enqueue(session, w)
	s.mu.Unlock()
	if wait != nil {
		wait()
	}
	select {
	case <-w.granted:
		return sync.OnceFunc(s.release), nil
	case <-ctx.Done():
		s.leave(session, w, place)
		return nil, context.Cause(ctx)
	}
}

// Waiting is how many calls wait.
func (s *Slots) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// enqueue adds w behind the calls of its session. s.mu is held.
func (s *Slots) enqueue(session string, w *waiter) (place *list.Element) {
	turn := s.sessions[session]
	if turn == nil {
		turn = s.turns.PushBack(&queue{session: session, calls: list.New()})
		s.sessions[session] = turn
	}
	s.waiting++
	return turn.Value.(*queue).calls.PushBack(w)
}

// leave takes w, which no longer wants a slot, out of the queue; one that it was given meanwhile goes to the next call.
func (s *Slots) leave(session string, w *waiter, place *list.Element) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.granted:
		s.pass()
		return
	default:
	}
	turn := s.sessions[session]
	q := turn.Value.(*queue)
	q.calls.Remove(place)
	s.waiting--
	if q.calls.Len() == 0 {
		s.turns.Remove(turn)
		delete(s.sessions, session)
	}
}

func (s *Slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass()
}

// pass gives a slot to the session whose turn it is, and that session goes to the end of the line. s.mu is held.
func (s *Slots) pass() {
	turn := s.turns.Front()
	if turn == nil {
		s.free++
		return
	}
	q := turn.Value.(*queue)
	w := q.calls.Remove(q.calls.Front()).(*waiter)
	s.waiting--
	if q.calls.Len() == 0 {
		s.turns.Remove(turn)
		delete(s.sessions, q.session)
	} else {
		s.turns.MoveToBack(turn)
	}
	close(w.granted)
}
