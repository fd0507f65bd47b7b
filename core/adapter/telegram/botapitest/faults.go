package botapitest

import (
	"context"
	"strings"
	"time"
)

// Fault is a way to fail. Its fields combine; the zero value answers as if there were none.
type Fault struct {
	// Code is the error_code of the answer and its HTTP status, e.g. 401, 409, 429, 500.
	Code int
	// Description is the text of the error; empty: the usual one of Code.
	Description string
	// RetryAfter, in seconds, goes with 429.
	RetryAfter int
	// Delay comes before the answer.
	Delay time.Duration
	// Hang never answers and keeps the connection open, until Heal.
	Hang bool
	// Drop does what the call asks for and then drops the connection instead of answering.
	Drop bool
	// After is how many calls pass before the first that fails.
	After int
	// Times is how many calls fail before the fault is over; 0 is until Heal.
	Times int
	// Migrate, with Code 400, is the new id of a group that became a supergroup.
	Migrate int64
}

// Fail makes calls of method fail; an empty method is all of them.
func (s *Server) Fail(method string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[strings.ToLower(method)] = &f
	s.change()
}

// Heal ends all faults. A call that hangs then gets its answer, as it would after a network outage.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = map[string]*Fault{}
	s.healed++
	s.change()
}

// fault applies the fault that is on for method; failed says that nothing but f is to be answered, and with a Code of 0
// nothing at all. Otherwise Drop is still to be applied.
func (s *Server) fault(ctx context.Context, method string) (f Fault, failed bool) {
	s.mu.Lock()
	healed := s.healed
	p := s.faults[method]
	key := method
	if p == nil {
		p, key = s.faults[""], ""
	}
	if p == nil {
		s.mu.Unlock()
		return f, false
	}
	if p.After > 0 {
		p.After--
		s.mu.Unlock()
		return f, false
	}
	f = *p
	if p.Times > 0 {
		if p.Times--; p.Times == 0 {
			delete(s.faults, key)
		}
	}
	s.mu.Unlock()

	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-ctx.Done():
			return Fault{}, true
		}
	}
	if f.Hang {
		err := s.Await(ctx, func(s *Server) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.healed != healed
		})
		return Fault{}, err != nil
	}
	return f, f.Code != 0
}
