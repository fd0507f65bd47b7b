package discord

import "sync"

// session is what Discord needs to go on after the last event that was handled. It outlives the connections of a life.
type session struct {
	mu  sync.Mutex
	now resumable
}

// resumable is a session of Discord's. The zero value is none.
type resumable struct {
	id, url string
	me, app id    // the bot, and the application that it belongs to
	seq     int64 // of the last event that was handled
}

func (s *session) get() resumable {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// begin makes r the session.
func (s *session) begin(r resumable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = r
}

// handled notes that the events of the session up to seq were.
func (s *session) handled(session string, seq int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.id == session {
		s.now.seq = max(s.now.seq, seq)
	}
}

// drop forgets the session.
func (s *session) drop(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.id == session {
		s.now = resumable{}
	}
}

// moved forgets where the session was, because nothing answers there.
func (s *session) moved(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.id == session {
		s.now.url = ""
	}
}
