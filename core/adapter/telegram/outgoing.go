package telegram

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"
)

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
