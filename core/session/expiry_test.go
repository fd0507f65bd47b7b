package session

import (
	"context"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// S11: a running turn that does not move expires with its session; a pending placeholder does not.
func TestS11_WhatExpires(t *testing.T) {
	p := Policy{Idle: time.Hour, Daily: -1}
	later := time.Now().Add(2 * time.Hour)
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
	for _, key := range []string{"cli:idle", "cli:moving", "cli:stalled", "cli:placeholder"} {
		turn := start(t, tb, key, "x")
		switch key {
		case "cli:idle":
			tb.Release(context.Background(), turn, End{State: ops.SessionIdle})
		case "cli:moving":
			tb.Attach(turn, nil)
		case "cli:stalled":
			tb.Attach(turn, nil)
			tb.MarkStalled(turn, later)
		}
	}
	got := tb.Expired(p, later, 100)
	for key, want := range map[string]bool{"cli:idle": true, "cli:moving": false, "cli:stalled": true, "cli:placeholder": false} {
		if _, yes := got[key]; yes != want {
			t.Errorf("%s expired is %v, want %v", key, yes, want)
		}
	}
}

// D3, S11: a session is ended for its age only if it still is as it was found. One that was written to, or reset, in
// between goes on.
func TestS11_AnExpiryIsTakenBackByAMessage(t *testing.T) {
	p := Policy{Idle: time.Hour, Daily: -1}
	later := time.Now().Add(2 * time.Hour)
	for _, tc := range []struct {
		name      string
		meanwhile func(tb *Table)
		ends      bool
	}{
		{"nothing happened", func(*Table) {}, true},
		{"a message came and its turn runs", func(tb *Table) { start(t, tb, "cli:a", "x") }, false},
		{"it was reset", func(tb *Table) {
			tb.BeginReset("cli:a")
			tb.EndReset(context.Background(), "cli:a", false, false)
		}, false},
		{"it is being reset", func(tb *Table) { tb.BeginReset("cli:a") }, false},
		{"it is gone", func(tb *Table) {
			tb.BeginReset("cli:a")
			tb.EndReset(context.Background(), "cli:a", true, false)
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
			tb.Release(context.Background(), start(t, tb, "cli:a", "x"), End{State: ops.SessionIdle})
			x := tb.Expired(p, later, 100)["cli:a"]
			tc.meanwhile(tb)
			if old, _, _, ends := tb.BeginExpiry("cli:a", x, p, later); ends != tc.ends || ends && old.ID != x.ID {
				t.Errorf("it ends: %v, as %+v; it was found as %+v", ends, old, x)
			}
		})
	}
}

// D3: an expired session ends before a message is taken, with what waits kept for the next conversation; no other ends.
func TestD3_AnExpiryBeginsOnceAndKeepsWhatWaits(t *testing.T) {
	p := Policy{Idle: time.Hour, Daily: -1}
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
	turn := start(t, tb, "cli:a", "x")
	later := time.Now().Add(2 * time.Hour)
	if _, _, ok := tb.BeginIdleExpiry("cli:a", p, later); ok {
		t.Fatal("a session with a running turn has expired")
	}
	tb.Release(context.Background(), turn, End{State: ops.SessionSuspended})
	if _, _, ok := tb.BeginIdleExpiry("cli:a", p, time.Now()); ok {
		t.Fatal("a session has expired before its time")
	}
	if _, _, ok := tb.BeginIdleExpiry("cli:absent", p, later); ok {
		t.Fatal("an unknown session has expired")
	}
	old, why, ok := tb.BeginIdleExpiry("cli:a", p, later)
	if !ok || old.State != ops.SessionSuspended || why == "" {
		t.Fatalf("got %+v, %q, %v", old, why, ok)
	}
	if _, _, again := tb.BeginIdleExpiry("cli:a", p, later); again {
		t.Fatal("it has expired twice")
	}
	if turn, position, _, err := tb.Enqueue(context.Background(), "cli:a", message("y")); turn != nil || position != 1 || err != nil {
		t.Fatalf("while it ends: %v, %d, %v", turn, position, err)
	}
	if s, _ := tb.Get("cli:a"); s.State != ops.SessionIdle {
		t.Fatalf("while it ends it is %s", s.State)
	}
	next := tb.EndReset(context.Background(), "cli:a", true, false)
	if next == nil || next.Message.Text != "y" || next.Session.ID == old.ID {
		t.Fatalf("after it comes %+v", next)
	}
	tb.Release(context.Background(), next, End{})
}

// A message of an earlier life makes no session older than it is.
func TestActivityNeverGoesBack(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
	turn := start(t, tb, "cli:a", "x")
	before, _ := tb.Get("cli:a")
	old := message("y")
	old.At = old.At.Add(-24 * time.Hour)
	if _, _, _, err := tb.Enqueue(context.Background(), "cli:a", old); err != nil {
		t.Fatal(err)
	}
	if got, _ := tb.Get("cli:a"); got.LastActivity.Before(before.LastActivity) {
		t.Fatalf("waiting made it active at %v, which is before %v", got.LastActivity, before.LastActivity)
	}
	tb.Release(context.Background(), turn, End{})
}

// D15: what no store has is forgotten when nothing runs in it and nothing waits for it; everything else stays.
func TestD15_WhatWasNeverWrittenIsForgotten(t *testing.T) {
	for _, tc := range []struct {
		name string
		then func(tb *Table, t *Turn)
		kept bool
	}{
		{"never written", func(tb *Table, turn *Turn) { tb.Release(context.Background(), turn, End{}) }, false},
		{"its turn runs", func(*Table, *Turn) {}, true},
		{"written", func(tb *Table, turn *Turn) {
			tb.Saved(turn, "")
			tb.Release(context.Background(), turn, End{})
		}, true},
		{"a message waits", func(tb *Table, turn *Turn) {
			_, _, _, _ = tb.Enqueue(context.Background(), "cli:a", message("y")) // there is room
			tb.Release(context.Background(), turn, End{Hold: true})
		}, true},
		{"it is being reset", func(tb *Table, _ *Turn) { tb.BeginReset("cli:a") }, true},
		{"another conversation has its key", func(tb *Table, _ *Turn) {
			tb.BeginReset("cli:a")
			tb.EndReset(context.Background(), "cli:a", false, false)
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4}, NewID: counter()})
			turn := start(t, tb, "cli:a", "x")
			tc.then(tb, turn)
			tb.DropUnsaved(turn)
			if _, kept := tb.Get("cli:a"); kept != tc.kept {
				t.Fatalf("kept: %v, want %v", kept, tc.kept)
			}
		})
	}
}
