package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func TestCV13_WhoseAConversationIs(t *testing.T) {
	f := Forgetting{Platform: "telegram", ID: "47"}
	for key, own := range map[string]bool{
		"telegram:dm:47":                       true,
		"telegram:dm:47:topic:3":               true,
		"telegram:dm:47:bg:01ABC":              true,
		"telegram:group:-100:user:47":          true,
		"telegram:group:-100:topic:7:user:47":  true,
		"telegram:group:-100:user:47:bg:01ABC": true,
		"telegram:dm:471":                      false,
		"telegram:dm:147":                      false,
		"telegram:group:-100:topic:47":         false,
		"telegram:group:-100:user:471":         false,
		"telegram:group:47":                    false,
		"discord:dm:47":                        false,
	} {
		if got := f.Owns(key); got != own {
			t.Errorf("%s belongs to %s alone: %v, want %v", key, f.ID, got, own)
		}
	}
}

func TestCV13_AnIDWithColonsIsThatOfOnePerson(t *testing.T) {
	const at, port = "@a:hs", "@a:hs:8448"
	for key, owner := range map[string]string{
		"matrix:dm:@a:hs":                                   at,
		"matrix:dm:@a:hs:thread:$e":                         at,
		"matrix:dm:@a:hs:bg:01ABC":                          at,
		"matrix:dm:@a:hs:8448":                              port,
		"matrix:dm:@a:hs:8448:thread:$e":                    port,
		"matrix:group:!r:hs:8448:user:@a:hs":                at,
		"matrix:group:!r:hs:thread:$e:user:@a:hs:8448":      port,
		"matrix:group:!r:hs:8448:user:@a:hs:8448:bg:01ABC":  port,
		"matrix:dm:@b:@a:hs":                                "",
		"matrix:group:!dm:@a:hs":                            "",
		"matrix:group:!r:hs:thread:$user:@a:hs:xuser:@a:hs": "",
	} {
		for _, id := range []string{at, port} {
			if got := (Forgetting{Platform: "matrix", ID: id}).Owns(key); got != (id == owner) {
				t.Errorf("%s belongs to %s alone: %v", key, id, got)
			}
		}
	}
}

// person is everything that the store keeps of telegram:47, whose words all have the word wordOf47, and of others.
func person(t *testing.T, s *Store, at time.Time) {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	talk := func(key, id, user, text string, shared ...Message) {
		v := Session{ID: id, Key: key, Platform: "telegram", User: user, Target: "47", State: ops.SessionIdle, CreatedAt: at, LastActivityAt: at, Title: "title " + text}
		turn := Turn{ID: "t-" + id, SessionID: id, Life: "life-1", StartedAt: at, EndedAt: at, State: TurnRunning}
		must(s.BeginTurn(ctx, v, turn, append([]Message{{Role: "user", Who: user, Content: text, At: at}}, shared...)...))
		must(s.Compact(ctx, id, turn.ID, Compaction{Upto: 1, Summary: "summary " + text, Said: []string{text}, At: at}))
		_, err := s.PutPin(ctx, id, "pin "+text, at)
		must(err)
		turn.State = TurnDone
		must(s.EndTurn(ctx, v, turn, []Message{{Role: "assistant", Content: "answer", At: at}}))
	}
	talk("telegram:dm:47", "own", "maria (47)", "dm wordOf47")
	must(s.EndSession(ctx, "own", at, "reset"))
	talk("telegram:dm:47", "own2", "maria (47)", strings.Repeat("long wordOf47 ", 2000))
	talk("telegram:group:-1:user:47", "member", "maria (47)", "group wordOf47")
	talk("telegram:dm:48", "other", "otto (48)", "dm of 48")
	talk("telegram:group:-1:topic:7", "shared", "maria (47)", "thread wordOf47", Message{Role: "user", Who: "otto (48)", Content: "thread of 48", At: at})
	for i, in := range []Inbox{
		{Session: "telegram:dm:47", User: "maria (47)", Text: "inbox wordOf47", State: InboxAnswered},
		{Session: "telegram:group:-1:topic:7", User: "47", Text: "waiting wordOf47", State: InboxWaiting},
		{Session: "telegram:group:-1:topic:7", User: "otto (48)", Text: "waiting of 48", State: InboxWaiting},
	} {
		in.ID, in.Adapter, in.Target, in.At, in.Dedupe = fmt.Sprintf("in-%d", i), "telegram", "x", at, fmt.Sprintf("telegram:%d", i)
		_, _, err := s.PutInbox(ctx, in)
		must(err)
		must(s.PutOutbox(ctx, Outbox{ID: in.ID, Session: in.Session, Adapter: "telegram", Target: "x", Text: "answer to " + in.Text, At: at}))
	}
	must(s.PutDraft(ctx, Draft{ID: "in-1", Session: "telegram:group:-1:topic:7", Adapter: "telegram", Target: "x", At: at}))
	for i, v := range []Approval{
		{Session: "telegram:dm:47", Command: "echo wordOf47"},
		{Session: "telegram:group:-1:topic:7", Who: "maria (47)", Command: "echo shared wordOf47"},
		{Session: "telegram:group:-1:topic:7", Who: "otto (48)", Command: "echo of 48"},
	} {
		v.ID, v.Kind, v.State, v.Asked, v.Ended = fmt.Sprint("ask-", i), "command", ApprovalDenied, at, at
		_, err := s.PutApproval(ctx, v)
		must(err)
	}
	_, err := s.PutApproval(ctx, Approval{ID: "ask-3", Session: "telegram:dm:47", Kind: "command", Command: "make wordOf47", State: ApprovalWaiting, Asked: at})
	must(err)
	_, _, err = s.EndApproval(ctx, Approval{ID: "ask-3", State: ApprovalAllowed, Ended: at}, ApprovalRule{ID: "rule-1", Kind: "command", Rule: "make wordOf47", Session: "telegram:dm:47", At: at})
	must(err)
	for i, owner := range []string{"telegram:47", "telegram:48"} {
		job := Job{Name: fmt.Sprint("job-", i), Source: "tool", Owner: owner, Schedule: "@daily", Zone: "UTC", Prompt: "prompt of " + owner, Missed: "once", Made: at}
		if i == 0 {
			job.Prompt = "look for wordOf47"
		}
		must(s.PutJobRuns(ctx, job, nil, JobRun{ID: fmt.Sprint("run-", i), Job: job.Name, Result: "failed", Reason: job.Prompt, Times: 1}))
	}
	p := Process{Life: "life-1", PID: 99, StartTicks: 1, Session: "telegram:dm:47", Command: "echo wordOf47", Policy: "session", StartedAt: at}
	must(s.RecordProcesses(ctx, []Process{p}))
	p.EndedAt, p.How = at, "itself"
	must(s.RecordProcesses(ctx, []Process{p}))
	must(s.change(ctx, "quarantine a row", `INSERT INTO quarantine (source, row, why, at) VALUES ('inbox', '{"session":"telegram:dm:47","text":"wordOf47"}', 'test', 1)`))
}

// words is how often a word is in the files of a database.
func words(t *testing.T, dir, word string) (n int) {
	t.Helper()
	for _, name := range []string{"gateway.db", "gateway.db-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		n += strings.Count(string(b), word)
	}
	return n
}

func TestCV13_WhatIsKeptOfAPersonIsDeletedAndCounted(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	now := time.Now()
	person(t, s, now.Add(-time.Hour))
	f := Forgetting{Platform: "telegram", ID: "47", At: now}
	before := words(t, dir, "wordOf47")
	preview, err := s.CountForgotten(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Forget(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	want := Forgotten{
		"messages to chats": 2, "drafts": 1, "received messages": 2, "quarantined rows": 1, "pins": 3, "summaries": 3, "messages": 6, "turns": 3,
		"conversations": 3, "commands": 1, "approvals": 3, "rules of approvals": 1, "jobs": 1, "messages in shared conversations": 1, "names in shared conversations": 1,
	}
	if !maps.Equal(got, want) || !maps.Equal(preview, want) {
		t.Errorf("deleted were %v and announced %v, want %v", got, preview, want)
	}
	if err := s.Wipe(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A pin of a shared conversation has no author: it stays.
	if err := s.change(t.Context(), "unpin", `DELETE FROM pins`); err != nil {
		t.Fatal(err)
	}
	if err := s.Wipe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := words(t, dir, "wordOf47"); before == 0 || left > 0 {
		t.Errorf("the files have the person's words %d times, before %d times", left, before)
	}
	messages, err := s.Since(t.Context(), "shared", 0)
	if err != nil || len(messages) != 3 || messages[0].Content != ForgottenText || messages[1].Content != "thread of 48" || messages[2].Content != "answer" {
		t.Errorf("the shared conversation has %+v (%v), want a mark, and the message of the other person and the answer as they were", messages, err)
	}
	if messages, err := s.Since(t.Context(), "other", 0); err != nil || len(messages) != 2 {
		t.Errorf("the conversation of another person has %+v (%v), want both messages", messages, err)
	}
	if open, err := s.OpenInbox(t.Context()); err != nil || len(open) != 1 || open[0].Text != "waiting of 48" {
		t.Errorf("waiting are %+v (%v), want the other person's message", open, err)
	}
	if again, err := s.Forget(t.Context(), f); err != nil || len(again) > 0 {
		t.Errorf("a second deletion found %v (%v)", again, err)
	}
}

func TestCV13_ADeletionThatWasCutOffGoesOn(t *testing.T) {
	now := time.Now()
	for steps := range forgetSteps {
		dir := t.TempDir()
		s := unsynced(t, dir)
		person(t, s, now.Add(-time.Hour))
		f := Forgetting{Platform: "telegram", ID: "47", At: now.Truncate(time.Millisecond)}
		if err := s.PutForgetting(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if _, err := s.forget(t.Context(), f, forgetSteps[:steps]); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		s = unsynced(t, dir)
		all, err := s.Forgettings(t.Context())
		if err != nil || len(all) != 1 || all[0].ID != "47" || !all[0].At.Equal(f.At) {
			t.Fatalf("the next life is to forget %+v (%v), want %+v", all, err, f)
		}
		if _, err := s.Forget(t.Context(), all[0]); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.DropForgetting(t.Context(), all[0]), s.change(t.Context(), "unpin", `DELETE FROM pins`), s.Wipe(t.Context())); err != nil {
			t.Fatal(err)
		}
		if left := words(t, dir, "wordOf47"); left > 0 {
			t.Errorf("cut off after %d steps, the files have the person's words %d times", steps, left)
		}
		if all, err := s.Forgettings(t.Context()); err != nil || len(all) > 0 {
			t.Errorf("left to forget are %v (%v)", all, err)
		}
	}
}

func TestCV13_WhatCameAfterTheRequestStays(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	now := time.Now()
	person(t, s, now.Add(time.Hour))
	if got, err := s.Forget(t.Context(), Forgetting{Platform: "telegram", ID: "47", At: now}); err != nil || got["messages"]+got["received messages"]+got["conversations"] > 0 {
		t.Errorf("deleted were %v (%v), want no message from after the request", got, err)
	}
}
