package demo

import (
	"strconv"
	"sync"

	"gatewaytui/core/adapter"
)

// messagesKept is how many messages of a platform can still be edited.
const messagesKept = 1000

// messages are the messages that stand in the chats of a platform, by their numbers.
type messages struct {
	mu       sync.Mutex
	last     int64
	standing map[int64]string
}

// add takes a message and returns its id.
func (s *messages) add(text string) (id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standing == nil {
		s.standing = map[int64]string{}
	}
	s.last++
	s.standing[s.last] = text
	delete(s.standing, s.last-messagesKept)
	return strconv.FormatInt(s.last, 10)
}

// edit replaces a message.
func (s *messages) edit(id, text string) error {
	n, _ := strconv.ParseInt(id, 10, 64) // no message has the number 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, stands := s.standing[n]; !stands {
		return &adapter.RefusedError{Why: "there is no such message"}
	}
	s.standing[n] = text
	return nil
}

func (s *messages) remove(id string) {
	n, _ := strconv.ParseInt(id, 10, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.standing, n)
}
