package store

import (
	"context"
	"time"
)

// Draft is a message that a chat shows while a turn runs. ID is that of the inbox message which the turn works on: a turn
// has at most one.
type Draft struct {
	ID, Session, Adapter, Target string
	// Message is the platform's name of it; empty while it is not known whether there is one.
	Message string
	// Becomes means that the answer takes its place. Otherwise it is removed.
	Becomes bool
	At      time.Time
}

const draftColumns = `id, session, adapter, target, message, becomes, at`

func (v *Draft) fields() []any {
	return []any{&v.ID, &v.Session, &v.Adapter, &v.Target, &v.Message, &v.Becomes, (*stamp)(&v.At)}
}

var putDraft = insertion("INSERT INTO drafts", draftColumns, "ON CONFLICT (id) DO UPDATE SET message = excluded.message, becomes = excluded.becomes")

// PutDraft writes a draft, or what became of it.
func (s *Store) PutDraft(ctx context.Context, v Draft) error {
	return s.write(ctx, "write draft "+v.ID, func(t *tx) error { return t.do(putDraft, v.fields()...) })
}

// DropDraft deletes a draft that is not in its chat any more.
func (s *Store) DropDraft(ctx context.Context, id string) error {
	return s.change(ctx, "drop draft "+id, `DELETE FROM drafts WHERE id = ?`, id)
}

// OpenDrafts are the drafts that are in their chats, or may be.
func (s *Store) OpenDrafts(ctx context.Context) ([]Draft, error) {
	return list[Draft](ctx, s, "read the drafts", `SELECT `+draftColumns+` FROM drafts ORDER BY id`)
}

// complete gives an answer the place of its draft, if there is one that it may take.
func (t *tx) complete(v *Outbox) error {
	var message string
	is, err := t.found(`SELECT message FROM drafts WHERE id = ? AND becomes = 1 AND message <> ''`, []any{v.ID}, &message)
	if err != nil || !is {
		return err
	}
	v.Placeholder = message
	return t.do(`DELETE FROM drafts WHERE id = ?`, v.ID)
}
