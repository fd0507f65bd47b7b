package matrix

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"time"
)

const (
	// placeType is the type of the account data that the place is kept under.
	placeType = "org.gatewaytui.sync"
	// maxSeen is how many handled events are remembered.
	maxSeen = 4096
	// maxInvites bounds the invitations that wait.
	maxInvites = 256
)

// place is how far the bot has come, as the account data has it. The homeserver keeps it, because the token for the next batch is
// the homeserver's own.
type place struct {
	Next string `json:"next_batch"`
	// Invites are the rooms that the bot was invited to and has not joined, and who invited it.
	Invites map[string]string `json:"invites,omitempty"`
}

// cursor is what was handled, in this life and through all its connections.
type cursor struct {
	mu    sync.Mutex
	next  string // the token of the next batch; empty: not known
	lost  bool   // the homeserver does not know the token that it keeps
	saved string // what the homeserver keeps
	// due means that something was handled since, which must not be handled again.
	due     bool
	invites map[string]invite
	seen    map[string]struct{} // events
	order   []string            // what is in seen, oldest first
	// An event could not be handled so many times. The cursor does not pass one that is not handled, so that there is never a
	// second.
	failing  string
	failures int
}

// invite is an invitation that waits.
type invite struct {
	by    string
	after time.Time // when it is tried again
}

func (c *cursor) since() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}

// starts reports whether the place that the homeserver keeps is to be read.
func (c *cursor) starts() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next == "" && !c.lost
}

// begin takes the place that the homeserver keeps.
func (c *cursor) begin(p place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next, c.saved, c.due = p.Next, p.Next, false
	for room, by := range p.Invites {
		c.wait(room, invite{by: by})
	}
}

// pass moves to the next batch. due says that something in the last one was handled.
func (c *cursor) pass(next string, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next, c.lost, c.due = next, false, c.due || due
}

// drop forgets the token of the next batch, which the homeserver does not know.
func (c *cursor) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next, c.lost = "", true
}

// knows reports whether the event was handled before, and handled notes that it was.
func (c *cursor) knows(event string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.seen[event]
	return known
}

func (c *cursor) handled(event string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]struct{}{}
	}
	if _, known := c.seen[event]; known {
		return
	}
	c.seen[event] = struct{}{}
	if c.order = append(c.order, event); len(c.order) > maxSeen {
		delete(c.seen, c.order[0])
		c.order = c.order[1:]
	}
}

// failed counts a failure on the event and returns how many there were.
func (c *cursor) failed(event string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failing != event {
		c.failing, c.failures = event, 0
	}
	c.failures++
	return c.failures
}

// waits notes an invitation; wait is that with the lock held.
func (c *cursor) waits(room string, i invite) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wait(room, i)
}

func (c *cursor) wait(room string, i invite) {
	if c.invites == nil {
		c.invites = map[string]invite{}
	}
	if _, known := c.invites[room]; !known && (len(c.invites) >= maxInvites || !knownRoom(room) || !knownUser(i.by)) {
		return
	}
	c.due = c.due || c.invites[room].by != i.by
	c.invites[room] = i
}

// settle forgets an invitation.
func (c *cursor) settle(room string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, waits := c.invites[room]; waits {
		delete(c.invites, room)
		c.due = true
	}
}

// waiting are the invitations that are tried now.
func (c *cursor) waiting(now time.Time) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	due := map[string]string{}
	for room, i := range c.invites {
		if !now.Before(i.after) {
			due[room] = i.by
		}
	}
	return due
}

// unsaved is the place, if the homeserver should be given it: always means that it should be if it has moved at all.
func (c *cursor) unsaved(always bool) (p place, should bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == "" || !c.due && (!always || c.next == c.saved) {
		return p, false
	}
	p = place{Next: c.next, Invites: map[string]string{}}
	for room, i := range maps.All(c.invites) {
		p.Invites[room] = i.by
	}
	return p, true
}

// keeps notes that the homeserver has the place p.
func (c *cursor) keeps(p place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saved = p.Next
	if c.next == p.Next {
		c.due = false
	}
}

// place reads the place that the homeserver keeps; the zero place: it keeps none.
func (a *api) place(ctx context.Context, me string) (p place, err error) {
	err = a.call(ctx, request{verb: http.MethodGet, path: placePath(me), limit: a.p.call}, &p)
	if refusedAs(err, codeNotFound) {
		return place{}, nil
	}
	return p, err
}

// keep gives the homeserver the place, in at most limit.
func (c *conn) keep(ctx context.Context, limit time.Duration, always bool) error {
	p, should := c.p.cursor.unsaved(always)
	if !should {
		return nil
	}
	if err := c.api.call(ctx, request{verb: http.MethodPut, path: placePath(c.me.id), in: p, limit: limit}, nil); err != nil {
		return err
	}
	c.p.cursor.keeps(p)
	return nil
}

func placePath(me string) string { return path(v3, "user", me, "account_data", placeType) }
