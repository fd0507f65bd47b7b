package acp

import (
	"cmp"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// row is what an operator sees of a client's program. The client's lock guards it.
type row struct {
	id      string
	state   ops.HeldState
	since   time.Time
	working bool
	problem string // why it could not be ended
}

// Rows implements held.Holder.
func (s *Set) Rows() []ops.Held {
	rows := []ops.Held{}
	for _, c := range s.all(func(*client) bool { return true }) {
		rows = append(rows, c.held())
	}
	slices.SortFunc(rows, func(a, b ops.Held) int { return cmp.Or(a.Since.Compare(b.Since.Time), cmp.Compare(a.ID, b.ID)) })
	return rows
}

// held is the program as an operator sees it.
func (c *client) held() ops.Held {
	c.mu.Lock()
	r, l := c.row, c.link
	c.mu.Unlock()
	h := ops.Held{
		Kind: ops.HeldAgent, ID: r.id, Session: c.session, Owner: Owner, State: r.state, Since: ops.At(r.since),
		Detail: "agent " + c.of.def.Name + ": " + term.Clean(c.of.Name(), 60),
	}
	if l != nil {
		h.Detail = "agent " + c.of.def.Name + ": " + l.detail()
	}
	switch {
	case r.problem != "":
		h.Detail += "; " + r.problem
	case r.working:
		h.Detail += "; works on a turn"
	}
	return h
}

// started records that a program starts under an id.
func (c *client) started(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row = row{id: id, state: ops.HeldStarting, since: time.Now()}
}

// works records that the program has its session, and whether it works on a turn.
func (c *client) works(working bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row.working = working
	if c.row.state == ops.HeldStarting {
		c.row.state = ops.HeldReady
	}
}

// stuck records that the program could not be ended.
func (c *client) stuck(problem string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.row.state, c.row.problem = ops.HeldCloseFailed, term.Clean(problem, 200)
}
