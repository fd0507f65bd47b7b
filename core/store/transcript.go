package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// Entry is a message with its place in the store.
type Entry struct {
	// Seq grows with every message of the store. A number may be used again once the newest messages were deleted.
	Seq  int64
	Turn string
	// Undone means that the model of the session does not get it any more, because a person took it back.
	Undone bool
	Message
}

func (e *Entry) fields() []any {
	return append([]any{&e.Seq, &e.Turn, &e.Undone}, e.Message.fields()...)
}

// entryColumns are those of an Entry of messages as m. Messages of earlier versions without a time have that of their turn.
const entryColumns = `m.seq, m.turn_id, EXISTS (SELECT 1 FROM turns t WHERE t.id = m.turn_id AND t.undone_at IS NOT NULL), m.role, m.who, m.content, m.tool_calls, m.tool_call_id,
	coalesce(m.at, (SELECT t.started_at FROM turns t WHERE t.id = m.turn_id))`

// errEnough ends a reading before its last row.
var errEnough = errors.New("enough was read")

// Entries are the messages of a session behind the one with a number, oldest first: at most limit, and no more once their
// texts have that many bytes together. more says that there are further ones.
func (s *Store) Entries(ctx context.Context, sessionID string, after int64, limit, bytes int) (page []Entry, more bool, err error) {
	return s.entries(ctx, sessionID, "m.seq > ? ORDER BY m.seq", after, limit, bytes)
}

// EntriesBefore is Entries of the messages before the one with a number, the newest of them; they are oldest first as well. more says
// that there are older ones.
func (s *Store) EntriesBefore(ctx context.Context, sessionID string, before int64, limit, bytes int) (page []Entry, more bool, err error) {
	page, more, err = s.entries(ctx, sessionID, "m.seq < ? ORDER BY m.seq DESC", before, limit, bytes)
	slices.Reverse(page)
	return page, more, err
}

func (s *Store) entries(ctx context.Context, sessionID, where string, seq int64, limit, bytes int) (page []Entry, more bool, err error) {
	read := 0
	err = s.read(ctx, "read messages of "+sessionID, `SELECT `+entryColumns+` FROM messages m WHERE m.session_id = ? AND `+where+` LIMIT ?`,
		[]any{sessionID, seq, limit + 1}, func(rows *sql.Rows) error {
			if more = len(page) == limit || read > bytes; more {
				return errEnough
			}
			var e Entry
			if err := rows.Scan(e.fields()...); err != nil {
				return err
			}
			read += len(e.Content) + len(e.ToolCalls)
			page = append(page, e)
			return nil
		})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return page, more, err
}

// CallsBefore are the tool calls, as JSON, of the last message of a session before the one with a number that has some;
// empty if none has.
func (s *Store) CallsBefore(ctx context.Context, sessionID string, before int64) (calls string, err error) {
	err = s.read(ctx, "read calls of "+sessionID, `SELECT tool_calls FROM messages
		WHERE session_id = ? AND seq < ? AND tool_calls IS NOT NULL ORDER BY seq DESC LIMIT 1`,
		[]any{sessionID, before}, func(rows *sql.Rows) error { return rows.Scan(&calls) })
	return calls, err
}
