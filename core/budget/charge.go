package budget

import "gatewaytui/core/store"

// Charge is what a write of a turn writes of its calls.
type Charge = store.Charge

// Charge is what the turn's next write must write as well; nil: nothing.
func (t *Turn) Charge() *store.Charge {
	if t == nil {
		return nil
	}
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	return t.charge()
}

// charge is Charge with mu held.
func (t *Turn) charge() *store.Charge {
	if !t.dirty && len(t.lines) == 0 && len(t.notices) == 0 {
		return nil
	}
	t.n++
	c := &store.Charge{Turn: t.who.Turn, N: t.n, Lines: t.lines, Notices: t.notices}
	for _, each := range t.all {
		if each.call != nil {
			c.Reserved = append(c.Reserved, each.call.usage)
			each.call.durable = true
		}
	}
	t.lines, t.notices, t.dirty = nil, nil, false
	return c
}

// giveBack takes a charge back that could not be written.
func (t *Turn) giveBack(c *store.Charge) {
	if c == nil {
		return
	}
	t.l.mu.Lock()
	defer t.l.mu.Unlock()
	t.lines, t.notices, t.dirty = append(c.Lines, t.lines...), append(c.Notices, t.notices...), true
}

// Last is the charge for the write that ends the turn. What was planned is given up, and a call under way counts as cut off.
func (t *Turn) Last() *store.Charge {
	if t == nil {
		return nil
	}
	t.Abort()
	return t.Charge()
}
