package gateway

import "sync"

// seenKept is how many messages are remembered: far more than a platform delivers again after a lost confirmation.
const seenKept = 8192

// seen remembers the messages that were taken by their names on their platforms, so that one that is delivered again is
// not worked on twice (field notes, E15). It remembers for one life.
type seen struct {
	mu    sync.Mutex
	ids   map[string]string // our id by the platform's name
	names [seenKept]string  // a ring, oldest at next
	next  int
}

func newSeen() *seen { return &seen{ids: map[string]string{}} }

// take claims name for the message id. If the name was claimed before it reports false, and for which message.
func (s *seen) take(name, id string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, again := s.ids[name]; again {
		return before, false
	}
	delete(s.ids, s.names[s.next])
	s.ids[name], s.names[s.next] = id, name
	s.next = (s.next + 1) % seenKept
	return id, true
}

// drop lets go of a claim: the message was refused, and may come again.
func (s *seen) drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.ids, name)
}
