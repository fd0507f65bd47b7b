package delivery

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// maxOwed bounds the records that the journal owes. A record above it is lost, and the next life may do its message again.
const maxOwed = 1000

// owed is a record of one message that the journal refused. Outbox.mu guards it.
type owed struct {
	// row is the message to the chat as it was when its write was refused.
	row store.Outbox
	// inbox is the id of the message that row answers; empty: it answers none.
	inbox string
	// missing means that the journal does not have row yet.
	missing bool
	// over means that no life is to send row: its platform has taken or refused it, or it has no text. refused and at are as in
	// Journal.EndOutbox.
	over    bool
	refused string
	at      time.Time
}

// owing are the records that the journal owes, and when they are tried again. Outbox.mu guards it.
type owing struct {
	records map[string]*owed // by the id of the message
	busy    bool             // a task writes them
	fails   int
	after   time.Time
}

// owe keeps a record that the journal refused with err, until RetryDue or Record has written it. what is for the log. Nothing is
// kept for a journal that takes no write for the rest of this life.
func (o *Outbox) owe(what string, d owed, err error) {
	if err == nil || errors.Is(err, store.ErrReadOnly) {
		return
	}
	o.mu.Lock()
	full := len(o.owing.records) >= maxOwed
	if !full {
		if len(o.owing.records) == 0 {
			o.owing.fails, o.owing.after = 1, time.Now().Add(minRetry)
		}
		o.owing.records[d.row.ID] = &d
	}
	wait := time.Until(o.owing.after)
	o.mu.Unlock()
	args := []any{"session", d.row.Session, "message", d.row.ID, "error", term.Clean(err.Error(), 300)}
	if full {
		o.o.Log.Warn(what+"; too many records wait for the disk, and the next life may repeat it", args...)
		return
	}
	o.o.Log.Warn(what, append(args, "next_in", max(wait, 0).Round(time.Second))...)
}

// closed notes that the delivery of a message is over, if the journal owes a record of it. It reports whether that is so: the record
// has the result then.
func (o *Outbox) closed(id, refused string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.owing.records[id]
	if d == nil {
		return false
	}
	d.over, d.refused, d.at = true, refused, time.Now()
	d.row.Text = "" // it is not written any more
	return true
}

// recordDue starts a task that writes what the journal owes, if its wait is over at now. The caller holds mu.
func (o *Outbox) recordDue(now time.Time) {
	if len(o.owing.records) == 0 || o.owing.busy || now.Before(o.owing.after) {
		return
	}
	o.owing.busy = o.o.Tasks.Start(context.Background(), "record", "", func(ctx context.Context) {
		ctx, cancel := o.journal.Patient(ctx)
		defer cancel()
		o.Record(ctx)
		o.mu.Lock()
		o.owing.busy = false
		o.mu.Unlock()
	})
}

// Record writes what the journal owes, oldest first, until it refuses a write. What is left is tried again after a wait, which
// doubles with each failure. ctx bounds it. A stop calls it before the journal is closed.
func (o *Outbox) Record(ctx context.Context) {
	o.mu.Lock()
	all := make([]*owed, 0, len(o.owing.records))
	for _, d := range o.owing.records {
		all = append(all, d)
	}
	o.mu.Unlock()
	slices.SortFunc(all, func(a, b *owed) int { return cmp.Compare(a.row.ID, b.row.ID) })
	for i, d := range all {
		err := o.record(ctx, d)
		if err == nil {
			continue
		}
		o.mu.Lock()
		o.owing.fails++
		wait := backoff(o.owing.fails)
		o.owing.after = time.Now().Add(wait)
		o.mu.Unlock()
		o.o.Log.Warn("records of messages still not saved", "waiting", len(all)-i, "next_in", wait, "error", term.Clean(err.Error(), 300))
		return
	}
	if len(all) > 0 {
		o.o.Log.Info("records of messages saved", "count", len(all))
	}
}

// record writes one record. What happens to the message meanwhile is written as well, so that the journal never has a message as
// waiting that this life has delivered.
func (o *Outbox) record(ctx context.Context, d *owed) error {
	id := d.row.ID
	for {
		o.mu.Lock()
		if o.owing.records[id] != d { // it was forgotten
			o.mu.Unlock()
			return nil
		}
		now := *d
		if row, queued := o.queued(now.row); queued {
			now.row = row
		}
		o.mu.Unlock()
		if err := o.write(ctx, now); err != nil {
			return err
		}
		o.mu.Lock()
		d.missing = false
		done := now.over || !d.over
		if done && o.owing.records[id] == d {
			delete(o.owing.records, id)
		}
		o.mu.Unlock()
		if done {
			return nil
		}
	}
}

// write does the writes of a record, each of which may be repeated.
func (o *Outbox) write(ctx context.Context, d owed) error {
	var err error
	switch {
	case !d.missing:
	case d.inbox != "" && d.over:
		err = o.journal.Answer(ctx, d.inbox, nil)
	case d.inbox != "":
		err = o.journal.Answer(ctx, d.inbox, &d.row)
	case !d.over:
		err = o.journal.PutOutbox(ctx, d.row)
	}
	if err != nil || !d.over {
		return err
	}
	return o.journal.EndOutbox(ctx, d.row.ID, d.refused, d.at) // a write that failed late may have left it as waiting
}

// queued is how far a message has come that waits for its chat. The caller holds mu.
func (o *Outbox) queued(row store.Outbox) (store.Outbox, bool) {
	c := o.chats[chatName(row)]
	if c == nil {
		return row, false
	}
	for i, d := range c.queue {
		if d.ID == row.ID {
			d.Tried = d.Tried || d.marked || i == 0 && c.sending
			return d.Outbox, true
		}
	}
	return row, false
}

// backoff is how long to wait after so many failures in a row.
func backoff(fails int) time.Duration { return min(minRetry<<min(fails-1, 10), maxRetry) }
