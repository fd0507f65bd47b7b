package gateway

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures/syncbuf"
)

// A14: a turn that a stop cuts off is interrupted in the store, with why, though the store answers late: neither the end
// of the turn's context nor that of the phase takes its last write away.
func TestA14_ASlowStoreStillGetsTheEndOfATurn(t *testing.T) {
	for _, tc := range []struct {
		name  string
		grace time.Duration
	}{{"its worker writes it", 5 * time.Second}, {"who releases it writes it", 100 * time.Millisecond}} {
		t.Run(tc.name, func(t *testing.T) {
			locked := make(chan struct{})
			var lock func()
			l := start(t, func(s *setup) {
				s.cfg.Shutdown.InterruptGrace.Duration = tc.grace
				s.model = script(func(ctx context.Context, _ model.Request) (model.Response, error) {
					<-ctx.Done()
					lock() // from here the store takes nothing for half a second
					close(locked)
					return model.Response{}, ctx.Err()
				})
			})
			db := second(t, l.dir)
			freed := make(chan struct{})
			lock = func() {
				run(t, db, "BEGIN IMMEDIATE")
				time.AfterFunc(500*time.Millisecond, func() {
					defer close(freed)
					run(t, db, "ROLLBACK")
				})
			}
			l.say("chat:dm:1", "1", "work")
			l.running("chat:dm:1")
			l.stop(ops.ModeFast)
			<-locked
			<-freed
			var state, reason string
			if err := db.QueryRow("SELECT state, reason FROM turns").Scan(&state, &reason); err != nil {
				t.Fatal(err)
			}
			if state != "interrupted" || !strings.Contains(reason, "stopping") {
				t.Fatalf("the turn is %s (%q), want interrupted by the stop", state, reason)
			}
		})
	}
}

// D15: a session whose first write fails is not listed as if it would last, its sender gets an error, and a later message makes
// it. One that the store has stays, even if a later write fails.
func TestD15_ASessionThatCouldNotBeWrittenIsNotListed(t *testing.T) {
	l := start(t)
	const key = "api:user:a"
	db := second(t, l.dir)
	run(t, db, `CREATE TRIGGER full BEFORE INSERT ON turns BEGIN SELECT RAISE(FAIL, 'disk is full'); END`)
	refused := func() {
		t.Helper()
		if got := l.await(l.send(key, "hello")); !ops.HasCode(got.err, ops.CodeUnavailable) || !strings.Contains(got.err.Error(), "could not be saved") {
			t.Fatalf("got %+v", got)
		}
	}
	refused()
	if row := l.session(key); row.Key != "" {
		t.Fatalf("listed is %+v, which no store has", row)
	}
	run(t, db, "DROP TRIGGER full")
	l.ask(key, "hello")
	id := l.session(key).ID
	run(t, db, `CREATE TRIGGER full BEFORE INSERT ON turns BEGIN SELECT RAISE(FAIL, 'disk is full'); END`)
	refused()
	if row := l.session(key); row.ID != id {
		t.Fatalf("listed is %+v, want the session %s that the store has", row, id)
	}
	run(t, db, "DROP TRIGGER full")
}

// HF33: what the database says of a write that failed holds its path; a chat reads the cause alone, and the log has all of it.
func TestHF33_TheErrorOfAnUnsavedMessageNamesNoPath(t *testing.T) {
	var log syncbuf.Buffer
	l := start(t, func(s *setup) { s.log = slog.NewJSONHandler(&log, nil) })
	// A commit that fails, as on a full disk: the row of a turn refers to one that is missing when it ends.
	run(t, second(t, l.dir), "CREATE TABLE there (id INTEGER PRIMARY KEY)",
		"CREATE TABLE missing (id REFERENCES there DEFERRABLE INITIALLY DEFERRED)",
		"CREATE TRIGGER fail AFTER INSERT ON turns BEGIN INSERT INTO missing VALUES (1); END")
	l.say("chat:dm:1", "1", "hello")
	l.wait("the chat has the notice", func() bool { return len(l.chat.messages()) == 1 })
	for _, text := range []string{l.chat.messages()[0], l.await(l.send("api:user:a", "hello")).err.Error()} {
		if strings.Contains(text, l.dir) || !strings.Contains(text, "could not be saved: constraint failed") {
			t.Errorf("the sender gets %q", text)
		}
	}
	l.wait("the log has the details", func() bool {
		lines := log.String()
		return strings.Contains(lines, `"msg":"message or answer not saved"`) && strings.Contains(lines, "commit to "+l.dir+"/gateway.db")
	})
}
