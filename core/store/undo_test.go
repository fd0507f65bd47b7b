package store

import (
	"errors"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func TestCV12_OnlyTheLastExchangeIsTakenBackAndOnlyAsItWasSeen(t *testing.T) {
	s := open(t, t.TempDir())
	now := time.Now()
	v := Session{Key: "chat:dm:1", ID: "s1", Platform: "chat", State: ops.SessionIdle, CreatedAt: now, LastActivityAt: now}
	turn := func(id string, undoes [2]int64, end bool, messages ...Message) error {
		t.Helper()
		if err := s.BeginTurn(t.Context(), v, Turn{ID: id, SessionID: v.ID, StartedAt: now, State: TurnRunning, Undoes: undoes}, messages...); err != nil || !end {
			return err
		}
		return s.EndTurn(t.Context(), v, Turn{ID: id, State: TurnDone, EndedAt: now}, []Message{{Role: "assistant", Content: "answer " + id}})
	}
	last := func() Exchange {
		t.Helper()
		x, found, err := s.LastExchange(t.Context(), v.ID)
		if err != nil || !found {
			t.Fatalf("the last exchange: %v, %v", found, err)
		}
		return x
	}
	user := func(text string) Message { return Message{Role: "user", Content: text} }
	must(t, turn("a", [2]int64{}, true, user("one")))
	first := last()
	must(t, turn("b", [2]int64{}, true, user("two")))
	must(t, turn("c", [2]int64{}, true, Message{Role: "tool", ToolCallID: "x", Content: "4"})) // the client's function
	if x := last(); len(x.Said) != 1 || x.Said[0] != "two" || x.Steps != 1 || x.Answer != "answer c" {
		t.Errorf("the last exchange is %+v", x)
	}
	if err := s.Undo(t.Context(), v.ID, first.First, first.Last, now); !errors.Is(err, ErrChanged) {
		t.Errorf("an earlier exchange was taken back: %v", err)
	}
	if err := turn("d", [2]int64{first.First, first.Last}, true, user("one")); !errors.Is(err, ErrChanged) {
		t.Errorf("a turn took the place of an earlier exchange: %v", err)
	}
	x := last()
	must(t, turn("e", [2]int64{x.First, x.Last}, false, user("two")))
	if x := last(); x.Said[0] != "two" || x.Steps != 0 {
		t.Errorf("the exchange in the place of the last one is %+v", x)
	}
	if x := last(); !errors.Is(s.Undo(t.Context(), v.ID, x.First, x.Last, now), ErrChanged) {
		t.Error("what a running turn works on was taken back")
	}
	must(t, s.EndTurn(t.Context(), v, Turn{ID: "e", State: TurnDone, EndedAt: now}, nil))
	if rows, err := s.Since(t.Context(), v.ID, 0); err != nil || len(rows) != 3 {
		t.Errorf("the model gets %d messages, %v", len(rows), err)
	}
	page, _, err := s.Entries(t.Context(), v.ID, 0, 100, 1<<20)
	undone := 0
	for _, e := range page {
		if e.Undone {
			undone++
		}
	}
	if err != nil || len(page) != 7 || undone != 4 {
		t.Errorf("%d messages, of which %d are undone, %v", len(page), undone, err)
	}
	x = last()
	must(t, s.BeginTurn(t.Context(), v, Turn{ID: "f", SessionID: v.ID, StartedAt: now, State: TurnRunning}))
	must(t, s.Compact(t.Context(), v.ID, "f", Compaction{Upto: x.Last}))
	must(t, s.EndTurn(t.Context(), v, Turn{ID: "f", State: TurnDone, EndedAt: now}, nil))
	if err := s.Undo(t.Context(), v.ID, x.First, x.Last, now); !errors.Is(err, ErrChanged) {
		t.Errorf("what a compaction stands for was taken back: %v", err)
	}
}
