package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// note writes a note whose words are those of its text.
func note(t *testing.T, s *Store, owner, text string, people ...string) Note {
	t.Helper()
	n, err := s.PutNote(t.Context(), Note{Owner: owner, Text: text, By: "tool", People: people, At: time.Now().Add(time.Minute)}, strings.Fields(strings.ToLower(text)), 3)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func textsOf(notes []Note) (texts []string) {
	for _, n := range notes {
		texts = append(texts, n.Text)
	}
	return texts
}

func TestHR4_NotesAreFoundOnlyByTheirOwners(t *testing.T) {
	s := open(t, t.TempDir())
	mine := note(t, s, "person telegram:47", "my cat is called Mia")
	note(t, s, "person telegram:48", "his cat is called Otto")
	note(t, s, "shared", "the office has a cat")
	owners := []string{"person telegram:47", "shared"}
	for name, read := range map[string]func() ([]Note, error){
		"the prompt": func() ([]Note, error) { return s.NotesFor(t.Context(), owners, 10) },
		"the search": func() ([]Note, error) { return s.FindNotes(t.Context(), owners, []Wanted{{"cat", "cau"}}, 10) },
	} {
		notes, err := read()
		texts := textsOf(notes)
		slices.Sort(texts)
		if err != nil || !slices.Equal(texts, []string{"my cat is called Mia", "the office has a cat"}) {
			t.Errorf("%s has %q (%v)", name, texts, err)
		}
	}
	stranger := []string{"person telegram:48"}
	if found, err := s.DropNote(t.Context(), stranger, mine.Seq); found || err != nil {
		t.Errorf("a stranger deleted a note: %v, %v", found, err)
	}
	if _, found, err := s.ChangeNote(t.Context(), stranger, Note{Seq: mine.Seq, Text: "no"}, nil); found || err != nil {
		t.Errorf("a stranger changed a note: %v, %v", found, err)
	}
}

func TestHR4_ANoteIsWrittenOnceChangedAndDeletedWithItsWords(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	n := note(t, s, "shared", "the code is wordOfNote")
	if again := note(t, s, "shared", "the code is wordOfNote"); again.Seq != n.Seq {
		t.Errorf("the same text made note %d next to %d", again.Seq, n.Seq)
	}
	note(t, s, "shared", "second")
	note(t, s, "shared", "third")
	if _, err := s.PutNote(t.Context(), Note{Owner: "shared", Text: "fourth"}, nil, 3); !errors.Is(err, ErrNotesFull) {
		t.Errorf("a fourth note of three: %v", err)
	}
	changed, found, err := s.ChangeNote(t.Context(), []string{"shared"}, Note{Seq: n.Seq, Text: "the code is changed", Pinned: true, At: time.Now()}, []string{"code", "changed"})
	if err != nil || !found || changed.Text != "the code is changed" || !changed.Pinned {
		t.Fatalf("changed: %+v, %v, %v", changed, found, err)
	}
	if first, err := s.NotesFor(t.Context(), []string{"shared"}, 1); err != nil || len(first) != 1 || first[0].Seq != n.Seq {
		t.Errorf("the pinned note does not come first: %+v, %v", first, err)
	}
	for word, want := range map[string]int{"changed": 1, "wordofnote": 0} {
		if got, err := s.FindNotes(t.Context(), []string{"shared"}, []Wanted{{word, word + "\x00"}}, 10); err != nil || len(got) != want {
			t.Errorf("%s finds %q (%v), want %d", word, textsOf(got), err, want)
		}
	}
	if found, err := s.DropNote(t.Context(), []string{"shared"}, n.Seq); err != nil || !found {
		t.Fatalf("delete: %v, %v", found, err)
	}
	if next := note(t, s, "shared", "fifth"); next.Seq <= n.Seq+2 {
		t.Errorf("the number %d was used again", next.Seq)
	}
	must(t, s.Wipe(t.Context()))
	if left := words(t, dir, "wordOfNote") + words(t, dir, "wordofnote"); left > 0 {
		t.Errorf("the files have a deleted word %d times", left)
	}
}

func TestHR4_ForgettingAPersonDeletesTheirNotes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	note(t, s, "person telegram:47", "wordOf47 own")
	note(t, s, "chat telegram:group:-1", "wordOf47 in a group", "telegram:48", "telegram:47")
	note(t, s, "chat telegram:group:-1", "of 48", "telegram:48")
	note(t, s, "person telegram:470", "of 470")
	f := Forgetting{Platform: "telegram", ID: "47", At: time.Now()}
	preview, err := s.CountForgotten(t.Context(), f)
	if err != nil || preview["notes"] != 2 {
		t.Errorf("announced were %v (%v)", preview, err)
	}
	if got, err := s.Forget(t.Context(), f); err != nil || got["notes"] != 2 {
		t.Errorf("deleted were %v (%v)", got, err)
	}
	must(t, s.Wipe(t.Context()))
	if left := words(t, dir, "wordOf47") + words(t, dir, "wordof47"); left > 0 {
		t.Errorf("the files have the person's words %d times", left)
	}
	if left, err := s.Notes(t.Context(), 10); err != nil || len(left) != 2 {
		t.Errorf("left are %q (%v)", textsOf(left), err)
	}
}

func TestHR5_WhatIsNotFlushedIsARowUntilItIs(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	at := time.Now()
	v := Session{ID: "s1", Key: "telegram:dm:47", Platform: "telegram", State: ops.SessionIdle, CreatedAt: at, LastActivityAt: at}
	turn := func(id string, remember bool) {
		t.Helper()
		w := Turn{ID: id, SessionID: "s1", Life: "life-1", StartedAt: at, State: TurnRunning, Remember: remember}
		must(t, s.BeginTurn(t.Context(), v, w, Message{Role: "user", Content: "text of " + id, At: at}))
		w.State, w.EndedAt = TurnDone, at
		must(t, s.EndTurn(t.Context(), v, w, []Message{{Role: "assistant", Content: "answer", At: at}}))
	}
	turn("t1", false)
	if _, found, err := s.Unflushed(t.Context(), "s1"); err != nil || found {
		t.Fatalf("a turn that is not for the memory made a row: %v, %v", found, err)
	}
	turn("t2", true)
	turn("t3", true)
	shut(t, s)
	s = open(t, dir)
	u, found, err := s.Unflushed(t.Context(), "s1")
	if err != nil || !found || u.After != 2 || u.Key != v.Key || u.Ended {
		t.Fatalf("the row is %+v, %v, %v, want what is behind message 2", u, found, err)
	}
	for life, want := range map[string]int{"life-1": 0, "life-2": 1} {
		if rows, err := s.UnflushedOlder(t.Context(), life, 10); err != nil || len(rows) != want {
			t.Errorf("%s finds %v (%v), want %d rows", life, rows, err, want)
		}
	}
	must(t, s.FlushFailed(t.Context(), "s1", "no answer", at))
	if rows, err := s.UnflushedOlder(t.Context(), "life-1", 10); err != nil || len(rows) != 1 || rows[0].Tries != 1 || rows[0].Reason != "no answer" {
		t.Errorf("after a failure: %+v, %v", rows, err)
	}
	must(t, s.Flushed(t.Context(), "s1", 4))
	if u, found, err := s.Unflushed(t.Context(), "s1"); err != nil || !found || u.After != 4 {
		t.Errorf("a flush of a part: %+v, %v, %v", u, found, err)
	}
	must(t, s.Flushed(t.Context(), "s1", 6))
	if u, found, err := s.Unflushed(t.Context(), "s1"); err != nil || found {
		t.Errorf("a flush of everything leaves %+v, %v", u, err)
	}
}

func BenchmarkFindNotes(b *testing.B) {
	s, err := Open(b.Context(), Options{Path: b.TempDir() + "/gateway.db"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close(b.Context()) }()
	const owners, each = 200, 500
	subjects := []string{"coffee", "holiday", "server", "family", "music", "train", "garden", "invoice", "project", "password hint"}
	err = s.write(b.Context(), "fill", func(t *tx) error {
		for o := range owners {
			for i := range each {
				text := fmt.Sprintf("note %d: about the %s of %d, with the %s and what follows from it in week %d", i, subjects[i%10], i*7%100, subjects[i*3%10], i%52)
				seq := o*each + i + 1
				if err := t.do(`INSERT INTO notes (seq, owner, text, words, by, people, at) VALUES (?, ?, ?, ?, 'tool', '', 1)`, seq, fmt.Sprintf("person telegram:%d", o), text, asJSON(strings.Fields(text))); err != nil {
					return err
				}
				if err := t.do(putNoteWords, seq); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, words := range map[string][]string{"CommonWord": {"the"}, "RareWords": {"invoice", "garden"}, "SixWords": {"what", "about", "the", "coffee", "train", "week"}} {
		b.Run(name, func(b *testing.B) {
			var wanted []Wanted
			for _, w := range words {
				wanted = append(wanted, Wanted{w, w + "\U0010ffff"})
			}
			for b.Loop() {
				got, err := s.FindNotes(b.Context(), []string{"person telegram:77", "shared"}, wanted, 10)
				if err != nil || len(got) != 10 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}
