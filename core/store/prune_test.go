package store

import (
	"database/sql"
	"fmt"
	"maps"
	"testing"
)

// F12: retention takes small steps: none deletes more than a batch of any table, and in the end all that is old is gone.
func TestF12_RetentionTakesSmallSteps(t *testing.T) {
	const sessions, turns, messages, batch = 30, 3, 10, 50
	ctx := t.Context()
	s := open(t, t.TempDir())
	must(t, s.write(ctx, "fill", func(x *tx) error {
		for i := range sessions {
			if _, err := x.exec(`INSERT INTO sessions (id, key, platform, user, target, state, created_at, last_activity_at, ended_at, end_reason, tokens_in, tokens_out)
				VALUES (?1, ?1, '', '', '', 'idle', 1, 1, 1, 'reset', 0, 0)`, fmt.Sprint("s", i)); err != nil {
				return err
			}
			for j := range turns {
				id := fmt.Sprint("t", i, ".", j)
				if _, err := x.exec(`INSERT INTO turns (id, session_id, life, started_at, state, reason, tokens_in, tokens_out) VALUES (?, ?, '', 1, 'done', '', 0, 0)`, id, fmt.Sprint("s", i)); err != nil {
					return err
				}
				for k := range messages {
					if _, err := x.exec(`INSERT INTO messages (session_id, turn_id, role, content, tool_call_id, at) VALUES (?, ?, 'user', 'hello', '', 1)`, fmt.Sprint("s", i), id); err != nil {
						return err
					}
					if _, err := x.exec(`INSERT INTO audit (id, at, verb, target, via, uid, pid, tty, user, reason, state, detail) VALUES (?, 1, '', '', '', 0, 0, '', '', '', '', '')`, fmt.Sprint(id, ".", k)); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}))
	total := Pruned{}
	for more := true; more; {
		p, err := s.Prune(ctx, Cutoffs{noon, noon, noon}, batch)
		must(t, err)
		if max(p["messages"], p["turns"], p["sessions"], p["audit"]) > batch || p["messages"] > 0 && p["turns"]+p["sessions"] > 0 {
			t.Fatalf("one step deletes %+v", p)
		}
		more = len(p) > 0
		total.Add(p)
	}
	if want := (Pruned{"sessions": sessions, "turns": sessions * turns, "messages": sessions * turns * messages, "audit": sessions * turns * messages}); !maps.Equal(total, want) {
		t.Errorf("deleted were %+v, want %+v", total, want)
	}
}

// F12: SQLite looks for the children of each row that it deletes (https://www.sqlite.org/foreignkeys.html, 3). Without an
// index on the child's column it reads the whole table for each, while everyone waits for the writer.
func TestF12_WhatRefersToARowIsFoundAlongAnIndex(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	var seen int
	must(t, s.read(ctx, "read the schema", `SELECT t.name, f."from", EXISTS (
			SELECT 1 FROM pragma_index_list(t.name) l, pragma_index_info(l.name) i WHERE NOT l.partial AND i.seqno = 0 AND i.name = f."from")
		FROM sqlite_schema t, pragma_foreign_key_list(t.name) f WHERE t.type = 'table'`, nil, func(rows *sql.Rows) error {
		var table, column string
		var indexed bool
		err := rows.Scan(&table, &column, &indexed)
		if seen++; !indexed {
			t.Errorf("%s.%s has no index of its own", table, column)
		}
		return err
	}))
	if seen < 3 {
		t.Errorf("only %d references were looked at", seen)
	}
}
