package delivery

import (
	"context"
	"maps"
	"slices"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// Forget ends what the gateway does for a person in shared sessions: their turns are interrupted, their waiting messages
// withdrawn. open are their messages without an answer. What is remembered of their words is dropped: lines of groups,
// messages that may be edited, and messages on their way into the sessions with these keys. It returns how many those were.
func (i *Intake) Forget(ctx context.Context, f store.Forgetting, keys []string, open []store.Inbox) (n int, err error) {
	if err := i.End(ctx, open); err != nil {
		return 0, err
	}
	own := func(key string) bool { return slices.Contains(keys, key) || f.Owns(key) }
	return i.groups.forget(f) + i.taken.forget(own, open) + i.o.Outbox.forget(own), nil
}

// End withdraws messages without an answer, and interrupts the turns that work on them.
func (i *Intake) End(ctx context.Context, open []store.Inbox) error {
	for _, in := range open {
		waiting, turn, found := i.o.Table.Withdraw(in.Session, in.ID)
		switch {
		case !found:
		case turn == "":
			i.o.Outbox.Withdrawn(in.Session, waiting, session.ErrInterrupted)
		default:
			if _, err := i.o.Conversations.Interrupt(ctx, in.Session, turn, session.ErrInterrupted); err != nil && !ops.HasCode(err, ops.CodeNotFound) {
				return err
			}
		}
	}
	return nil
}

// forget drops the lines that a person said.
func (g *groups) forget(f store.Forgetting) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, of := range g.last {
		for i, l := range of.lines {
			if l.said != "" && l.platform == f.Platform && l.person == f.ID {
				of.lines[i] = line{session: l.session} // the others keep their numbers
				n++
			}
		}
	}
	return n
}

// forget drops the messages of sessions, and those that are open.
func (t *taken) forget(own func(key string) bool, open []store.Inbox) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.order = slices.DeleteFunc(t.order, func(name string) bool {
		m := t.by[name]
		gone := own(m.session) || slices.ContainsFunc(open, func(in store.Inbox) bool { return in.ID == m.id })
		if gone {
			delete(t.by, name)
			n++
		}
		return gone
	})
	return n
}

// forget drops the messages on their way into sessions, but for one that is being sent, and what is still to be recorded of them.
func (o *Outbox) forget(own func(key string) bool) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, c := range o.chats {
		var kept []delivery
		for i, d := range c.queue {
			if !own(d.Session) || i == 0 && c.sending {
				kept = append(kept, d)
				continue
			}
			if d.tried != nil {
				close(d.tried)
			}
			n++
		}
		if c.queue = kept; len(kept) == 0 {
			delete(o.chats, name)
		}
	}
	maps.DeleteFunc(o.owing.records, func(_ string, d *owed) bool { return own(d.row.Session) })
	return n
}
