package adapter

import (
	"context"
	"fmt"
	"sync"
)

// Chats lets one text at a time into a chat, K being what names a chat. The zero value is ready.
type Chats[K comparable] struct {
	mu   sync.Mutex
	busy map[K]*queue
}

// queue is a chat with sends under way.
type queue struct {
	turn  chan struct{} // of one
	users int           // with the one who sends; the last takes the queue off the map
}

// Send runs send once m may be sent to the chat: see Enter.
func (s *Chats[K]) Send(ctx context.Context, to K, m Outgoing, send func() (Sent, error)) (Sent, error) {
	leave, err := s.Enter(ctx, to, m)
	if err != nil {
		return Sent{}, err
	}
	defer leave()
	return send()
}

// Enter waits until m, which goes to the chat, may be sent, and returns how to leave the chat. A passing message waits for no other
// one. The error is an *UnsentError.
func (s *Chats[K]) Enter(ctx context.Context, to K, m Outgoing) (leave func(), err error) {
	if m.Passing {
		return func() {}, nil
	}
	s.mu.Lock()
	if s.busy == nil {
		s.busy = map[K]*queue{}
	}
	q := s.busy[to]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		s.busy[to] = q
	}
	q.users++
	s.mu.Unlock()

	forget := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.users--; q.users == 0 {
			delete(s.busy, to)
		}
	}
	select {
	case q.turn <- struct{}{}:
		return func() { <-q.turn; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, &UnsentError{Err: fmt.Errorf("wait for the chat's other messages: %w", ctx.Err())}
	}
}
