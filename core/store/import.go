package store

import (
	"context"
	"fmt"
)

// Import writes a conversation that another program had, whole or not at all: the session, which its key must have no other current one
// of, one turn that has ended, and its messages. The error is errNotCurrent for a key that has another current session.
func (s *Store) Import(ctx context.Context, v Session, turn Turn, messages []Message) error {
	return s.write(ctx, "import session "+v.ID, func(t *tx) error {
		if turn.State == TurnRunning {
			return fmt.Errorf("an imported turn cannot be %s", turn.State)
		}
		if err := t.putSession(v); err != nil {
			return err
		}
		err := t.do(`INSERT INTO turns (id, session_id, life, started_at, ended_at, state, reason, tokens_in, tokens_out, who)
			VALUES (?, ?, ?, ?, ?, ?, '', 0, 0, ?)`,
			turn.ID, v.ID, turn.Life, stamp(turn.StartedAt), stamp(turn.EndedAt), string(turn.State), turn.Who)
		if err != nil {
			return err
		}
		return t.appendMessages(v.ID, turn.ID, messages)
	})
}
