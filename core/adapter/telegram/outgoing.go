package telegram

import (
	"context"
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"
)

// chats lets one text at a time into a chat.
type chats struct {
	mu   sync.Mutex
	busy map[address]*queue
}

// queue is a chat with sends under way.
type queue struct {
	turn  chan struct{} // of one
	users int           // with the one who sends; the last takes the queue off the map
}

// enter waits for the chat, and returns how to leave it.
func (s *chats) enter(ctx context.Context, to address) (leave func(), err error) {
	s.mu.Lock()
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
		return nil, ctx.Err()
	}
}

const (
	// maxUnfinished bounds the texts of which only a part was sent and that are remembered.
	maxUnfinished = 256
	// unfinishedFor is for how long. The same words an hour later are a message of their own.
	unfinishedFor = 10 * time.Minute
)

// unfinished are the texts of which a part was sent. It outlives a connection because the next try does.
type unfinished struct {
	mu    sync.Mutex
	texts map[[sha256.Size]byte]progress
}

type progress struct {
	part int // the first that is not known to have arrived
	at   time.Time
}

func (u *unfinished) take(key [sha256.Size]byte) (part int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p, known := u.texts[key]
	delete(u.texts, key)
	if !known || time.Since(p.at) > unfinishedFor {
		return 0
	}
	return p.part
}

func (u *unfinished) put(key [sha256.Size]byte, part int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.texts == nil {
		u.texts = map[[sha256.Size]byte]progress{}
	}
	maps.DeleteFunc(u.texts, func(_ [sha256.Size]byte, p progress) bool { return time.Since(p.at) > unfinishedFor })
	if len(u.texts) >= maxUnfinished {
		delete(u.texts, slices.MinFunc(slices.Collect(maps.Keys(u.texts)), func(a, b [sha256.Size]byte) int {
			return u.texts[a].at.Compare(u.texts[b].at)
		}))
	}
	u.texts[key] = progress{part: part, at: time.Now()}
}
