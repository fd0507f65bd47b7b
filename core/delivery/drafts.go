package delivery

import (
	"context"
	"errors"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// shown registers a Show. Its chat gets a bucket, and its answer its place.
func (o *Outbox) shown(s *Show, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shows[s.in.ID] = s
	if o.paces[s.chat] == nil {
		o.paces[s.chat] = newPace(s.bounds, now)
	}
	o.paces[s.chat].shows++
}

func (o *Outbox) hidden(s *Show) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shows[s.in.ID] == s {
		delete(o.shows, s.in.ID)
	}
	o.paces[s.chat].shows--
	for name, p := range o.paces { // those that would be full again anyway
		if p.fill(time.Now()); p.shows == 0 && p.tokens >= p.burst {
			delete(o.paces, name)
		}
	}
}

// take takes cost of the chat's bucket and returns 0, or how long to wait.
func (o *Outbox) take(chat string, cost float64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.paces[chat].take(time.Now(), cost)
}

// cost is take for a chat that may show no turn: it has no bucket then, and nothing to wait for.
func (o *Outbox) cost(chat string, cost float64) time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.paces[chat]; p != nil {
		return p.take(time.Now(), cost)
	}
	return 0
}

// spend takes messages that wait for nothing from the chat's bucket.
func (o *Outbox) spend(chat string, messages int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p := o.paces[chat]; p != nil {
		p.spend(time.Now(), messages)
	}
}

// keep writes what is known of a draft.
func (o *Outbox) keep(ctx context.Context, d store.Draft) error {
	ctx, cancel := o.journal.Patient(ctx)
	defer cancel()
	return o.journal.PutDraft(ctx, d)
}

// drop forgets a draft of which no message is known, after err. It says so if there may be one.
func (o *Outbox) drop(d store.Draft, err error) {
	if adapter.MayHaveArrived(err) {
		o.o.Log.Warn("draft may be left in its chat", "session", d.Session, "adapter", d.Adapter)
	}
	ctx, cancel := o.journal.Patient(context.Background())
	defer cancel()
	if err := o.journal.DropDraft(ctx, d.ID); err != nil && !errors.Is(err, store.ErrReadOnly) {
		o.o.Log.Warn("draft not forgotten", "session", d.Session, "error", term.Clean(err.Error(), 300))
	}
}

// settle ends what a chat sees of the turn that works on the message id.
func (o *Outbox) settle(id string) {
	o.mu.Lock()
	s := o.shows[id]
	o.mu.Unlock()
	s.Settle()
}

// placed gives an answer the place of its draft, once nothing changes that any more.
func (o *Outbox) placed(row store.Outbox) store.Outbox {
	o.mu.Lock()
	s := o.shows[row.ID]
	o.mu.Unlock()
	if s == nil {
		return row
	}
	draft, taken, known := s.place()
	if taken {
		row.Placeholder = draft.Message
	}
	if known {
		return row
	}
	tried := row
	tried.Tried = true
	o.note(context.Background(), tried)
	switch {
	case taken:
		o.drop(draft, adapter.ErrUnable)
	case draft.Message != "":
		if err := o.keep(context.Background(), draft); err != nil {
			o.o.Log.Warn("draft not recorded", "session", row.Session, "error", term.Clean(err.Error(), 300))
		}
	}
	return row
}

// leftover is a draft that has to leave its chat.
type leftover struct {
	store.Draft
	busy  bool
	fails int
	after time.Time
}

// Retract has a draft removed from its chat, now or when its platform has a connection. One of which no message is known is
// forgotten.
func (o *Outbox) Retract(d store.Draft) {
	if d.Message == "" {
		o.drop(d, errors.New("the life that sent it ended"))
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.leftovers[d.ID] = &leftover{Draft: d}
	o.remove(o.leftovers[d.ID])
}

// remove starts a task that removes a leftover, unless one runs. The caller holds mu.
func (o *Outbox) remove(l *leftover) {
	if l.busy {
		return
	}
	l.busy = o.o.Tasks.Start(context.Background(), "remove draft", l.Session, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, SendTimeout)
		defer cancel()
		err := o.sender.Remove(ctx, l.Adapter, l.Target, l.Message)
		_, refused := errors.AsType[*adapter.RefusedError](err)
		gone := err == nil || refused || errors.Is(err, adapter.ErrUnable) || errors.Is(err, adapter.ErrUnknown)
		if gone {
			o.drop(l.Draft, adapter.ErrUnable)
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		l.busy = false
		if gone {
			delete(o.leftovers, l.ID)
			return
		}
		l.fails++
		l.after = time.Now().Add(backoff(l.fails))
	})
}
