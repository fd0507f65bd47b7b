package store

import (
	"context"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"gatewaytui/core/ops"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func arrived(id, dedupe string) Inbox {
	return Inbox{ID: id, Dedupe: dedupe, Session: "chat:dm:1", Adapter: "chat", Target: "1", User: "maria", Text: "hello", At: noon, State: InboxWaiting}
}

// CV9: the files of a message, and the file that a message to a chat is, are as durable as the messages.
func TestCV9_FilesAreKeptWithTheirMessages(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	in, out := arrived("m1", "chat:77"), Outbox{ID: "o1", Session: "chat:dm:1", Adapter: "chat", Target: "1", Text: "look", At: noon, File: `{"copy":"x"}`}
	in.Files = `[{"ref":"1"}]`
	_, _, err := s.PutInbox(t.Context(), in)
	must(t, err)
	must(t, s.PutOutbox(t.Context(), out))
	must(t, s.Close(t.Context()))
	s = open(t, dir)
	inbox, err := s.OpenInbox(t.Context())
	must(t, err)
	outbox, err := s.OpenOutbox(t.Context())
	must(t, err)
	if diff := gocmp.Diff([]Inbox{in}, inbox); diff != "" {
		t.Errorf("the inbox (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]Outbox{out}, outbox); diff != "" {
		t.Errorf("the outbox (-want +got):\n%s", diff)
	}
}

// E15: a message is taken once, for any number of deliveries, in this life and in later ones; one that was refused may
// come again.
func TestE15_AMessageIsTakenOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	ctx := context.Background()
	for _, step := range []struct {
		name  string
		in    Inbox
		want  string
		fresh bool
	}{
		{"the first time", arrived("m1", "chat:77"), "m1", true},
		{"again", arrived("m2", "chat:77"), "m1", false},
		{"another", arrived("m3", "chat:78"), "m3", true},
		{"without a name of its own", arrived("m4", ""), "m4", true},
		{"without one again", arrived("m5", ""), "m5", true},
	} {
		id, fresh, err := s.PutInbox(ctx, step.in)
		if err != nil || id != step.want || fresh != step.fresh {
			t.Fatalf("%s: %q fresh %v, %v; want %q %v", step.name, id, fresh, err, step.want, step.fresh)
		}
	}
	must(t, s.DropInbox(ctx, "m3"))
	if _, fresh, err := s.PutInbox(ctx, arrived("m6", "chat:78")); !fresh || err != nil {
		t.Fatalf("after it was refused: fresh %v, %v", fresh, err)
	}
	must(t, s.Answer(ctx, "m1", nil))
	must(t, s.Close(ctx))
	s = open(t, dir)
	if id, fresh, err := s.PutInbox(ctx, arrived("m7", "chat:77")); fresh || id != "m1" || err != nil {
		t.Fatalf("in the next life: %q fresh %v, %v", id, fresh, err)
	}
	rows, err := s.OpenInbox(ctx)
	must(t, err)
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	if diff := gocmp.Diff([]string{"m4", "m5", "m6"}, ids); diff != "" {
		t.Fatalf("without an answer are (-want +got):\n%s", diff)
	}
}

// E12: the answer is in the outbox when the turn has ended, and stays there until its platform took it.
func TestE12_AnAnswerIsKeptUntilItWasSent(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	ctx := context.Background()
	_, _, err := s.PutInbox(ctx, arrived("m1", "chat:77"))
	must(t, err)
	v := Session{Key: "chat:dm:1", ID: "s1", State: ops.SessionRunning, CreatedAt: noon, LastActivityAt: noon}
	turn := Turn{ID: "t1", SessionID: "s1", Life: "l1", StartedAt: noon, State: TurnRunning, Message: "m1"}
	must(t, s.BeginTurn(ctx, v, turn, Message{Role: "user", Content: "hello", At: noon}))
	if rows, err := s.OpenInbox(ctx); err != nil || len(rows) != 1 || rows[0].State != InboxRunning {
		t.Fatalf("while the turn runs the inbox is %+v, %v", rows, err)
	}
	reply := Outbox{ID: "m1", Session: "chat:dm:1", Adapter: "chat", Target: "1", Text: "hi", At: noon}
	turn.State, turn.EndedAt, turn.Reply = TurnDone, noon.Add(time.Second), &reply
	must(t, s.EndTurn(ctx, v, turn, nil))
	must(t, s.Answer(ctx, "m1", &Outbox{ID: "m1", Adapter: "chat", Text: "a second answer"}))
	must(t, s.Close(ctx))

	s = open(t, dir)
	if rows, err := s.OpenInbox(ctx); err != nil || len(rows) != 0 {
		t.Fatalf("after the turn the inbox is %+v, %v", rows, err)
	}
	rows, err := s.OpenOutbox(ctx)
	must(t, err)
	if diff := gocmp.Diff([]Outbox{reply}, rows); diff != "" {
		t.Fatalf("the outbox is (-want +got):\n%s", diff)
	}
	must(t, s.EndOutbox(ctx, "m1", "", noon))
	if rows, err := s.OpenOutbox(ctx); err != nil || len(rows) != 0 {
		t.Fatalf("after it was sent the outbox is %+v, %v", rows, err)
	}
}

// Retention: what ended long ago goes, with all that hangs on it; what is current stays, however old.
func TestPruneDeletesOnlyWhatEndedLongAgo(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := context.Background()
	talk := func(key, id string, ended time.Time) {
		t.Helper()
		v := Session{Key: key, ID: id, State: ops.SessionIdle, CreatedAt: noon, LastActivityAt: noon}
		turn := Turn{ID: "t-" + id, SessionID: id, StartedAt: noon, EndedAt: noon, State: TurnRunning}
		must(t, s.BeginTurn(ctx, v, turn, Message{Role: "user", Content: "hello", At: noon}))
		turn.State = TurnDone
		must(t, s.EndTurn(ctx, v, turn, nil))
		if !ended.IsZero() {
			must(t, s.EndSession(ctx, id, ended, "reset"))
		}
	}
	talk("a", "old", noon)
	talk("a", "recent", noon.Add(48*time.Hour))
	talk("a", "current", time.Time{})
	_, _, err := s.PutInbox(ctx, arrived("open", ""))
	must(t, err)
	_, _, err = s.PutInbox(ctx, arrived("answered", ""))
	must(t, err)
	must(t, s.Answer(ctx, "answered", nil))
	must(t, s.PutLife(ctx, Life{ID: "l1", StartedAt: noon, EndedAt: noon, Outcome: ops.OutcomeClean}))
	must(t, s.PutLife(ctx, Life{ID: "killed", StartedAt: noon, HeartbeatAt: noon, Outcome: ops.OutcomeCrashed})) // it has no end
	must(t, s.PutLife(ctx, Life{ID: "cut", StartedAt: noon, HeartbeatAt: noon.Add(48 * time.Hour), Outcome: ops.OutcomeCutShort}))
	must(t, s.PutLife(ctx, Life{ID: "l2", StartedAt: noon, HeartbeatAt: noon, Outcome: ops.OutcomeRunning}))

	got := Pruned{}
	for more := true; more; {
		p, err := s.Prune(ctx, Cutoffs{noon.Add(24 * time.Hour), noon.Add(24 * time.Hour), noon.Add(24 * time.Hour)}, 100)
		must(t, err)
		got.Add(p)
		more = len(p) > 0
	}
	want := Pruned{"sessions": 1, "turns": 1, "messages": 1, "lives": 2, "inbox": 1}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("deleted are (-want +got):\n%s", diff)
	}
	for id, n := range map[string]int{"old": 0, "recent": 1, "current": 1} {
		if rows, err := s.Since(ctx, id, 0); err != nil || len(rows) != n {
			t.Errorf("conversation %s has %d messages, %v; want %d", id, len(rows), err, n)
		}
	}
	if again, err := s.Prune(ctx, Cutoffs{noon.Add(24 * time.Hour), noon.Add(24 * time.Hour), noon.Add(24 * time.Hour)}, 100); err != nil || len(again) > 0 {
		t.Fatalf("a second time it deletes %+v, %v", again, err)
	}
}
