package store

import (
	"context"
	"time"
)

// Pruned says how many rows were deleted of what.
type Pruned struct {
	Sessions, Turns, Messages, Processes, Audit, Lives, Shutdowns, Inbox, Outbox, Quarantine int
}

// Any reports whether anything was deleted.
func (p Pruned) Any() bool { return p != Pruned{} }

// Add counts q in.
func (p *Pruned) Add(q Pruned) {
	p.Sessions += q.Sessions
	p.Turns += q.Turns
	p.Messages += q.Messages
	p.Processes += q.Processes
	p.Audit += q.Audit
	p.Lives += q.Lives
	p.Shutdowns += q.Shutdowns
	p.Inbox += q.Inbox
	p.Outbox += q.Outbox
	p.Quarantine += q.Quarantine
}

// Prune deletes what ended before old: conversations with their turns and messages, rows of the journal, the audit, past
// lives with their shutdowns, and messages to and from chats that have their answer. What is current is never touched.
// At most batch conversations go at once, so that nobody waits long for the writer; call it again while they do.
func (s *Store) Prune(ctx context.Context, old time.Time, batch int) (Pruned, error) {
	return result(ctx, s, "prune", func(t *tx) (p Pruned, err error) {
		const gone = `(SELECT id FROM sessions WHERE ended_at < ?1 ORDER BY ended_at LIMIT ?2)`
		for _, step := range []struct {
			n    *int
			text string
			args []any
		}{
			{&p.Messages, `DELETE FROM messages WHERE session_id IN ` + gone, []any{stamp(old), batch}},
			{&p.Turns, `DELETE FROM turns WHERE session_id IN ` + gone, []any{stamp(old), batch}},
			{&p.Sessions, `DELETE FROM sessions WHERE id IN ` + gone, []any{stamp(old), batch}},
			{&p.Processes, `DELETE FROM processes WHERE ended_at < ?1`, []any{stamp(old)}},
			{&p.Audit, `DELETE FROM audit WHERE at < ?1`, []any{stamp(old)}},
			{&p.Shutdowns, `DELETE FROM shutdowns WHERE life IN (SELECT id FROM lives WHERE ended_at < ?1)`, []any{stamp(old)}},
			{&p.Lives, `DELETE FROM lives WHERE ended_at < ?1`, []any{stamp(old)}},
			{&p.Inbox, `DELETE FROM inbox WHERE state = 'answered' AND at < ?1`, []any{stamp(old)}},
			{&p.Quarantine, `DELETE FROM quarantine WHERE at < ?1`, []any{stamp(old)}},
			{&p.Outbox, `DELETE FROM outbox WHERE state <> 'waiting' AND ended_at < ?1`, []any{stamp(old)}},
		} {
			if *step.n, err = t.exec(step.text, step.args...); err != nil {
				return Pruned{}, err
			}
		}
		return p, nil
	})
}
