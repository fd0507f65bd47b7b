package store

import (
	"context"
	"time"
)

// Pruned is how many rows of each kind were deleted.
type Pruned struct {
	Sessions, Turns, Messages, Processes, Audit, Lives, Shutdowns, Inbox, Outbox, Quarantine int
}

// Any reports whether anything was deleted.
func (p Pruned) Any() bool { return p != Pruned{} }

// Add adds q.
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

// Retention is how long ended rows are kept, so that the database does not grow for ever (F7).
const Retention = 90 * 24 * time.Hour

// Prune deletes what ended before old: conversations with their turns and messages, rows of the journal, the audit, past
// lives with their shutdowns, messages to and from chats that have their answer, and quarantined rows. It never touches
// current rows. It deletes at most batch rows of each table at once, along an index, so that no other call waits long for
// the writer (F12). Call it again until nothing was deleted.
func (s *Store) Prune(ctx context.Context, old time.Time, batch int) (Pruned, error) {
	return result(ctx, s, "prune", func(t *tx) (p Pruned, err error) {
		const gone = `(SELECT id FROM sessions WHERE ended_at < ?1 ORDER BY ended_at LIMIT ?2)`
		// A conversation is deleted from its messages upwards, each part once the previous one is gone.
		for _, step := range []struct {
			n    *int
			text string
		}{
			{&p.Messages, `DELETE FROM messages WHERE seq IN (SELECT seq FROM messages WHERE session_id IN ` + gone + ` LIMIT ?2)`},
			{&p.Turns, `DELETE FROM turns WHERE id IN (SELECT id FROM turns WHERE session_id IN ` + gone + ` LIMIT ?2)`},
			{&p.Sessions, `DELETE FROM sessions WHERE id IN ` + gone},
		} {
			if *step.n, err = t.exec(step.text, stamp(old), batch); err != nil {
				return Pruned{}, err
			}
			if *step.n > 0 {
				break
			}
		}
		// A life that was killed has no end; its last heartbeat counts instead.
		const lives = `(SELECT id FROM lives WHERE coalesce(ended_at, heartbeat_at) < ?1 AND outcome <> 'running' ORDER BY seq LIMIT ?2)`
		for _, step := range []struct {
			n    *int
			text string
		}{
			{&p.Processes, `DELETE FROM processes WHERE (life, pid, start_ticks) IN (SELECT life, pid, start_ticks FROM processes WHERE ended_at < ?1 LIMIT ?2)`},
			{&p.Audit, `DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE at < ?1 LIMIT ?2)`},
			{&p.Shutdowns, `DELETE FROM shutdowns WHERE life IN ` + lives},
			{&p.Lives, `DELETE FROM lives WHERE id IN ` + lives},
			{&p.Inbox, `DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox WHERE state = 'answered' AND at < ?1 LIMIT ?2)`},
			{&p.Outbox, `DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox WHERE state <> 'waiting' AND ended_at < ?1 LIMIT ?2)`},
			{&p.Quarantine, `DELETE FROM quarantine WHERE seq IN (SELECT seq FROM quarantine WHERE at < ?1 LIMIT ?2)`},
		} {
			if *step.n, err = t.exec(step.text, stamp(old), batch); err != nil {
				return Pruned{}, err
			}
		}
		return p, nil
	})
}
