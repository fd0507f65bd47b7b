package telegram

import "sync"

// maxSeen is how many handled updates are remembered, some forty full polls.
const maxSeen = 4096

// cursor is which updates were handled, in this life and through all its connections.
//
// Ids are compared for being the same, not for being lower: after a week of silence Telegram goes on with a random one,
// and a bot that waits for the next higher would be deaf.
type cursor struct {
	mu    sync.Mutex
	next  int64 // what the next poll asks for, which confirms all below; 0 at the beginning: all updates
	seen  map[int64]struct{}
	order []int64 // what is in seen, oldest first
	// The Receiver failed on this update so many times. The cursor does not pass one that is not handled, so that there
	// is never a second.
	failing  int64
	failures int
}

func (c *cursor) offset() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// knows reports whether the update was handled before.
func (c *cursor) knows(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.seen[id]
	return known
}

// handled notes that an update was handled. The next poll confirms it only once pass has moved past it.
func (c *cursor) handled(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.seen[id]; known {
		return
	}
	c.seen[id] = struct{}{}
	if c.order = append(c.order, id); len(c.order) > maxSeen {
		delete(c.seen, c.order[0])
		c.order = c.order[1:]
	}
}

// pass moves past the handled updates at the beginning of a batch, which is in Telegram's order. An update that was handled
// before an earlier one of its batch is not confirmed before the earlier one, because confirming an update confirms all
// before it.
//
// A known update never moves the cursor back: it may come again after the ids began afresh.
func (c *cursor) pass(batch []int64, fresh map[int64]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range batch {
		if _, known := c.seen[id]; !known {
			return
		}
		if fresh[id] {
			c.next = id + 1
		} else {
			c.next = max(c.next, id+1)
		}
	}
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
