package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gatewaytui/core/ops"
)

// TurnState is how far a turn has come.
type TurnState string

// The states of a turn.
const (
	TurnRunning     TurnState = "running"
	TurnDone        TurnState = "done"
	TurnFailed      TurnState = "failed"
	TurnInterrupted TurnState = "interrupted"
)

// Turn is the work on one message. A running turn belongs to a current session, and a session has at most one.
type Turn struct {
	ID        string
	SessionID string
	Life      string
	StartedAt time.Time
	EndedAt   time.Time
	State     TurnState
	// Reason says why a turn failed or was interrupted.
	Reason string
	// Spent is this turn's own; its Turns does not count.
	Spent
	// Who wrote the message that it works on, as its platform names them.
	Who string
	// Undoes are the first and the last number of the messages of the exchange that the turn takes the place of: see Undo. 0: none.
	Undoes [2]int64
	// Message is the inbox row that the turn works on, empty for none: it begins and is answered with the turn. Reply is
	// sent with its end; nil: nothing is.
	Message string
	Reply   *Outbox
	// Also are further inbox rows that the turn works on: they begin with it, and its answer is theirs.
	Also []string
	// Remember means that the messages of the turn are for the memory's provider: see Unflushed.
	Remember bool
	// Timeline is what the turn did, which is written with its end; empty: nothing is.
	Timeline string
	// Charge is what is written to the counters of budgets with the turn's begin or end; nil: nothing is, and what the turn has reserved
	// stays reserved.
	Charge *Charge
}

// Message is one message of a transcript, in the terms of the chat-completions protocol.
type Message struct {
	Role string
	// Who wrote a user's message, as its platform names them; empty for other roles.
	Who        string
	Content    string
	ToolCalls  string // JSON; empty: none
	ToolCallID string
	At         time.Time
}

const messageColumns = `role, who, content, tool_calls, tool_call_id, at`

func (m *Message) fields() []any {
	return []any{&m.Role, &m.Who, &m.Content, (*optional)(&m.ToolCalls), &m.ToolCallID, (*stamp)(&m.At)}
}

var putMessage = insertion("INSERT INTO messages", messageColumns+", session_id, turn_id", "")

// BeginTurn writes the session, the turn as running, and its messages: the user's, or the results of a client's functions.
// They are acknowledged to the sender once BeginTurn returns. A turn of the session that was still running is superseded, and its late writes are refused. The
// error is errNotCurrent if the session has ended, or if its key has another current session, and ErrChanged as with Undo.
func (s *Store) BeginTurn(ctx context.Context, v Session, turn Turn, messages ...Message) error {
	return s.write(ctx, "begin turn "+turn.ID, func(t *tx) error {
		if err := t.putSession(v); err != nil {
			return err
		}
		if err := t.interrupt(v.ID, turn.StartedAt, "superseded"); err != nil {
			return err
		}
		if turn.Undoes[1] > 0 {
			if err := t.undo(v.ID, turn.Undoes[0], turn.Undoes[1], turn.StartedAt); err != nil {
				return err
			}
		}
		n, err := t.exec(`INSERT INTO turns (id, session_id, life, started_at, state, reason, tokens_in, tokens_out, who, reserved, charged)
			SELECT ?, id, ?, ?, 'running', '', 0, 0, ?, ?, ? FROM sessions WHERE id = ? AND ended_at IS NULL`,
			turn.ID, turn.Life, stamp(turn.StartedAt), turn.Who, turn.Charge.reserved(), turn.Charge.number(), v.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return errNotCurrent
		}
		if err := t.takeUp(append([]string{turn.Message}, turn.Also...)); err != nil {
			return err
		}
		if err := t.remember(turn); err != nil {
			return err
		}
		return t.appendMessages(v.ID, turn.ID, messages)
	})
}

// AppendMessages adds to the transcript of a running turn, and writes its charge; nil: it has none. The error is ErrStaleTurn if it
// no longer runs, and then the charge alone was written.
func (s *Store) AppendMessages(ctx context.Context, sessionID, turnID string, msgs []Message, c *Charge) error {
	return s.writeOrCharge(ctx, "append to turn "+turnID, c, func(t *tx) error {
		if err := t.runs(sessionID, turnID); err != nil {
			return err
		}
		if err := t.charge(c); err != nil {
			return err
		}
		return t.appendMessages(sessionID, turnID, msgs)
	})
}

// writeOrCharge is write for a turn: if the turn is stale only its charge is written, because its calls were made. do writes
// nothing before it knows that.
func (s *Store) writeOrCharge(ctx context.Context, what string, c *Charge, do func(*tx) error) error {
	stale, err := result(ctx, s, what, func(t *tx) (bool, error) {
		err := do(t)
		if errors.Is(err, ErrStaleTurn) {
			return true, t.charge(c)
		}
		return false, err
	})
	if err == nil && stale {
		return fmt.Errorf("%s: %w", what, ErrStaleTurn)
	}
	return err
}

// Steer adds to the transcript of a running turn what its user wrote meanwhile: msgs, of these inbox rows, which the turn works on
// from then on. Its errors are those of AppendMessages.
func (s *Store) Steer(ctx context.Context, sessionID, turnID string, inbox []string, msgs []Message) error {
	return s.write(ctx, "steer turn "+turnID, func(t *tx) error {
		if err := t.runs(sessionID, turnID); err != nil {
			return err
		}
		if err := t.takeUp(inbox); err != nil {
			return err
		}
		return t.appendMessages(sessionID, turnID, msgs)
	})
}

// takeUp records that a turn works on messages of the inbox. One that has its answer keeps it.
func (t *tx) takeUp(inbox []string) error {
	for _, id := range inbox {
		if id == "" {
			continue
		}
		if err := t.do(`UPDATE inbox SET state = 'running' WHERE id = ? AND state = 'waiting'`, id); err != nil {
			return err
		}
	}
	return nil
}

// runs is ErrStaleTurn if a turn of a session no longer runs.
func (t *tx) runs(sessionID, turnID string) error {
	var one int
	runs, err := t.found(`SELECT 1 FROM turns WHERE id = ? AND session_id = ? AND state = 'running'`, []any{turnID, sessionID}, &one)
	if err == nil && !runs {
		return ErrStaleTurn
	}
	return err
}

// EndTurn writes the turn's last messages, its end, and of the session its state, activity, counters, agent and model. turn.State is how it
// ended. The error is ErrStaleTurn if the turn no longer runs, and then its charge alone was written.
func (s *Store) EndTurn(ctx context.Context, v Session, turn Turn, msgs []Message) error {
	return s.writeOrCharge(ctx, "end turn "+turn.ID, turn.Charge, func(t *tx) error {
		if turn.State == TurnRunning {
			return fmt.Errorf("a turn cannot end as %s", turn.State)
		}
		n, err := t.exec(`UPDATE turns SET state = ?, ended_at = ?, reason = ?, tokens_in = ?, tokens_out = ?, tokens_cached = ?, tokens_unpriced = ?, cost = ?,
			reserved = iif(?, NULL, reserved), charged = max(charged, ?) WHERE id = ? AND session_id = ? AND state = 'running'`,
			string(turn.State), stamp(turn.EndedAt), turn.Reason, turn.TokensIn, turn.TokensOut, turn.TokensCached, turn.Unpriced, money{&turn.Cost, &turn.Priced}, turn.Charge != nil, turn.Charge.number(), turn.ID, v.ID)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrStaleTurn
		}
		if err := t.addCharge(turn.Charge); err != nil {
			return err
		}
		if err := t.putTimeline(turn); err != nil {
			return err
		}
		if err := t.appendMessages(v.ID, turn.ID, msgs); err != nil {
			return err
		}
		if turn.Message != "" {
			if err := t.answer(turn.Message, turn.Reply); err != nil {
				return err
			}
		}
		for _, id := range turn.Also {
			if err := t.answer(id, nil); err != nil {
				return err
			}
		}
		return t.do(`UPDATE sessions SET state = ?, last_activity_at = ?, tokens_in = ?, tokens_out = ?, tokens_cached = ?, cost = ?,
			context_used = ?, context_window = ?, agent = ?, model = ?, cut = iif(?, 0, cut) WHERE id = ?`,
			string(v.State), stamp(v.LastActivityAt), v.TokensIn, v.TokensOut, v.TokensCached, money{&v.Cost, &v.Priced},
			v.ContextUsed, v.ContextWindow, v.Agent, v.Model, turn.State == TurnDone, v.ID)
	})
}

// SuspendAfter is the number of consecutive lives in which the gateway's own end may cut off a session's turn before the
// session waits for a person. A turn that brings the gateway down each time must not be retried for ever (B10).
const SuspendAfter = 3

// InterruptRunning ends every running turn as interrupted, and makes its session interrupted. At boot these are the turns
// that the last life left (D14), so it comes before the first turn of this life. With crashed each counts against its
// session, and a session that was cut off in SuspendAfter consecutive lives becomes suspended. It returns how many turns
// there were.
func (s *Store) InterruptRunning(ctx context.Context, reason string, crashed bool, at time.Time) (int, error) {
	return result(ctx, s, "interrupt running turns", func(t *tx) (int, error) {
		const cutOff = `id IN (SELECT session_id FROM turns WHERE state = 'running')`
		change, args := `UPDATE sessions SET state = ? WHERE `+cutOff, []any{ops.SessionInterrupted}
		if crashed {
			change = `UPDATE sessions SET cut = cut + 1, state = iif(cut + 1 >= ?, ?, ?) WHERE ` + cutOff
			args = []any{SuspendAfter, ops.SessionSuspended, ops.SessionInterrupted}
		}
		if err := t.do(change, args...); err != nil {
			return 0, err
		}
		return t.exec(`UPDATE turns SET state = 'interrupted', ended_at = ?, reason = ? WHERE state = 'running'`, stamp(at), reason)
	})
}

func (t *tx) appendMessages(sessionID, turnID string, msgs []Message) error {
	for _, m := range msgs {
		if err := t.do(putMessage, append(m.fields(), sessionID, turnID)...); err != nil {
			return err
		}
	}
	return nil
}
