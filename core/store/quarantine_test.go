package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// tamper runs statements on a closed database, as a program would that obeys none of its rules.
func tamper(t testing.TB, path string, statements ...string) {
	t.Helper()
	loose := []string{
		"PRAGMA foreign_keys = OFF", "PRAGMA ignore_check_constraints = ON", "PRAGMA writable_schema = ON",
		"UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE type = 'table'",
	}
	strict := `UPDATE sqlite_schema SET sql = CASE WHEN sql LIKE '%, WITHOUT ROWID' THEN replace(sql, ') , WITHOUT ROWID', ') STRICT, WITHOUT ROWID')
		ELSE sql || ' STRICT' END WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`
	for _, batch := range [][]string{loose, append([]string{"PRAGMA ignore_check_constraints = ON"}, statements...), {"PRAGMA writable_schema = ON", strict}} {
		if err := foreign(path, "rw", func() {}, batch...); err != nil {
			t.Fatal(err)
		}
	}
}

// quarantined are the rows that were quarantined, as "table why".
func quarantined(t testing.TB, s *Store) (rows []string, full []string) {
	t.Helper()
	err := s.read(context.Background(), "read the quarantine", "SELECT source, row, why FROM quarantine ORDER BY seq", nil, func(r *sql.Rows) error {
		var source, row, why string
		err := r.Scan(&source, &row, &why)
		if !json.Valid([]byte(row)) {
			t.Errorf("the row of %s is not JSON: %s", source, row)
		}
		rows, full = append(rows, source+": "+why), append(full, row)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, full
}

const (
	newLife    = `INSERT INTO lives (id, pid, start_ticks, boot_id, version, started_at, outcome, phase, reason, by) VALUES `
	newProcess = `INSERT INTO processes (life, pid, start_ticks, boot_id, session, command, policy, started_at, how) VALUES `
	newInbox   = `INSERT INTO inbox (id, dedupe, session, adapter, target, user, text, at, state) VALUES `
	newOutbox  = `INSERT INTO outbox (id, session, adapter, target, text, at, state, reason) VALUES `
	newSession = `INSERT INTO sessions (id, key, platform, user, target, state, created_at, last_activity_at, end_reason, tokens_in, tokens_out) VALUES `
	newCalled  = `INSERT INTO sessions (id, key, platform, user, target, state, created_at, last_activity_at, end_reason, tokens_in, tokens_out, caller_by, caller_uid) VALUES `
	newTurn    = `INSERT INTO turns (id, session_id, life, started_at, state, reason, tokens_in, tokens_out) VALUES `
)

// Issue 4, "Bad input": an invalid row is kept and named, nothing is done for it, and the rows next to it are
// what they were.
func TestAnInvalidRowIsQuarantined(t *testing.T) {
	sound := soundRows(t)
	future := fmt.Sprint(time.Now().Add(48 * time.Hour).UnixMicro())
	for _, tc := range []struct{ name, row, table, says string }{
		{"a process whose pid is zero", newProcess + `('l', 0, 1, 'b', 's', 'c', 'turn', 1, '')`, "processes", "pid is 0"},
		{"a process whose pid is negative: a group, to kill(2)", newProcess + `('l', -1, 1, 'b', 's', 'c', 'turn', 1, '')`, "processes", "pid is -1"},
		{"a process whose pid none can be", newProcess + `('l', 4294967297, 1, 'b', 's', 'c', 'turn', 1, '')`, "processes", "pid is 4294967297"},
		{"a process whose pid is a word", newProcess + `('l', 'init', 1, 'b', 's', 'c', 'turn', 1, '')`, "processes", "pid is not a number"},
		{"a process whose ticks are negative", newProcess + `('l', 5, -7, 'b', 's', 'c', 'turn', 1, '')`, "processes", "start_ticks"},
		{"a process of an unknown policy", newProcess + `('l', 5, 1, 'b', 's', 'c', 'for ever', 1, '')`, "processes", "policy"},
		{"a process of the future", newProcess + `('l', 5, 1, 'b', 's', 'c', 'turn', ` + future + `, '')`, "processes", "in the future"},
		{"a process whose time is a word", newProcess + `('l', 5, 1, 'b', 's', 'c', 'turn', 'noon', '')`, "processes", "started_at"},
		{"a process of no life", newProcess + `('', 5, 1, 'b', 's', 'c', 'turn', 1, '')`, "processes", "life is empty"},
		{"a life of an unknown outcome", newLife + `('l', 5, 1, 'b', 'v', 1, 'fine', '', '', '')`, "lives", "outcome"},
		{"a life whose pid is negative", newLife + `('l', -5, 1, 'b', 'v', 1, 'running', '', '', '')`, "lives", "pid"},
		{"a life that began before time", newLife + `('l', 5, 1, 'b', 'v', -1, 'running', '', '', '')`, "lives", "started_at"},
		{"a life that began after the year 9999", newLife + `('l', 5, 1, 'b', 'v', 9000000000000000000, 'running', '', '', '')`, "lives", "started_at"},
		{"a report that is cut off", `INSERT INTO shutdowns (id, life, report) VALUES ('s', 'l', '{"id":"s","phases":[{"na')`, "shutdowns", "report"},
		{"a report that is bytes", `INSERT INTO shutdowns (id, life, report) VALUES ('s', 'l', x'00ff')`, "shutdowns", "report"},
		{"a report with an invalid time", `INSERT INTO shutdowns (id, life, report) VALUES ('s', 'l', '{"id":"s","started_at":"noon"}')`, "shutdowns", "report"},
		{"a message in an unknown state", newInbox + `('m', 'd', 'chat:dm:1', 'chat', '1', 'u', 'hello', 1, 'lost')`, "inbox", "state"},
		{"a message for no session", newInbox + `('m', 'd', '', 'chat', '1', 'u', 'hello', 1, 'waiting')`, "inbox", "session is empty"},
		{"a message whose text is a number", newInbox + `('m', 'd', 'chat:dm:1', 'chat', '1', 'u', x'68', 1, 'waiting')`, "inbox", "text is not text"},
		{"an answer for no adapter", newOutbox + `('o', 'chat:dm:1', '', '1', 'hello', 1, 'waiting', '')`, "outbox", "adapter is empty"},
		{"an answer whose time is a word", newOutbox + `('o', 'chat:dm:1', 'chat', '1', 'hello', 'noon', 'waiting', '')`, "outbox", "at"},
		{"a turn that began before time", newTurn + `('bad', 's0', 'l', -1, 'running', '', 0, 0)`, "turns", "started_at"},
		{"a session in an unknown state", newSession + `('bad', 'chat:dm:7', 'chat', 'u', '7', 'asleep', 1, 1, '', 0, 0)`, "sessions", "state"},
		{"a session with a word for its activity", newSession + `('bad', 'chat:dm:7', 'chat', 'u', '7', 'idle', 1, 'noon', '', 0, 0)`, "sessions", "last_activity_at"},
		{"a session with fewer tokens than none", newSession + `('bad', 'chat:dm:7', 'chat', 'u', '7', 'idle', 1, 1, '', -1, 0)`, "sessions", "tokens_in"},
		{"a session that came in an unknown way", newCalled + `('bad', 'api:user:x', 'api', 'u', 'x', 'idle', 1, 1, '', 0, 0, 'trust me', 0)`, "sessions", "caller_by"},
		{"a session of a uid that none can be", newCalled + `('bad', 'api:user:x', 'api', 'u', 'x', 'idle', 1, 1, '', 0, 0, 'kernel', 4294967295)`, "sessions", "caller_uid"},
		{"a session of a negative uid", newCalled + `('bad', 'api:user:x', 'api', 'u', 'x', 'idle', 1, 1, '', 0, 0, 'key', -2)`, "sessions", "caller_uid"},
		{"a session of no chat", newSession + `('bad', '', 'chat', 'u', '7', 'idle', 1, 1, '', 0, 0)`, "sessions", "key is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, path := t.Context(), filepath.Join(t.TempDir(), "gateway.db")
			must(t, os.WriteFile(path, sound, 0o600))
			tamper(t, path, tc.row)

			s, err := Open(ctx, Options{Path: path, Verify: true}) // an invalid row is not damage of the file
			must(t, err)
			defer shut(t, s)
			kept := 0
			left, err := s.Sessions(ctx, func(Session) error { kept++; return nil })
			if want := map[bool]int{true: 1}[tc.table == "sessions"]; err != nil || left != want || kept != 1 {
				t.Errorf("%d sessions are read and %d left out, %v", kept, left, err)
			}
			found, err := s.QuarantineRows(ctx, append(AtStart, OfSessions...), time.Now())
			if err != nil || len(found) != 1 || found[0].Table != tc.table || !strings.Contains(found[0].Why, tc.says) {
				t.Fatalf("quarantined are %v, %v; want one of %s that says %q", found, err, tc.table, tc.says)
			}
			if rows, _ := quarantined(t, s); len(rows) != 1 || rows[0] != tc.table+": "+found[0].Why {
				t.Errorf("the quarantine holds %q", rows)
			}
			if again, err := s.QuarantineRows(ctx, append(AtStart, OfSessions...), time.Now()); len(again) > 0 || err != nil {
				t.Errorf("a second time %v, %v", again, err)
			}
			checkSound(t, s)
		})
	}
}

// soundRows is a closed database with a sound row in each table.
func soundRows(t *testing.T) []byte {
	t.Helper()
	ctx, dir := t.Context(), t.TempDir()
	s := unsynced(t, dir)
	must(t, s.PutLife(ctx, Life{ID: "sound", PID: 7, StartedAt: noon, Outcome: ops.OutcomeCrashed}))
	must(t, s.RecordProcesses(ctx, []Process{{Life: "sound", PID: 7, Policy: "session", StartedAt: noon}}))
	must(t, s.SaveShutdown(ctx, ops.Shutdown{ID: "sound", Life: "sound"}))
	v := Session{Key: "chat:dm:0", ID: "s0", Platform: "chat", State: ops.SessionIdle, CreatedAt: noon, LastActivityAt: noon}
	turn := begun(t, s, v, "sound")
	turn.State = TurnDone
	must(t, s.EndTurn(ctx, v, turn, nil))
	_, _, err := s.PutInbox(ctx, Inbox{ID: "sound", Session: v.Key, Adapter: "chat", Text: "hi", At: noon, State: InboxWaiting})
	must(t, err)
	must(t, s.PutOutbox(ctx, Outbox{ID: "sound", Session: v.Key, Adapter: "chat", Text: "hi", At: noon}))
	must(t, s.Close(ctx))
	b, err := os.ReadFile(filepath.Join(dir, "gateway.db"))
	must(t, err)
	return b
}

// checkSound reports it if a start would believe anything but the sound rows.
func checkSound(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	if rows, err := s.LiveProcesses(ctx); err != nil || len(rows) != 1 || rows[0].PID != 7 {
		t.Errorf("the live processes are %+v, %v", rows, err)
	}
	if l, found, err := s.LastLife(ctx); err != nil || !found || l.ID != "sound" {
		t.Errorf("the last life is %+v, %v, %v", l, found, err)
	}
	if sd, found, err := s.LastShutdown(ctx); err != nil || !found || sd.ID != "sound" {
		t.Errorf("the last shutdown is %+v, %v, %v", sd, found, err)
	}
	if rows, err := s.OpenInbox(ctx); err != nil || len(rows) != 1 || rows[0].ID != "sound" {
		t.Errorf("the inbox is %+v, %v", rows, err)
	}
	if rows, err := s.OpenOutbox(ctx); err != nil || len(rows) != 1 || rows[0].ID != "sound" {
		t.Errorf("the outbox is %+v, %v", rows, err)
	}
	if n, err := s.InterruptRunning(ctx, "test", true, noon); err != nil || n != 0 {
		t.Errorf("%d turns were running, %v", n, err)
	}
	if left, err := s.Sessions(ctx, func(Session) error { return nil }); err != nil || left != 0 {
		t.Errorf("%d sessions are left out, %v", left, err)
	}
}

// A conversation goes on: of its row only what cannot be true is replaced, and the row as it was is kept.
func TestASessionThatCannotBeTrueKeepsItsConversation(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := open(t, dir)
	v := Session{Key: "chat:dm:0", ID: "s0", Platform: "chat", State: ops.SessionIdle, CreatedAt: noon, LastActivityAt: noon}
	must(t, s.BeginTurn(ctx, v, Turn{ID: "t", SessionID: "s0", StartedAt: noon}, Message{Role: "user", Content: "remember me", At: noon}))
	must(t, s.Close(ctx))
	tamper(t, filepath.Join(dir, "gateway.db"), "UPDATE sessions SET state = 'asleep', tokens_out = -4")
	s = open(t, dir)
	found, err := s.QuarantineRows(ctx, OfSessions, noon)
	if err != nil || len(found) != 1 || found[0].Name != v.Key {
		t.Fatalf("quarantined are %v, %v", found, err)
	}
	got, current, err := s.CurrentSession(ctx, v.Key)
	if err != nil || !current || got.ID != "s0" || got.State != ops.SessionInterrupted || got.TokensOut != 0 || !got.CreatedAt.Equal(noon) {
		t.Errorf("the session is %+v, %v, %v", got, current, err)
	}
	if talk, err := s.Since(ctx, "s0", 0); err != nil || len(talk) != 1 || talk[0].Content != "remember me" {
		t.Errorf("the conversation is %+v, %v", talk, err)
	}
	if _, full := quarantined(t, s); len(full) != 1 || !strings.Contains(full[0], `"state":"asleep"`) || !strings.Contains(full[0], `"tokens_out":-4`) {
		t.Errorf("the quarantine holds %q", full)
	}
}

// For any column, the check ends with a reason or without one, and what passes can be read.
func FuzzJudge(f *testing.F) {
	f.Add(int64(0), "", []byte(nil), uint8(0))
	f.Add(int64(-1), "{", []byte("x"), uint8(1))
	f.Add(int64(0), "", []byte("000000000"), uint8(2))
	f.Add(int64(lastMoment+1), `{"phases":7}`, []byte{0xff}, uint8(2))
	f.Fuzz(func(t *testing.T, n int64, s string, b []byte, kind uint8) {
		v := []any{n, s, b, nil, float64(n)}[kind%5]
		for _, sus := range rowRules {
			for _, c := range sus.rules {
				why := c.judge(v, noon)
				if len(why) > 600 || strings.ContainsAny(why, "\n\x1b") {
					t.Fatalf("%s.%s of %v: %q", sus.table, c.columns, v, why)
				}
				if why != "" {
					continue
				}
				switch got := v.(type) {
				case int64:
					if c.columns == "pid" && (got < 0 || got > maxPID) {
						t.Fatalf("%s: pid %d is passed", sus.table, got)
					}
					if strings.Contains(c.columns, "_at") && time.UnixMicro(got).UTC().Year() > 9999 {
						t.Fatalf("%s: time %d is passed", sus.table, got)
					}
				case string:
					if c.columns == "report" && json.Unmarshal([]byte(got), new(ops.Shutdown)) != nil {
						t.Fatalf("report %q is passed", got)
					}
				}
			}
		}
	})
}

// F8: a database that is damaged is looked at by a start that writes nothing to it; what can be read is read, and the
// table is named.
func TestF8_ADamagedDatabaseIsReadAsFarAsItsPagesGo(t *testing.T) {
	dir := t.TempDir()
	path := filled(t, dir)
	ctx := t.Context()
	s := open(t, dir)
	must(t, s.PutLife(ctx, Life{ID: "l", PID: 7, StartedAt: noon, Outcome: ops.OutcomeClean}))
	must(t, s.Close(ctx))
	root := rootPage(t, path, "messages")
	db, err := os.ReadFile(path)
	must(t, err)
	for i := range 4096 { // its first page
		db[(root-1)*4096+i] = byte(i*7 + 3)
	}
	must(t, os.WriteFile(path, db, 0o600))

	_, err = Open(ctx, Options{Path: path, Verify: true})
	e, is := errors.AsType[*DamagedError](err)
	if !is || len(e.Tables) != 1 || e.Tables[0] != "messages" || !strings.Contains(e.Error(), "in table messages") {
		t.Fatalf("opened with %v, want that table messages is named", err)
	}
	same := func(when string) {
		t.Helper()
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, db) {
			t.Fatalf("%s the database is another, %v", when, err)
		}
	}
	same("after a start that failed")
	s, err = Open(ctx, Options{Path: path, ReadOnly: true})
	must(t, err)
	if l, found, err := s.LastLife(ctx); err != nil || !found || l.ID != "l" {
		t.Errorf("the last life is %+v, %v, %v", l, found, err)
	}
	n := 0
	if left, err := s.Sessions(ctx, func(Session) error { n++; return nil }); err != nil || n != 200 || left != 0 {
		t.Errorf("%d sessions are read, %v", n, err)
	}
	if _, err := s.Since(ctx, "5", 0); err == nil {
		t.Error("a transcript of the damaged table is read")
	} else if _, is := errors.AsType[*DamagedError](err); !is {
		t.Errorf("a transcript is refused with %v, which does not name the damage", err)
	}
	if err := s.PutLife(ctx, Life{ID: "new"}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a write gives %v", err)
	}
	must(t, s.Close(ctx))
	same("after a read-only life")
}

// A store that learns of damage while it works takes nothing more, and its close copies nothing into the database.
func TestF8_NothingIsWrittenOnceDamageIsKnown(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gateway.db")
	s := open(t, dir)
	mustWrite(t, s, "before")
	s.StopWriting()
	if err := s.PutLife(t.Context(), Life{ID: "after"}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("a write gives %v", err)
	}
	before, err := os.Stat(path)
	must(t, err)
	must(t, s.Close(t.Context()))
	after, err := os.Stat(path)
	must(t, err)
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the close changed the database: %v %v, then %v %v", before.Size(), before.ModTime(), after.Size(), after.ModTime())
	}
	next := open(t, dir)
	if l, found, err := next.LastLife(t.Context()); err != nil || !found || l.ID != "before" {
		t.Errorf("the next life reads %+v, %v, %v", l, found, err)
	}
}

func rootPage(t *testing.T, path, table string) (page int) {
	t.Helper()
	db, err := sql.Open("sqlite", dataSource(path, "ro"))
	must(t, err)
	defer db.Close()
	must(t, db.QueryRow("SELECT rootpage FROM sqlite_schema WHERE name = ?", table).Scan(&page))
	return page
}
