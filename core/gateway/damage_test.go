package gateway

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/health"
	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// F8: damage that is found while serving closes the intake at once: a new message is refused with the reason, one that waits gets
// an error, nothing more is written, the stop is a planned one and its marker makes the next start check.
func TestF8_DamageFoundWhileServingStopsTheWriting(t *testing.T) {
	var mark instance.Marker
	l := start(t, func(s *setup) {
		s.opts = func(o *Options) { hostOf(o).mark = func(m instance.Marker) error { mark = m; return nil } }
	})
	l.ask("api:user:a", "hello")
	hangs := l.send("api:user:b", "hang")
	l.running("api:user:b")
	waits := l.send("api:user:b", "after it")
	l.g.health.StopWriting(&store.DamagedError{Path: l.g.opts.Home.Database, What: "a test says so", Tables: []string{"messages"}})

	if got := l.await(waits); got.err == nil || !strings.Contains(got.err.Error(), "damaged in messages") {
		t.Errorf("the waiting message is answered with %+v", got)
	}
	_, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", User: "maria", Target: "1", Text: "hello"})
	if !ops.HasCode(err, ops.CodeUnavailable) || !strings.Contains(err.Error(), "damaged in messages") || !strings.Contains(err.Error(), "not taken") {
		t.Errorf("a message is refused with %v", err)
	}
	l.say("chat:dm:1", "1", "/status")
	l.wait("a command is answered", func() bool { return len(l.chat.messages()) == 1 })
	l.do(ops.Command{Verb: ops.VerbInterrupt, Target: "api:user:b"})
	if got := l.await(hangs); got.err == nil {
		t.Errorf("a turn that could not be saved is answered with %q", got.text)
	}
	st, err := l.g.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, w := range st.Warnings {
		if w.Code == health.WarnReadOnly {
			said += w.Message
		}
	}
	if strings.Count(said, "in table messages") != 1 || !strings.Contains(said, "Stop the gateway") {
		t.Errorf("the warning is %q", said)
	}
	if report := l.stop(ops.ModeFast); report.ExitCode != 0 || !mark.Damaged {
		t.Errorf("the stop ended with %d, its marker is %+v", report.ExitCode, mark)
	}
}

// F8: a large database is read whole before it can be written to where the last life knew of damage, or a person chose
// what to do about it; without either it is read while serving, and a start does not wait for it (F7).
func TestF7_ALargeDatabaseIsReadWhileServingUnlessItIsDoubted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gateway.db")
	first := start(t, func(s *setup) { s.dir = dir })
	for range 12 {
		first.ask("api:user:a", strings.Repeat("x", 900<<10))
	}
	first.stop(ops.ModeFast)
	info, err := os.Stat(path)
	if err != nil || info.Size() < 8<<20 {
		t.Fatalf("the database has %d bytes, %v", info.Size(), err)
	}
	db, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(db[len(db)-8192:], bytes.Repeat([]byte{0xa5}, 8192)) // pages of messages: no start reads them
	if err := os.WriteFile(path, db, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(change func(*Options)) error {
		o := first.g.opts
		change(&o)
		g, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, err = g.Run(ctx)
		return err
	}
	if err := run(func(o *Options) { o.LifeBefore, o.DamagedBefore = "a", true }); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a start that knows of damage ends with %v", err)
	}
	if now := read(t, path); now != string(db) {
		t.Fatal("the damaged database was changed")
	}
	l := start(t, func(s *setup) { s.dir = dir })
	l.wait("the damage is found", func() bool { return l.g.health.Damage() != "" })
	l.stop(ops.ModeFast)
	fresh := start(t, func(s *setup) {
		s.dir = dir
		s.opts = func(o *Options) { o.FreshStore, o.LifeBefore = true, "a" }
	})
	if got := fresh.ask("api:user:a", "hello"); got != "you said hello" {
		t.Errorf("got %q", got)
	}
	if kept, err := filepath.Glob(path + ".damaged-*"); err != nil || len(kept) == 0 {
		t.Errorf("quarantined are %v, %v", kept, err)
	}
}
