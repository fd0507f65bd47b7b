package process

import (
	"sync"
	"time"
)

// outOfMemory is the limit that ends a process with SIGKILL.
const outOfMemory = "out of memory: the kernel ended it or a child; use less memory at once, or raise the limit"

// endings counts the processes that the kernel of this machine ended for lack of memory (oom_kill in /proc/vmstat, Linux
// 4.13). A SIGKILL was the kernel's if the count grew at that time.
type endings struct {
	kills func() uint64 // reads the count
	mu    sync.Mutex
	count uint64
	read  time.Time // when the count was read
	grew  time.Time // when it was found to have grown since a recent read
}

const (
	// endingsFresh is how old the previous read may be for the growth to be recent.
	endingsFresh = 3 * sweepEvery
	// endingsPause is how long a read remains valid.
	endingsPause = time.Second
	// endingsNear is how long before the end of a process the growth counts for that process.
	endingsNear = 5 * time.Second
)

// look reads the count, unless it was read just now.
func (e *endings) look(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now.Sub(e.read) >= endingsPause {
		e.note(e.kills(), now)
	}
}

// note is called with mu held.
func (e *endings) note(count uint64, now time.Time) {
	if count > e.count && now.Sub(e.read) < endingsFresh {
		e.grew = now
	}
	e.count, e.read = count, now
}

// recent reports whether the kernel ended a process within endingsNear.
func (e *endings) recent(now time.Time) bool {
	count := e.kills()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.note(count, now)
	return now.Sub(e.grew) < endingsNear
}
