package delivery

import (
	"context"
	"time"

	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// PostCard is Post of a message with choices below it, on a platform that has buttons. arrived is called, once and on the task that
// sends, with the platform's name of the message, for Replace. It is not called if this life does not send it.
func (o *Outbox) PostCard(key, target, text string, choices []session.Choice, arrived func(message string)) {
	row := o.posted(o.o.NewID(), key, target, text)
	row.Buttons = buttonsOf(choices)
	o.persist(row)
	o.enqueueFor(row, arrived)
}

// Replace makes the message of this name what text says, without choices, or posts the text where the message cannot be changed or
// its name is empty. It is durable before it is sent, and does not wait for that.
func (o *Outbox) Replace(key, target, message, text string) {
	row := o.posted(o.o.NewID(), key, target, text)
	row.Placeholder = message
	o.persist(row)
	o.enqueue(row)
}

// posted is a message to a chat that answers none.
func (o *Outbox) posted(id, key, target, text string) store.Outbox {
	return store.Outbox{ID: id, Session: key, Adapter: session.Platform(key), Target: target, Text: text, At: time.Now(), Tried: true}
}

// persist writes a message into the journal. Without that this life sends it all the same, and tries the write again.
func (o *Outbox) persist(row store.Outbox) {
	ctx, cancel := o.journal.Patient(context.Background())
	defer cancel()
	o.owe("message not persisted", owed{row: row, missing: true}, o.journal.PutOutbox(ctx, row))
}
