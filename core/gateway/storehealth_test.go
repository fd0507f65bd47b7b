package gateway

import (
	"context"
	"os"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/health"
	"gatewaytui/core/ops"
)

// storeWarning is the text of the warning store; empty: there is none.
func (l *lab) storeWarning() string {
	l.t.Helper()
	st, err := l.g.Status(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, w := range st.Warnings {
		if w.Code == health.WarnStore {
			return w.Message
		}
	}
	return ""
}

// HF13: ready means that a message can be taken.
func TestADatabaseThatWasDeletedOrMovedEndsReadinessAtOnce(t *testing.T) {
	for name, displace := range map[string]func(l *lab) error{
		"the database is deleted": func(l *lab) error { return os.Remove(l.g.opts.Home.Database) },
		"the home is moved away":  func(l *lab) error { return os.Rename(l.dir, l.dir+".moved") },
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t)
			if err := l.g.Readiness(t.Context()); err != nil {
				t.Fatalf("a sound gateway is not ready: %v", err)
			}
			if err := displace(l); err != nil {
				t.Fatal(err)
			}
			// No message is needed to notice. A machine under load may take longer than the look is waited for.
			var err error
			l.wait("it is not ready", func() bool { err = l.g.Readiness(t.Context()); return err != nil })
			if !strings.Contains(err.Error(), "replaced or deleted") || strings.Contains(err.Error(), l.dir) {
				t.Errorf("the reason is %q, want the cause without a path", err)
			}
			if w := l.storeWarning(); !strings.Contains(w, "takes nothing") {
				t.Errorf("the warning is %q", w)
			}
		})
	}
}

// HF13: a failed write ends readiness, and the first one that succeeds, which needs no message, restores it.
func TestReadinessFollowsTheLastWrite(t *testing.T) {
	l := start(t)
	db := second(t, l.dir)
	run(t, db, "BEGIN IMMEDIATE") // every write fails after a second: the lock is held
	if got := l.await(l.send("api:user:a", "hello")); !ops.HasCode(got.err, ops.CodeUnavailable) {
		t.Fatalf("the message was answered %+v", got)
	}
	if err := l.g.Readiness(t.Context()); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("after a write that failed readiness says %v", err)
	}
	if w := l.storeWarning(); !strings.Contains(w, "locked") {
		t.Errorf("the warning is %q", w)
	}
	if got := counted(t, l.g, "gatewaytui_ready", nil); got != 0 {
		t.Errorf("gatewaytui_ready is %v", got)
	}
	run(t, db, "ROLLBACK")
	l.wait("it is ready again by itself", func() bool { return l.g.Readiness(t.Context()) == nil })
	if w := l.storeWarning(); strings.Contains(w, "locked") { // the writes that waited may make another one: the store is slow
		t.Errorf("the warning is still %q", w)
	}
	if got := counted(t, l.g, "gatewaytui_ready", nil); got != 1 {
		t.Errorf("gatewaytui_ready is %v", got)
	}
}

// HF29: a database that is truncated under the gateway takes no further message, and says why.
func TestATruncatedDatabaseEndsReadiness(t *testing.T) {
	l := start(t)
	big := strings.Repeat("x", 1<<20)
	var size int64
	l.wait("the database holds pages", func() bool {
		l.ask("api:user:a", big)
		fi, err := os.Stat(l.g.opts.Home.Database)
		size = fi.Size()
		return err == nil && size > 1<<20
	})
	l.wait("the size was seen", func() bool { return l.g.Readiness(t.Context()) == nil })
	if err := os.Truncate(l.g.opts.Home.Database, size/2); err != nil { // opens nothing: truncate(2)
		t.Fatal(err)
	}
	var err error
	l.wait("it is not ready", func() bool { err = l.g.Readiness(t.Context()); return err != nil })
	l.wait("messages are refused", func() bool {
		_, err := l.g.intake.Receive(t.Context(), adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", Target: "1", Text: "hello"})
		return ops.HasCode(err, ops.CodeUnavailable) && strings.Contains(err.Error(), "damaged")
	})
	st, statusErr := l.g.Status(t.Context())
	if statusErr != nil {
		t.Fatal(statusErr)
	}
	said := ""
	for _, w := range st.Warnings {
		if w.Code == health.WarnReadOnly {
			said = w.Message
		}
	}
	if !strings.Contains(said, "truncated under the running gateway") {
		t.Errorf("readiness says %v, the warning %q", err, said)
	}
}

// HF31: a trigger that no gateway made is not obeyed, and a warning names it.
func TestHF31_AForeignTriggerIsNamedAndNotObeyed(t *testing.T) {
	l := start(t)
	l.ask("api:user:a", "hello")
	l.stop(ops.ModeFast)
	db := second(t, l.dir)
	run(t, db, "CREATE TRIGGER spy BEFORE INSERT ON turns BEGIN SELECT RAISE(FAIL, 'obeyed'); END")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	next := start(t, func(s *setup) { s.dir = l.dir })
	if got := next.ask("api:user:a", "hello"); got != "you said hello" {
		t.Errorf("a message is answered %q", got)
	}
	st, err := next.g.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, w := range st.Warnings {
		if w.Code == "store.schema" {
			said = w.Message
		}
	}
	if !strings.Contains(said, `trigger "spy" on "turns"`) {
		t.Errorf("the warning is %q", said)
	}
}
