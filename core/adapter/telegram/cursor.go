package telegram

import "sync"

// maxSeen is how many settled updates are remembered, some forty full polls.
const maxSeen = 4096

// cursor is which updates were settled, in this life and through all its connections.
//
// Ids are compared for being the same, not for being lower: after a week of silence Telegram goes on with a random one,
// and a bot that waits for the next higher would be deaf.
type cursor struct {
	mu   sync.Mutex
	next int64 // what the next poll asks for, which confirms all below; 0 at the beginning: whatever is there
	seen map[int64]struct{}
	ring [maxSeen]int64 // what is in seen, the oldest at at
	at   int
	// The Receiver failed on this update so many times. The cursor does not pass one that is not settled, so that there
	// is never a second.
	failing  int64
	failures int
}

func (c *cursor) offset() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// knows reports whether the update was settled before, and makes sure that it gets confirmed.
func (c *cursor) knows(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.seen[id]; !known {
		return false
	}
	c.next = max(c.next, id+1)
	return true
}

// settled moves past an update.
func (c *cursor) settled(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = id + 1
	if _, known := c.seen[id]; known {
		return
	}
	if c.seen == nil {
		c.seen = make(map[int64]struct{}, 64)
	}
	if len(c.seen) == maxSeen {
		delete(c.seen, c.ring[c.at])
	}
	c.seen[id] = struct{}{}
	c.ring[c.at] = id
	c.at = (c.at + 1) % maxSeen
}

// failed counts a failure on the update and returns how many there were.
func (c *cursor) failed(id int64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failing != id {
		c.failing, c.failures = id, 0
	}
	c.failures++
	return c.failures
}

// maxStrangers bounds the users who may not speak and are remembered; the ones after that are turned away in silence.
const maxStrangers = 4096

// strangers are the users who were turned away.
type strangers struct {
	mu   sync.Mutex
	seen map[int64]struct{}
}

// add reports whether this is the user's first time.
func (s *strangers) add(user int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.seen[user]; known || len(s.seen) >= maxStrangers {
		return false
	}
	if s.seen == nil {
		s.seen = map[int64]struct{}{}
	}
	s.seen[user] = struct{}{}
	return true
}
