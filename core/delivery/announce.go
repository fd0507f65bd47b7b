package delivery

import (
	"context"
	"errors"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Momentary ends the id of a message that is wrong in a later life: none sends it (see Announce).
const Momentary = ":now"

// announceWrite is what the journal may take before an announcement is sent without it.
const announceWrite = time.Second

// Announce sends a message once, within ctx, before what waits for its chat. The journal has it until then; it is withdrawn if
// the send fails, and by the next life if this one ends meanwhile. Its id ends with Momentary.
func (o *Outbox) Announce(ctx context.Context, id, key, target, text string) error {
	row := store.Outbox{ID: id, Session: key, Adapter: session.Platform(key), Target: target, Text: text, At: time.Now(), Tried: true}
	wctx, cancel := context.WithTimeout(ctx, announceWrite)
	defer cancel()
	if err := o.journal.PutOutbox(wctx, row); err != nil && !errors.Is(err, store.ErrReadOnly) {
		o.o.Log.Warn("message not persisted", "session", key, "error", term.Clean(err.Error(), 300))
	}
	_, err := o.send(ctx, key, row.Adapter, adapter.Outgoing{Target: target, Text: text, Markdown: true, Key: id})
	refused := ""
	if err != nil {
		refused = "withdrawn: " + term.Clean(err.Error(), 300)
	}
	o.end(context.WithoutCancel(ctx), row, refused)
	return err
}
