package gateway

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/conversation"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// yesterday leaves a session in a home whose last activity was before its time was over.
func yesterday(t *testing.T, dir, key string, state ops.SessionState) {
	t.Helper()
	leave(t, dir, func(ctx context.Context, st *store.Store) error {
		at := time.Now().Add(-24 * time.Hour)
		s := store.Session{Key: key, ID: "yesterday", Platform: "chat", Target: "1", State: state, CreatedAt: at, LastActivityAt: at}
		turn := store.Turn{ID: "t", SessionID: s.ID, Life: "before", StartedAt: at, EndedAt: at, State: store.TurnRunning}
		err := st.BeginTurn(ctx, s, turn, store.Message{Role: "user", Content: "a secret of yesterday", At: at})
		turn.State = store.TurnDone
		return errors.Join(err, st.EndTurn(ctx, s, turn, nil))
	})
}

// idleFor has sessions expire after an hour, which the watcher would notice after six seconds.
func idleFor(s *setup) { s.cfg.Session.IdleReset.Duration = time.Hour }

// D3: a session that expired while the gateway was down is not continued by who comes before the watcher's look: neither
// the first message of a platform nor one that waited in the inbox.
func TestD3_AMessageToAnExpiredSessionBeginsANewOne(t *testing.T) {
	for _, tc := range []struct {
		name    string
		backlog bool
		state   ops.SessionState
	}{
		{"of a platform's first poll", false, ops.SessionIdle},
		{"of the inbox", true, ops.SessionIdle},
		{"to one that was suspended", false, ops.SessionSuspended},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, heard := t.TempDir(), make(chan string, 2)
			yesterday(t, dir, "chat:dm:1", tc.state)
			if tc.backlog {
				leave(t, dir, func(ctx context.Context, st *store.Store) error {
					in := waitingFrom("waits", "hello")
					in.At = time.Now().Add(-24 * time.Hour)
					_, _, err := st.PutInbox(ctx, in)
					return err
				})
			}
			l := start(t, idleFor, func(s *setup) { s.dir, s.model = dir, notesTo(heard) })
			if !tc.backlog {
				l.say("chat:dm:1", "1", "hello")
			}
			l.wait("it is answered", func() bool { return sentBy("1: ok", l) == 1 })
			if got := <-heard; strings.Contains(got, "yesterday") || !strings.Contains(got, "hello") {
				t.Errorf("the model got:\n%s", got)
			}
			if s := l.session("chat:dm:1"); s.ID == "yesterday" || time.Since(s.LastActivityAt.Time) > time.Hour {
				t.Errorf("the session is %+v", s)
			}
			ended, err := l.g.recovery.Store().EndedSessions(context.Background(), "chat:dm:1", 5)
			if err != nil || len(ended) != 1 || ended[0].ID != "yesterday" || !strings.Contains(ended[0].EndReason, "idle") {
				t.Fatalf("ended are %+v, %v", ended, err)
			}
			if idle := time.Since(ended[0].LastActivityAt); idle < 23*time.Hour {
				t.Errorf("the expired session was made active %v ago", idle)
			}
		})
	}
}

// D3, S11: what an expired session held ends before the new one begins, and messages that come meanwhile wait for it.
func TestD3_WhatAnExpiredSessionHeldEndsFirst(t *testing.T) {
	l := start(t, idleFor)
	const key = "api:user:a"
	pid := l.job(key, "sleep 300")
	old, _ := l.g.table.Get(key)
	old.LastActivity = time.Now().Add(-2 * time.Hour)
	l.replace(old)
	one, two := l.send(key, "one"), l.send(key, "two")
	if got := l.await(one); got.text != "you said one" {
		t.Fatalf("got %+v", got)
	}
	if alive(pid) {
		t.Errorf("process %d outlives its session", pid)
	}
	if got := l.await(two); got.text != "you said two" {
		t.Fatalf("got %+v", got)
	}
	rows, err := l.g.recovery.Store().Since(context.Background(), l.session(key).ID, 0)
	if err != nil || len(rows) != 4 || l.session(key).ID == old.ID {
		t.Fatalf("the new conversation is %+v, %v", rows, err)
	}
}

// D3, D1: a restart does not make a session active.
func TestD3_ARestartDoesNotChangeLastActivity(t *testing.T) {
	first := start(t, idleFor)
	first.ask("api:user:a", "hello")
	row, found, err := first.g.recovery.Store().CurrentSession(context.Background(), "api:user:a")
	if err != nil || !found {
		t.Fatal(err)
	}
	first.stop(ops.ModeFast)
	for range 2 {
		next := start(t, idleFor, func(s *setup) { s.dir = first.dir })
		if got := next.session("api:user:a"); got.ID != row.ID || !got.LastActivityAt.Equal(row.LastActivityAt) {
			t.Fatalf("the next life lists %s, active at %v; want %s, %v", got.ID, got.LastActivityAt, row.ID, row.LastActivityAt)
		}
		next.stop(ops.ModeFast)
	}
}

// D3: what is asked of an expired session while the gateway stops is refused, and the slot is not stranded.
func TestD3_AStopRefusesAMessageToAnExpiredSession(t *testing.T) {
	dir := t.TempDir()
	yesterday(t, dir, "chat:dm:1", ops.SessionIdle)
	l := start(t, idleFor, func(s *setup) { s.dir = dir })
	l.g.background.Close() // as in the background phase of a stop
	_, err := l.g.intake.Receive(context.Background(), adapter.Inbound{Adapter: "chat", Session: "chat:dm:1", Text: "x", Responder: make(responder, 1)})
	if !ops.HasCode(err, ops.CodeStopping) {
		t.Fatalf("got %v, want stopping", err)
	}
	if _, err := l.g.conversations.End(context.Background(), "chat:dm:1", conversation.Reset("test")); err != nil && !ops.HasCode(err, ops.CodeNotFound) {
		t.Fatalf("the session stays closing: %v", err)
	}
}
