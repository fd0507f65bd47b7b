package store

import (
	"context"
	"time"
)

// Response is an answer of the API that a later request may continue.
type Response struct {
	ID string
	// Previous is the answer that it continues; empty: none.
	Previous string
	// Owner names the caller, who alone may read it.
	Owner string
	At    time.Time
	// Messages is what the turn added to the conversation, Body the answer as the caller got it; both are JSON.
	Messages, Body string
}

const responseColumns = `id, previous, owner, at, messages, body`

func (r *Response) fields() []any {
	return []any{&r.ID, &r.Previous, &r.Owner, (*stamp)(&r.At), &r.Messages, &r.Body}
}

var putResponse = insertion("INSERT INTO responses", responseColumns, "ON CONFLICT (id) DO NOTHING")

// PutResponse keeps an answer. A second one with the same ID changes nothing.
func (s *Store) PutResponse(ctx context.Context, r Response) error {
	return s.change(ctx, "keep response "+r.ID, putResponse, r.fields()...)
}

// Response is the answer with this id that belongs to owner; false if there is none.
func (s *Store) Response(ctx context.Context, id, owner string) (Response, bool, error) {
	return first[Response](ctx, s, "read response "+id, `SELECT `+responseColumns+` FROM responses WHERE id = ? AND owner = ?`, id, owner)
}

// DropResponse deletes the answer with this id that belongs to owner. It reports whether there was one.
func (s *Store) DropResponse(ctx context.Context, id, owner string) (bool, error) {
	n, err := result(ctx, s, "delete response "+id, func(t *tx) (int, error) {
		return t.exec(`DELETE FROM responses WHERE id = ? AND owner = ?`, id, owner)
	})
	return n > 0, err
}
