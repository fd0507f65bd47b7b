// Package faults keeps how the double of a service fails the calls of a client, F being a way to fail.
package faults

import (
	"strings"
	"sync"
)

// Set is the faults of a double. The zero value has none. Its methods may be called from any goroutine.
type Set[F any] struct {
	mu  sync.Mutex
	all map[string]*fault[F]
}

type fault[F any] struct {
	how  F
	left int // calls; 0 is all
}

// Put fails the next calls that begin with call; times is how many, and 0 all.
func (s *Set[F]) Put(call string, how F, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[string]*fault[F]{}
	}
	s.all[call] = &fault[F]{how, times}
}

// Take is how a call fails, which it counts; false: it does not.
func (s *Set[F]) Take(call string) (how F, fails bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for begin, f := range s.all {
		if !strings.HasPrefix(call, begin) {
			continue
		}
		if f.left == 1 {
			delete(s.all, begin)
		}
		f.left--
		return f.how, true
	}
	return how, false
}

// Heal ends every fault.
func (s *Set[F]) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.all)
}
