package telegram

import (
	"sync"
	"time"
)

// maxStrangers bounds the users who may not speak and are remembered; the ones after that are turned away in silence.
const maxStrangers = 4096

// unknownUsers are the users who were turned away.
type unknownUsers struct {
	mu   sync.Mutex
	seen map[int64]struct{}
}

// add reports whether this is the user's first time.
func (s *unknownUsers) add(user int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.seen[user]; known || len(s.seen) >= maxStrangers {
		return false
	}
	s.seen[user] = struct{}{}
	return true
}

const (
	// maxNotices bounds the notices to unknown users that wait. Users beyond it get no answer.
	maxNotices = 16
	// noticePace is the time between two notices to unknown users.
	noticePace = time.Second
)
