package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"
)

// Compaction says what stands for the older part of a session's transcript when a model is asked. The messages themselves stay in
// the store. A session has at most one, the newest.
type Compaction struct {
	// Upto is the Seq of the last message that Summary and Said stand for; 0: none. The results of tools up to Pruned have notes
	// in their place.
	Upto, Pruned int64
	Summary      string
	// Said is what users wrote there, word for word.
	Said []string
	At   time.Time
}

const compactionColumns = `upto, pruned, summary, said, at`

func (c *Compaction) fields() []any {
	return []any{&c.Upto, &c.Pruned, &c.Summary, (*quotes)(&c.Said), (*stamp)(&c.At)}
}

var putCompaction = insertion("INSERT INTO compactions", "session_id, "+compactionColumns, `ON CONFLICT (session_id) DO UPDATE SET
	upto = excluded.upto, pruned = excluded.pruned, summary = excluded.summary, said = excluded.said, at = excluded.at`)

// Compact writes the compaction of a session in the place of an earlier one. The error is ErrStaleTurn if the turn no longer runs,
// and then nothing was written.
func (s *Store) Compact(ctx context.Context, sessionID, turnID string, c Compaction) error {
	return s.write(ctx, "compact "+sessionID, func(t *tx) error {
		if err := t.runs(sessionID, turnID); err != nil {
			return err
		}
		return t.do(putCompaction, append([]any{sessionID}, c.fields()...)...)
	})
}

// Compaction is the newest compaction of a session; the zero value: there is none.
func (s *Store) Compaction(ctx context.Context, sessionID string) (Compaction, error) {
	c, _, err := first[Compaction](ctx, s, "read the compaction of "+sessionID, `SELECT `+compactionColumns+` FROM compactions WHERE session_id = ?`, sessionID)
	return c, err
}

// Since is every message of a session behind the one with a number, in order, without what was undone.
func (s *Store) Since(ctx context.Context, sessionID string, seq int64) ([]Entry, error) {
	return list[Entry](ctx, s, "read messages of "+sessionID, `SELECT `+entryColumns+` FROM messages m JOIN turns u ON u.id = m.turn_id
		WHERE m.session_id = ? AND m.seq > ? AND u.undone_at IS NULL ORDER BY m.seq`, sessionID, seq)
}

// Pin is a text that every model call of a session has. Seq grows with every pin.
type Pin struct {
	Seq  int64
	Text string
}

func (p *Pin) fields() []any { return []any{&p.Seq, &p.Text} }

// Pins are the pins of a session, oldest first.
func (s *Store) Pins(ctx context.Context, sessionID string) ([]Pin, error) {
	return list[Pin](ctx, s, "read pins of "+sessionID, `SELECT seq, text FROM pins WHERE session_id = ? ORDER BY seq`, sessionID)
}

// PutPin adds a pin to a session, and reports whether there is one with the id.
func (s *Store) PutPin(ctx context.Context, sessionID, text string, at time.Time) (found bool, err error) {
	return result(ctx, s, "pin in "+sessionID, func(t *tx) (bool, error) {
		n, err := t.exec(`INSERT INTO pins (session_id, text, at) SELECT id, ?, ? FROM sessions WHERE id = ?`, text, stamp(at), sessionID)
		return n > 0, err
	})
}

// DropPin deletes a pin of a session. It is not an error if there is none.
func (s *Store) DropPin(ctx context.Context, sessionID string, seq int64) error {
	return s.change(ctx, "drop a pin of "+sessionID, `DELETE FROM pins WHERE session_id = ? AND seq = ?`, sessionID, seq)
}

// quotes is a list of texts in a column, as JSON.
type quotes []string

// Value is for database/sql.
func (x *quotes) Value() (driver.Value, error) {
	if *x == nil {
		return "[]", nil
	}
	b, err := json.Marshal([]string(*x))
	return string(b), err
}

// Scan is for database/sql.
func (x *quotes) Scan(v any) error {
	text, is := v.(string)
	if !is {
		return fmt.Errorf("a column of texts holds %T", v)
	}
	return json.Unmarshal([]byte(text), (*[]string)(x))
}
