package store

import (
	"context"
	"time"
)

// Pruned is how many rows of each table were deleted, without the tables that had none to delete.
type Pruned map[string]int

// Add adds q.
func (p Pruned) Add(q Pruned) {
	for table, n := range q {
		p[table] += n
	}
}

// Sum is how many rows of all tables were deleted.
func (p Pruned) Sum() (rows int) {
	for _, n := range p {
		rows += n
	}
	return rows
}

const (
	goneSessions = `(SELECT id FROM sessions WHERE ended_at < ?1 ORDER BY ended_at LIMIT ?2)`
	// A life that was killed has no end; its last heartbeat counts instead.
	// The ids of turns sort by their time, so the oldest come first, and an index of the ends would cost each turn a write.
	goneTimelines = `(SELECT turn_id FROM (SELECT turn_id, at FROM timelines ORDER BY turn_id LIMIT ?2) WHERE at < ?1)`
	goneLives     = `(SELECT id FROM lives WHERE coalesce(ended_at, heartbeat_at) < ?1 AND outcome <> 'running' ORDER BY seq LIMIT ?2)`
)

// Cutoffs say before when something must have ended to be deleted, by kind; of a kind with a zero time nothing is.
type Cutoffs struct {
	// Transcripts are conversations with their turns and messages.
	Transcripts, Audit time.Time
	// Rest is everything else: the journal, past lives with their shutdowns, messages to and from chats that have their answer,
	// answers that the API keeps, warnings about budgets, raises of budgets that have ended, and quarantined rows. Timelines are part
	// of it, also those of conversations that go on. What was used stays.
	Rest time.Time
}

func ofTranscripts(c Cutoffs) time.Time { return c.Transcripts }
func ofAudit(c Cutoffs) time.Time       { return c.Audit }
func ofRest(c Cutoffs) time.Time        { return c.Rest }

// prunings are the statements of Prune by table, in their order. A conversation is deleted from its messages upwards, each
// part once the previous one is gone: a table after another is skipped while that one had rows to delete.
var prunings = []struct {
	table, after string
	of           func(Cutoffs) time.Time
	text         string
}{
	{"unflushed", "", ofTranscripts, `DELETE FROM unflushed WHERE session_id IN ` + goneSessions},
	{"messages", "", ofTranscripts, `DELETE FROM messages WHERE seq IN (SELECT seq FROM messages WHERE session_id IN ` + goneSessions + ` LIMIT ?2)`},
	{"turns", "messages", ofTranscripts, `DELETE FROM turns WHERE id IN (SELECT id FROM turns WHERE session_id IN ` + goneSessions + ` LIMIT ?2)`},
	{"sessions", "turns", ofTranscripts, `DELETE FROM sessions WHERE id IN ` + goneSessions},
	{"processes", "", ofRest, `DELETE FROM processes WHERE (life, pid, start_ticks) IN (SELECT life, pid, start_ticks FROM processes WHERE ended_at < ?1 LIMIT ?2)`},
	{"audit", "", ofAudit, `DELETE FROM audit WHERE seq IN (SELECT seq FROM audit WHERE at < ?1 LIMIT ?2)`},
	{"shutdowns", "", ofRest, `DELETE FROM shutdowns WHERE life IN ` + goneLives},
	{"lives", "", ofRest, `DELETE FROM lives WHERE id IN ` + goneLives},
	{"inbox", "", ofRest, `DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox WHERE state = 'answered' AND at < ?1 LIMIT ?2)`},
	{"outbox", "", ofRest, `DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox WHERE state <> 'waiting' AND ended_at < ?1 LIMIT ?2)`},
	{"timelines", "", ofRest, `DELETE FROM timelines WHERE turn_id IN ` + goneTimelines},
	{"responses", "", ofRest, `DELETE FROM responses WHERE id IN (SELECT id FROM responses WHERE at < ?1 LIMIT ?2)`},
	{"pairings", "", ofRest, `DELETE FROM pairings WHERE (platform, id) IN (SELECT platform, id FROM pairings WHERE asked < ?1 LIMIT ?2)`},
	{"approvals", "", ofAudit, `DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE ended_at < ?1 LIMIT ?2)`},
	{"approval_rules", "", ofRest, `DELETE FROM approval_rules WHERE id IN (SELECT id FROM approval_rules WHERE expires_at < ?1 LIMIT ?2)`},
	{"budget_notices", "", ofRest, `DELETE FROM budget_notices WHERE seq IN (SELECT seq FROM budget_notices WHERE at < ?1 LIMIT ?2)`},
	{"budget_raises", "", ofRest, `DELETE FROM budget_raises WHERE seq IN (SELECT seq FROM budget_raises WHERE until < ?1 LIMIT ?2)`},
	{"quarantine", "", ofRest, `DELETE FROM quarantine WHERE seq IN (SELECT seq FROM quarantine WHERE at < ?1 LIMIT ?2)`},
}

// Retention is how long ended rows are kept whose kind has no key in the config, so that the database does not grow for ever (F7).
const Retention = 90 * 24 * time.Hour

// Prune deletes what ended before the time of its kind. It never touches current rows. It deletes at most batch rows of each table
// at once, along an index, so that no other call waits long for the writer (F12). Call it again until nothing was deleted.
func (s *Store) Prune(ctx context.Context, before Cutoffs, batch int) (Pruned, error) {
	return result(ctx, s, "prune", func(t *tx) (Pruned, error) {
		p, skipped := Pruned{}, map[string]bool{}
		for _, step := range prunings {
			if skipped[step.after] || p[step.after] > 0 {
				skipped[step.table] = true
				continue
			}
			old := step.of(before)
			if old.IsZero() {
				continue
			}
			n, err := t.exec(step.text, stamp(old), batch)
			if err != nil {
				return nil, err
			}
			if n > 0 {
				p[step.table] = n
			}
		}
		return p, nil
	})
}
