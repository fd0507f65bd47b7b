package store

import (
	"context"
	"errors"
	"time"
)

// ErrChanged means that a session has other messages at its end than its caller saw, or that a compaction stands for them.
var ErrChanged = errors.New("the conversation has changed")

// Exchange is the last message of a user that the model of a session still gets, with everything behind it. The zero value is
// none.
type Exchange struct {
	// First and Last are the numbers of its first and its last message.
	First, Last int64
	// At is when it began. Said is what users wrote in it, and Answer the last text of the agent.
	At     time.Time
	Said   []string
	Answer string
	// Steps is how many tools were called.
	Steps int
	// Upto is the number of the last message that a compaction of the session stands for.
	Upto int64
}

// LastExchange is the last exchange of a session; false if its model gets no message of a user.
func (s *Store) LastExchange(ctx context.Context, sessionID string) (x Exchange, found bool, err error) {
	entries, err := list[Entry](ctx, s, "read the last exchange of "+sessionID, `SELECT `+entryColumns+` FROM messages m JOIN turns t ON t.id = m.turn_id
		WHERE m.session_id = ?1 AND t.undone_at IS NULL AND m.seq >= (SELECT min(f.seq) FROM messages f WHERE f.turn_id = (
			SELECT u.turn_id FROM messages u JOIN turns v ON v.id = u.turn_id
			WHERE u.session_id = ?1 AND u.role = 'user' AND v.undone_at IS NULL ORDER BY u.seq DESC LIMIT 1))
		ORDER BY m.seq`, sessionID)
	if err != nil || len(entries) == 0 {
		return x, false, err
	}
	done, err := s.Compaction(ctx, sessionID)
	if err != nil {
		return x, false, err
	}
	x = Exchange{First: entries[0].Seq, Last: entries[len(entries)-1].Seq, At: entries[0].At, Upto: done.Upto}
	for _, e := range entries {
		switch {
		case e.Role == "user":
			x.Said = append(x.Said, e.Content)
		case e.Role == "tool":
			x.Steps++
		case e.Content != "":
			x.Answer = e.Content
		}
	}
	return x, true, nil
}

// Undo takes the last exchange of a session, whose messages have the numbers from first to last, out of what its model gets. The
// messages stay. The error is ErrChanged if that is not the last exchange any more, if a turn runs, or if a compaction stands for
// all of it.
func (s *Store) Undo(ctx context.Context, sessionID string, first, last int64, at time.Time) error {
	return s.write(ctx, "undo the last exchange of "+sessionID, func(t *tx) error { return t.undo(sessionID, first, last, at) })
}

func (t *tx) undo(sessionID string, first, last int64, at time.Time) error {
	n, err := t.exec(`UPDATE turns SET undone_at = ?4
		WHERE session_id = ?1 AND undone_at IS NULL AND id IN (SELECT turn_id FROM messages WHERE session_id = ?1 AND seq BETWEEN ?2 AND ?3)
		AND NOT EXISTS (SELECT 1 FROM turns WHERE session_id = ?1 AND state = 'running')
		AND NOT EXISTS (SELECT 1 FROM messages m JOIN turns u ON u.id = m.turn_id WHERE m.session_id = ?1 AND m.seq > ?3 AND u.undone_at IS NULL)
		AND NOT EXISTS (SELECT 1 FROM compactions WHERE session_id = ?1 AND upto >= ?3)`, sessionID, first, last, stamp(at))
	if err == nil && n == 0 {
		return ErrChanged
	}
	return err
}
