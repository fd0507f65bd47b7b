package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// leave puts rows into the store of a home as a crashed life leaves them.
func leave(t *testing.T, dir string, rows func(ctx context.Context, st *store.Store) error) {
	t.Helper()
	st := open(t, dir)
	if err := errors.Join(rows(context.Background(), st), st.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
}

func waitingFrom(id, text string) store.Inbox {
	return store.Inbox{ID: id, Dedupe: "chat:" + id, Session: "chat:dm:1", Adapter: "chat", Target: "1", User: "maria", Text: text, At: time.Now(), State: store.InboxWaiting}
}

// E12: a text for a chat is sent until its platform took it, in order and once.
func TestE12_RepliesOutlastAPlatformThatFails(t *testing.T) {
	var failing atomic.Bool
	failing.Store(true)
	l := start(t, func(s *setup) {
		s.chat.send = func(context.Context, adapter.Outgoing) error {
			if failing.Load() {
				return errors.New("network is unreachable")
			}
			return nil
		}
	})
	for i := range 3 {
		l.say("chat:dm:1", "1", fmt.Sprintf("/queue message %d", i))
	}
	l.wait("every turn has ended", func() bool { turns := l.g.table.Counts().Turns; return turns == 0 && l.g.outbox.Waiting() == 3 })
	failing.Store(false)
	l.do(ops.Command{Verb: ops.VerbReconnect, Target: "chat"})
	l.wait("the replies arrive", func() bool { return len(l.chat.messages()) >= 3 })
	want := "1: you said message 0\n1: you said message 1\n1: you said message 2"
	if got := strings.Join(l.chat.messages(), "\n"); !strings.HasSuffix(got, want) {
		t.Fatalf("sent:\n%s\nwant at the end, in this order:\n%s", got, want)
	}
	l.wait("nothing is left to send", func() bool {
		rows, err := l.g.recovery.Store().OpenOutbox(context.Background())
		return err == nil && len(rows) == 0 && l.g.outbox.Waiting() == 0
	})
}

// HB4: a message from a chat and its reply cost four commits: the message, the begin of its turn, the turn's end with the
// reply, and the reply's delivery.
func TestHB4_AReplyToAChatCostsNoCommitThatChangesNothing(t *testing.T) {
	l := start(t)
	l.wait("the load of the sessions is over", func() bool { return len(l.g.background.Rows(time.Now())) == 0 })
	const messages, each = 5, 4
	least := int64(math.MaxInt64) // of one message: a heartbeat may fall into another
	for i := range messages {
		before := l.g.recovery.Store().Commits()
		l.say("chat:dm:1", "1", fmt.Sprintf("message %d", i))
		l.wait("the reply is delivered and recorded", func() bool {
			rows, err := l.g.recovery.Store().OpenOutbox(context.Background())
			turns := l.g.table.Counts().Turns
			return err == nil && len(rows) == 0 && turns == 0 && len(l.chat.messages()) == i+1
		})
		l.wait("its commits are counted", func() bool { return l.g.recovery.Store().Commits()-before >= each })
		least = min(least, l.g.recovery.Store().Commits()-before)
	}
	if least != each {
		t.Fatalf("a message and its reply cost %d commits, want %d", least, each)
	}
}

// A turn whose answer is on its way has ended: who takes its place says nothing more about it.
func TestE12_AResetWhileAReplyIsOnItsWayChangesNothingAboutIt(t *testing.T) {
	release := make(chan struct{})
	log := &logged{}
	l := start(t, func(s *setup) {
		s.log = slog.NewJSONHandler(log, nil)
		s.chat.send = func(ctx context.Context, m adapter.Outgoing) error {
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	const key = "chat:dm:1"
	l.say(key, "1", "first")
	l.wait("the reply is on its way", func() bool { return l.session(key).Doing == ops.DoingReply })
	if got := l.do(ops.Command{Verb: ops.VerbReset, Target: key}); got.State != ops.RequestDone {
		t.Fatalf("the reset: %+v", got)
	}
	close(release)
	l.say(key, "1", "second")
	l.wait("the next reply arrives", func() bool { return strings.Contains(strings.Join(l.chat.messages(), "\n"), "you said second") })
	if got, want := strings.Join(l.chat.messages(), "\n"), "1: you said first\n1: you said second"; got != want {
		t.Errorf("the chat has:\n%s\nwant:\n%s", got, want)
	}
	if lines := log.lines(t, "interrupted turn's end not saved"); len(lines) > 0 {
		t.Errorf("the log has %v", lines)
	}
}

// A platform that will never take a message is not asked again, and the next one goes out.
func TestAReplyThatIsRefusedForGoodIsNotTriedAgain(t *testing.T) {
	var tries atomic.Int64
	l := start(t, func(s *setup) {
		s.chat.send = func(_ context.Context, m adapter.Outgoing) error {
			if strings.Contains(m.Text, "first") {
				tries.Add(1)
				return &adapter.RefusedError{Why: "the bot was blocked"}
			}
			return nil
		}
	})
	l.say("chat:dm:1", "1", "first")
	l.say("chat:dm:1", "1", "second")
	l.wait("the second reply arrives", func() bool { return strings.Contains(strings.Join(l.chat.messages(), "\n"), "you said second") })
	if n := tries.Load(); n != 1 {
		t.Fatalf("the refused reply was sent %d times", n)
	}
}

// E12, A18: a message that waits when the gateway stops is answered by the next life.
func TestE12_AMessageThatWaitsAtAStopIsAnsweredByTheNextLife(t *testing.T) {
	dir := t.TempDir()
	first := start(t, func(s *setup) { s.dir = dir })
	first.say("chat:dm:1", "1", "hang")
	first.running("chat:dm:1")
	first.say("chat:dm:1", "1", "and this")
	first.wait("it waits", func() bool { return first.session("chat:dm:1").Queued == 1 })
	preview, err := first.g.Preview(context.Background(), ops.Command{Verb: ops.VerbStop})
	if err != nil || !strings.Contains(strings.Join(preview.Keeps, "\n"), "for the next life") {
		t.Fatalf("the preview says %+v, %v", preview, err)
	}
	first.stop(ops.ModeFast)
	for _, m := range first.chat.messages() {
		if strings.Contains(m, "and this") {
			t.Fatalf("the first life sent %q", m)
		}
	}
	next := start(t, func(s *setup) { s.dir = dir })
	next.wait("it is answered", func() bool { return strings.Contains(strings.Join(next.chat.messages(), "\n"), "1: you said and this") })
}

// D19, E12, E15: after a crash what waited is worked on once, what was being worked on is reported and never done again,
// what was answered is sent.
func TestACrashLosesNoMessageAndRepeatsNone(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, func(ctx context.Context, st *store.Store) error {
		now := time.Now()
		s := store.Session{Key: "chat:dm:2", ID: "s2", Platform: "chat", Target: "2", State: ops.SessionRunning, CreatedAt: now, LastActivityAt: now}
		begun := waitingFrom("begun", "dangerous")
		begun.Session, begun.Target = "chat:dm:2", "2"
		_, _, err1 := st.PutInbox(ctx, begun)
		err2 := st.BeginTurn(ctx, s, store.Turn{ID: "t", SessionID: "s2", Life: "crashed", StartedAt: now, State: store.TurnRunning, Message: "begun"}, store.Message{Role: "user", Content: "dangerous", At: now})
		_, _, err3 := st.PutInbox(ctx, waitingFrom("waits", "hello"))
		err4 := st.PutOutbox(ctx, store.Outbox{ID: "unsent", Session: "chat:dm:3", Adapter: "chat", Target: "3", Text: "an answer of the last life", At: now})
		return errors.Join(err1, err2, err3, err4)
	})
	l := start(t, func(s *setup) { s.dir = dir })
	l.wait("all three chats hear something", func() bool { return len(l.chat.messages()) >= 3 })
	again, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", Target: "1", Text: "hello", Dedupe: "chat:waits"})
	if err != nil || again != "waits" {
		t.Fatalf("delivered again in this life it is %q, %v", again, err)
	}
	l.say("chat:dm:1", "1", "last")
	l.wait("the last reply", func() bool { return strings.Contains(strings.Join(l.chat.messages(), "\n"), "you said last") })
	all := strings.Join(l.chat.messages(), "\n")
	for text, want := range map[string]int{
		"1: you said hello": 1,
		"2: The gateway ended while it worked on this message": 1,
		"you said dangerous":            0,
		"3: an answer of the last life": 1,
	} {
		if got := strings.Count(all, text); got != want {
			t.Errorf("%q was sent %d times, want %d, in:\n%s", text, got, want, all)
		}
	}
}

// B10: a session whose turn is cut off by a crash in three lives running waits for a person. A planned stop never counts.
func TestB10_ASessionThatTakesTheGatewayDownThreeTimesIsSuspended(t *testing.T) {
	for _, planned := range []bool{false, true} {
		t.Run(fmt.Sprintf("planned %v", planned), func(t *testing.T) {
			dir := t.TempDir()
			first := start(t, func(s *setup) { s.dir = dir })
			first.ask("api:user:a", "hello")
			id := first.session("api:user:a").ID
			first.stop(ops.ModeFast)
			var l *lab
			for n := range store.SuspendAfter {
				life := fmt.Sprintf("crashed-%d", n)
				row := first.g.recovery.Row()
				row.ID, row.StartedAt, row.HeartbeatAt = life, time.Now().Add(-time.Hour), time.Now().Add(-50*time.Minute)
				crash(t, dir, row)
				leave(t, dir, func(ctx context.Context, st *store.Store) error {
					now := time.Now()
					s := store.Session{Key: "api:user:a", ID: id, Platform: "api", State: ops.SessionRunning, CreatedAt: now, LastActivityAt: now}
					return st.BeginTurn(ctx, s, store.Turn{ID: fmt.Sprint("cut-", n), SessionID: id, Life: life, StartedAt: now, State: store.TurnRunning}, store.Message{Role: "user", Content: "x", At: now})
				})
				l = start(t, func(s *setup) {
					s.dir = dir
					if planned {
						s.opts = func(o *Options) { o.LifeBefore = life }
					}
				})
				if n < store.SuspendAfter-1 {
					l.stop(ops.ModeFast)
				}
			}
			want := ops.SessionSuspended
			if planned {
				want = ops.SessionInterrupted
			}
			if row := l.session("api:user:a"); row.State != want {
				t.Fatalf("the session is %s, want %s", row.State, want)
			}
			if planned {
				return
			}
			_, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: "api:user:a", Text: "x", Responder: make(responder, 1)})
			if !ops.HasCode(err, ops.CodeConflict) || !strings.Contains(err.Error(), "suspended") {
				t.Fatalf("a message to it got %v", err)
			}
			l.ask("api:user:a", "/resume")
			if got := l.ask("api:user:a", "hello"); got != "you said hello" {
				t.Fatalf("after /resume it said %q", got)
			}
		})
	}
}

// B8, B9: three unclean lives that follow each other within minutes are a loop: the next resumes nothing, and says so.
func TestB9_ALoopOfCrashesIsBroken(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, func(ctx context.Context, st *store.Store) error {
		var errs []error
		for i := range 3 {
			began := time.Now().Add(-time.Duration(10-i) * time.Second)
			row := store.Life{ID: fmt.Sprint("crashed-", i), StartedAt: began, HeartbeatAt: began.Add(time.Second), Outcome: ops.OutcomeCrashed}
			errs = append(errs, st.PutLife(ctx, row))
		}
		_, _, err := st.PutInbox(ctx, waitingFrom("waits", "hello"))
		return errors.Join(append(errs, err)...)
	})
	l := start(t, func(s *setup) { s.dir = dir })
	l.wait("the sender gets a notice", func() bool { return len(l.chat.messages()) == 1 })
	if got := l.chat.messages()[0]; !strings.Contains(got, "Send it again") {
		t.Fatalf("the sender gets %q", got)
	}
	st, err := l.g.Status(context.Background())
	if err != nil || !strings.Contains(fmt.Sprint(st.Warnings), "boot_loop") {
		t.Fatalf("the warnings are %+v, %v", st.Warnings, err)
	}
}

// F8: a damaged database fails the start with what to do, and is quarantined only where a person said so.
func TestF8_ADamagedDatabaseIsNeverWrittenTo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gateway.db")
	noise := []byte(strings.Repeat("this is not a database ", 500))
	if err := os.WriteFile(path, noise, 0o600); err != nil {
		t.Fatal(err)
	}
	first := start(t)
	o := first.g.opts
	first.stop(ops.ModeFast)
	o.Home.Database = path
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Run(context.Background()); err == nil || !strings.Contains(ops.AsError(err).Hint, "--fresh-store") {
		t.Fatalf("the start ended with %v", err)
	}
	if kept := read(t, path); kept != string(noise) {
		t.Fatal("the damaged database was changed")
	}
	l := start(t, func(s *setup) {
		s.dir = dir
		s.opts = func(o *Options) { o.FreshStore = true }
	})
	if got := l.ask("api:user:a", "hello"); got != "you said hello" {
		t.Fatalf("got %q", got)
	}
	kept, err := filepath.Glob(path + ".damaged-*")
	if err != nil || len(kept) != 1 || read(t, kept[0]) != string(noise) {
		t.Fatalf("quarantined are %v, %v", kept, err)
	}
}

// A message that comes before its session was loaded goes on with that conversation, and so does an operator's verb.
func TestASessionThatIsNotLoadedYetIsFound(t *testing.T) {
	first := start(t)
	first.ask("api:user:a", "hello")
	id := first.session("api:user:a").ID
	first.stop(ops.ModeFast)
	o := first.g.opts
	o.Life = "next"
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.openStore(t.Context()); err != nil { // and nothing is loaded
		t.Fatal(err)
	}
	g.budget.Open(t.Context(), g.recovery.Store())
	t.Cleanup(g.close)
	g.lifecycle.serve()
	l := &lab{t: t, g: g, dir: first.dir, chat: first.chat}
	l.ask("api:user:a", "again")
	if got := l.session("api:user:a").ID; got != id {
		t.Fatalf("the message went to conversation %s, want %s", got, id)
	}
	l.g.table.Clear() // as before the load
	if got := l.do(ops.Command{Verb: ops.VerbEvict, Target: "api:user:a"}); got.State != ops.RequestDone {
		t.Fatalf("evict: %+v", got)
	}
	l.ask("api:user:b", "hello")
}
