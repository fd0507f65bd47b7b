package gateway

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/conversation"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// second opens the database of a running gateway a second time, as a person with sqlite3 does. Its statements wait for
// the writes of the gateway.
func second(t testing.TB, dir string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "gateway.db")+"?_pragma=busy_timeout(20000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() }) // closed before where that matters
	return db
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// killed is a home as the running gateway of l would leave it if it were killed now.
func killed(t *testing.T, l *lab) (dir string) {
	t.Helper()
	dir = t.TempDir()
	db := second(t, l.dir)
	run(t, db, fmt.Sprintf("VACUUM INTO '%s'", filepath.Join(dir, "gateway.db")))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sentBy counts the messages with a text that several lives sent.
func sentBy(text string, lives ...*lab) (n int) {
	for _, l := range lives {
		n += strings.Count(strings.Join(l.chat.messages(), "\n"), text)
	}
	return n
}

// listed are the keys of a gateway's sessions.
func (l *lab) listed() (keys []string) {
	l.t.Helper()
	s, err := l.g.Snapshot(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, row := range s.Sessions {
		keys = append(keys, row.Key)
	}
	return keys
}

// E12, A18, E15: a text that /queue keeps is worked on by the next life, once, however this one ended.
func TestE12_QueuedTextOutlivesTheGateway(t *testing.T) {
	first := start(t)
	first.say("chat:dm:1", "1", "hang")
	first.running("chat:dm:1")
	in := adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", Target: "1", User: "maria", Text: "/queue /queue and this", Dedupe: "chat:1:9"}
	id, err := first.g.intake.Receive(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	first.wait("its sender has the notice that it waits", func() bool { return sentBy("this one is next", first) == 1 })
	crashed := killed(t, first)
	first.stop(ops.ModeFast)
	for name, dir := range map[string]string{"after a crash": crashed, "after a planned stop": first.dir} {
		t.Run(name, func(t *testing.T) {
			next := start(t, func(s *setup) { s.dir = dir })
			next.wait("it is answered", func() bool { return sentBy("1: you said and this", next) > 0 })
			again, err := next.g.intake.Receive(context.Background(), in)
			if err != nil || again != id {
				t.Fatalf("delivered again it is message %q, %v; want %q", again, err, id)
			}
			next.say("chat:dm:1", "1", "last")
			next.wait("the last reply", func() bool { return sentBy("you said last", next) == 1 })
			if n := sentBy("you said and this", first, next); n != 1 {
				t.Fatalf("it was answered %d times", n)
			}
			next.stop(ops.ModeFast)
		})
	}
}

// E12, E15: a /background task that its life's end cut off is reported to its chat, once, and its session is not listed
// for ever. It is not done again.
func TestE12_ABackgroundTaskThatIsCutOffIsReported(t *testing.T) {
	first := start(t)
	first.ask("chat:dm:1", "hello")
	in := adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", Target: "1", User: "maria", Text: "/background hang", Dedupe: "chat:1:9"}
	id, err := first.g.intake.Receive(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	task := ""
	first.wait("the task runs", func() bool {
		for _, key := range first.listed() {
			if v, running := first.g.table.Running(key); session.IsBackground(key) && running && v.Attached {
				task = key
			}
		}
		return task != "" && sentBy("Working on it", first) == 1
	})
	crashed := killed(t, first)
	first.stop(ops.ModeFast)
	for _, tc := range []struct{ name, dir, notice string }{
		{"after a crash", crashed, "The gateway ended while it worked on your /background task"},
		{"after a planned stop", first.dir, "The turn was interrupted because the gateway is stopping"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			next := start(t, func(s *setup) { s.dir = tc.dir })
			next.wait("its chat gets a notice", func() bool { return sentBy(tc.notice, first, next) > 0 })
			again, err := next.g.intake.Receive(context.Background(), in)
			if err != nil || again != id {
				t.Fatalf("delivered again it is message %q, %v; want %q", again, err, id)
			}
			next.say("chat:dm:1", "1", "last")
			next.wait("the last reply", func() bool { return sentBy("you said last", next) == 1 })
			if n := sentBy(tc.notice, first, next); n != 1 {
				t.Errorf("its chat got %d notices", n)
			}
			if keys := next.listed(); len(keys) != 1 || keys[0] != "chat:dm:1" {
				t.Errorf("listed are %q", keys)
			}
			if s, found, err := next.g.recovery.Store().CurrentSession(context.Background(), task); err != nil || found {
				t.Errorf("the store has the task's session as current: %+v, %v", s, err)
			}
			rows, err := next.g.recovery.Store().OpenInbox(context.Background())
			if err != nil || len(rows) != 0 {
				t.Errorf("open in the inbox: %+v, %v", rows, err)
			}
			next.stop(ops.ModeFast)
		})
	}
}

// A command without work is dropped by the next life.
func TestOnlyACommandWithWorkStaysInTheInbox(t *testing.T) {
	l := start(t)
	l.say("chat:dm:1", "1", "hang")
	l.running("chat:dm:1")
	for _, text := range []string{"/status", "/queue", "/help", "/background", "/background hello", "/queue /status"} {
		l.say("chat:dm:1", "1", text)
	}
	l.wait("all but the turn are answered", func() bool {
		rows, err := l.g.recovery.Store().OpenInbox(context.Background())
		return err == nil && len(rows) == 1 && rows[0].Text == "hang" && rows[0].State == store.InboxRunning && l.g.background.Count("chat:dm:1", conversation.BackgroundTask) == 0
	})
	l.wait("the task's answer follows its notice", func() bool {
		_, after, found := strings.Cut(strings.Join(l.chat.messages(), "\n"), "Working on it")
		return found && strings.Contains(after, "you said hello")
	})
}
