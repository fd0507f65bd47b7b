package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"gatewaytui/core/ops"
)

// Session is one incarnation of a key. A reset ends it and makes a new one with another ID. A key has at most one session
// that has not ended, its current one.
type Session struct {
	Key      string
	ID       string
	Platform string
	User     string
	// Target is the platform's address of the chat.
	Target string
	// State is the session's state while no turn runs: idle, interrupted or suspended.
	State          ops.SessionState
	CreatedAt      time.Time
	LastActivityAt time.Time
	// EndedAt is zero, and EndReason empty, for the current session of its key.
	EndedAt   time.Time
	EndReason string
	// TokensIn and TokensOut are the sums over the session's turns, and the source of the figures that people see (H6).
	TokensIn  int64
	TokensOut int64
	// TokensCached are those of TokensIn that came from a model's cache. Cost is the money for the calls whose cost is known; Priced
	// says that there is one. The store keeps billionths.
	TokensCached int64
	Cost         float64
	Priced       bool
	// ContextUsed is how many tokens of the model's context the conversation uses, ContextWindow how many that context has; 0: not
	// known.
	ContextUsed, ContextWindow int
	// Agent is the name of the agent that worked on the session last, Model that of the model that answered, and Choice that of the
	// model that its people chose. Only Choose changes Choice.
	Agent, Model, Choice string
	// Busy is what its people chose for messages during a turn, as in the config; empty: nothing. Only Choose changes it.
	Busy string
	// Caller is who sent the session's last message over the API; zero: the message came from elsewhere.
	Caller ops.Caller
	// Title names the conversation for people; empty: it has none yet. A write of the session sets it only where the row
	// has none; SetTitle changes it.
	Title string
}

const sessionColumns = `id, key, platform, user, target, state, created_at, last_activity_at, ended_at, end_reason, tokens_in, tokens_out, caller_by, caller_uid,
	tokens_cached, cost, agent, model, model_choice, title, context_used, context_window, busy`

func (v *Session) fields() []any {
	return []any{
		&v.ID, &v.Key, &v.Platform, &v.User, &v.Target, (*string)(&v.State), (*stamp)(&v.CreatedAt), (*stamp)(&v.LastActivityAt),
		(*stamp)(&v.EndedAt), &v.EndReason, &v.TokensIn, &v.TokensOut, (*string)(&v.Caller.By), &v.Caller.UID,
		&v.TokensCached,
		money{&v.Cost, &v.Priced},
		&v.Agent, &v.Model, &v.Choice, &v.Title, &v.ContextUsed, &v.ContextWindow, &v.Busy,
	}
}

// invalid reports whether a session has impossible values. It is the fast form of wrong, for the many sessions that every
// start reads.
func (v Session) invalid() bool {
	return v.ID == "" || v.Key == "" || !slices.Contains(sessionStates, string(v.State)) || v.TokensIn < 0 || v.TokensOut < 0 || v.TokensCached < 0 || v.Cost < 0 || v.ContextUsed < 0 || v.ContextWindow < 0 ||
		!slices.Contains(callers, string(v.Caller.By)) || v.Caller.UID < -1 || v.Caller.UID > maxUID || !validTime(v.CreatedAt) || !validTime(v.LastActivityAt)
}

// putSession writes a session. An existing one keeps its key and whether it has ended: only EndSession and ReopenSession
// change that.
var putSession = insertion("INSERT INTO sessions", sessionColumns, `ON CONFLICT (id) DO UPDATE SET platform = excluded.platform, user = excluded.user,
	target = excluded.target, state = excluded.state, last_activity_at = excluded.last_activity_at,
	tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out, caller_by = excluded.caller_by, caller_uid = excluded.caller_uid,
	tokens_cached = excluded.tokens_cached, cost = excluded.cost, context_used = excluded.context_used, context_window = excluded.context_window, agent = excluded.agent, model = excluded.model,
	title = iif(sessions.title = '', excluded.title, sessions.title)`)

// choose writes the choices of a session, and the session where the store has none.
var choose = insertion("INSERT INTO sessions", sessionColumns, `ON CONFLICT (id) DO UPDATE SET model_choice = excluded.model_choice, busy = excluded.busy`)

// Choose writes what the people of a session chose, its Choice and Busy, and the session if it is not in the store yet.
func (s *Store) Choose(ctx context.Context, v Session) error {
	return s.write(ctx, "write the choices of session "+v.ID, func(t *tx) error { return asNotCurrent(t.do(choose, v.fields()...)) })
}

// SetTitle names a session, and reports whether there is one with the id.
func (s *Store) SetTitle(ctx context.Context, id, title string) (found bool, err error) {
	return result(ctx, s, "name session "+id, func(t *tx) (bool, error) {
		n, err := t.exec(`UPDATE sessions SET title = ? WHERE id = ?`, title, id)
		return n > 0, err
	})
}

// EndSession ends a session and interrupts its running turn, whose late writes are refused from then on. A session that
// has ended does not change. It is not an error if the session was never written.
func (s *Store) EndSession(ctx context.Context, id string, at time.Time, reason string) error {
	return s.write(ctx, "end session "+id, func(t *tx) error { return t.endSession(id, at, reason) })
}

// ForgetSessions deletes sessions with their turns and messages. Late writes of their turns are refused as stale. Unknown
// ids are skipped.
func (s *Store) ForgetSessions(ctx context.Context, ids ...string) error {
	return s.write(ctx, "forget sessions", func(t *tx) error {
		for _, id := range ids {
			if err := t.forgetSession(id); err != nil {
				return err
			}
		}
		return nil
	})
}

// forgetSession deletes a session. What a turn of it had reserved is charged: an earlier life was cut off in a call.
func (t *tx) forgetSession(id string) error {
	if _, err := t.chargeCut(id); err != nil {
		return err
	}
	for _, text := range []string{
		`DELETE FROM messages WHERE session_id = ?`, `DELETE FROM turns WHERE session_id = ?`, `DELETE FROM sessions WHERE id = ?`,
	} {
		if err := t.do(text, id); err != nil {
			return err
		}
	}
	return nil
}

// ReopenSession does EndSession(currentID) and makes the ended session oldID the current one of its key again, idle and
// active at at. It returns that session. The error is errNotCurrent if oldID is not an ended session, or if its key has a
// current session other than currentID.
func (s *Store) ReopenSession(ctx context.Context, currentID, oldID string, at time.Time) (Session, error) {
	return result(ctx, s, "reopen session "+oldID, func(t *tx) (v Session, err error) {
		if err := t.endSession(currentID, at, "resumed "+oldID); err != nil {
			return v, err
		}
		found, err := t.found(`UPDATE sessions SET ended_at = NULL, end_reason = '', state = 'idle', last_activity_at = ?
			WHERE id = ? AND ended_at IS NOT NULL RETURNING `+sessionColumns, []any{stamp(at), oldID}, v.fields()...)
		if err == nil && !found {
			return v, errNotCurrent
		}
		return v, asNotCurrent(err)
	})
}

// Sessions calls each for every current session, by last activity, newest first. Rows are read while each runs, so it
// must not wait for anything; its error ends the reading and is returned. Invalid rows are left out, and left is how
// many: QuarantineRows names and repairs them.
func (s *Store) Sessions(ctx context.Context, each func(Session) error) (left int, err error) {
	err = s.read(ctx, "read sessions",
		`SELECT `+sessionColumns+` FROM sessions WHERE ended_at IS NULL ORDER BY last_activity_at DESC`, nil,
		func(rows *sql.Rows) error {
			var v Session
			if err := rows.Scan(v.fields()...); err != nil || v.invalid() {
				left++
				return nil
			}
			return each(v)
		})
	return left, err
}

// CurrentSession is the current session of a key; false if it has none.
func (s *Store) CurrentSession(ctx context.Context, key string) (Session, bool, error) {
	return first[Session](ctx, s, "read the session of "+key, `SELECT `+sessionColumns+` FROM sessions WHERE key = ? AND ended_at IS NULL`, key)
}

// SessionByID is the session with an id, current or ended; false if there is none.
func (s *Store) SessionByID(ctx context.Context, id string) (Session, bool, error) {
	return first[Session](ctx, s, "read session "+id, `SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, id)
}

// EndedSessions are the sessions of a key that have ended, the one that ended last first. limit is bounded as
// ops.Query.Limit is.
func (s *Store) EndedSessions(ctx context.Context, key string, limit int) ([]Session, error) {
	return list[Session](ctx, s, "read ended sessions", `SELECT `+sessionColumns+` FROM sessions
		WHERE key = ? AND ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT ?`, key, ops.PageSize(limit))
}

func (t *tx) putSession(v Session) error { return asNotCurrent(t.do(putSession, v.fields()...)) }

func (t *tx) endSession(id string, at time.Time, reason string) error {
	if at.IsZero() {
		return errors.New("a session cannot end without a time")
	}
	if err := t.interrupt(id, at, reason); err != nil {
		return err
	}
	return t.do(`UPDATE sessions SET ended_at = ?, end_reason = ? WHERE id = ? AND ended_at IS NULL`, stamp(at), reason, id)
}

// interrupt ends the running turn of a session, if there is one.
func (t *tx) interrupt(sessionID string, at time.Time, reason string) error {
	return t.do(`UPDATE turns SET state = 'interrupted', ended_at = ?, reason = ? WHERE session_id = ? AND state = 'running'`, stamp(at), reason, sessionID)
}

// asNotCurrent names the failure of the index sessions_current: a second current session of one key.
func asNotCurrent(err error) error {
	if code(err) == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return fmt.Errorf("%w: %w", errNotCurrent, err)
	}
	return err
}
