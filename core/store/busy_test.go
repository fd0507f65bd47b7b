package store

import (
	"errors"
	"slices"
	"testing"
)

// inboxStates are the states of messages by their ids.
func inboxStates(t *testing.T, s *Store, ids ...string) (out []InboxState) {
	t.Helper()
	open, err := s.OpenInbox(t.Context())
	must(t, err)
	for _, id := range ids {
		state := InboxAnswered
		for _, in := range open {
			if in.ID == id {
				state = in.State
			}
		}
		out = append(out, state)
	}
	return out
}

// CV11: what a turn takes is in its transcript and belongs to it in one commit, and has its answer with the turn's end. A turn that
// is over takes nothing.
func TestCV11_WhatATurnTakesIsAnsweredWithIt(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	ids := []string{"m1", "m2", "m3", "m4"}
	for _, id := range ids {
		_, _, err := s.PutInbox(ctx, arrived(id, id))
		must(t, err)
	}
	v := session("chat:dm:1", "s1")
	turn := Turn{ID: "t1", SessionID: "s1", Life: "l", StartedAt: noon, State: TurnRunning, Message: "m1", Also: []string{"m2"}}
	must(t, s.BeginTurn(ctx, v, turn, Message{Role: "user", Content: "m1 and m2", At: noon}))
	if got := inboxStates(t, s, ids...); !slices.Equal(got, []InboxState{InboxRunning, InboxRunning, InboxWaiting, InboxWaiting}) {
		t.Errorf("after the begin: %q", got)
	}
	must(t, s.Steer(ctx, "s1", "t1", []string{"m3"}, []Message{{Role: "user", Content: "m3", Who: "maria", At: noon}}))
	if got := inboxStates(t, s, ids...); !slices.Equal(got, []InboxState{InboxRunning, InboxRunning, InboxRunning, InboxWaiting}) {
		t.Errorf("after it took one: %q", got)
	}
	end := turn
	end.State, end.EndedAt, end.Also = TurnDone, noon, []string{"m2", "m3"}
	reply := Outbox{ID: "m1", Session: "chat:dm:1", Adapter: "chat", Target: "1", Text: "done", At: noon}
	end.Reply = &reply
	must(t, s.EndTurn(ctx, v, end, nil))
	if got := inboxStates(t, s, ids...); !slices.Equal(got, []InboxState{InboxAnswered, InboxAnswered, InboxAnswered, InboxWaiting}) {
		t.Errorf("after the end: %q", got)
	}
	if out, err := s.OpenOutbox(ctx); err != nil || len(out) != 1 || out[0].ID != "m1" {
		t.Errorf("the outbox is %+v (%v), want the one answer", out, err)
	}
	if err := s.Steer(ctx, "s1", "t1", []string{"m4"}, []Message{{Role: "user", Content: "m4", At: noon}}); !errors.Is(err, ErrStaleTurn) {
		t.Errorf("a turn that has ended took a message: %v", err)
	}
	if got := inboxStates(t, s, "m4"); got[0] != InboxWaiting {
		t.Errorf("the message that it did not take is %s", got[0])
	}
	entries, err := s.Since(ctx, "s1", 0)
	must(t, err)
	var said []string
	for _, e := range entries {
		said = append(said, e.Content)
	}
	if !slices.Equal(said, []string{"m1 and m2", "m3"}) {
		t.Errorf("the transcript is %q", said)
	}
	must(t, s.BeginTurn(ctx, v, Turn{ID: "t2", SessionID: "s1", Life: "l", StartedAt: noon, State: TurnRunning, Message: "m1"}))
	if got := inboxStates(t, s, "m1"); got[0] != InboxAnswered {
		t.Errorf("a message that has its answer became %s again", got[0])
	}
}

// CV11: a choice outlives the writes of its session and the process.
func TestCV11_AModeIsKeptWithItsSession(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	v := session("chat:dm:1", "s1")
	v.Busy = "interrupt"
	must(t, s.Choose(t.Context(), v))
	v.Busy, v.Title = "", "a title"
	must(t, s.BeginTurn(t.Context(), v, Turn{ID: "t1", SessionID: "s1", Life: "l", StartedAt: noon, State: TurnRunning}))
	shut(t, s)
	s = open(t, dir)
	if got, found, err := s.CurrentSession(t.Context(), "chat:dm:1"); err != nil || !found || got.Busy != "interrupt" || got.Title != "a title" {
		t.Errorf("the session is %+v, %v (%v)", got, found, err)
	}
}
