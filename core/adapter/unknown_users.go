package adapter

import "sync"

// maxUnknown bounds the users who may not speak and are remembered; the ones after that are turned away in silence.
const maxUnknown = 4096

// UnknownUsers are the users who were turned away, K being what names a user. The zero value is ready.
type UnknownUsers[K comparable] struct {
	mu   sync.Mutex
	seen map[K]struct{}
}

// Add reports whether this is the user's first time.
func (s *UnknownUsers[K]) Add(user K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.seen[user]; known || len(s.seen) >= maxUnknown {
		return false
	}
	if s.seen == nil {
		s.seen = map[K]struct{}{}
	}
	s.seen[user] = struct{}{}
	return true
}
