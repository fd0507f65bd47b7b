package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
)

func TestTR4_ATurnThatWaitsForAPersonHoldsNoSlot(t *testing.T) {
	ctx := context.Background()
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4, Turns: 1}, NewID: counter()})
	a := start(t, tb, "cli:a", "one")
	if turn, _, _, _ := tb.Enqueue(ctx, "cli:b", message("two")); turn != nil {
		t.Fatal("a second turn began with one slot")
	}
	b, running := tb.Park(ctx, "cli:a", a.ID, "K7Q2MX", false)
	if !running || b == nil || b.Session.Key != "cli:b" {
		t.Fatalf("the slot went to %+v", b)
	}
	row, _ := tb.Row("cli:a")
	if row.State != ops.SessionWaitingApproval || row.WaitingFor != "approval K7Q2MX" {
		t.Errorf("the row says %q, %q", row.State, row.WaitingFor)
	}
	if v, _ := tb.Running("cli:a"); v.Approval != "K7Q2MX" {
		t.Errorf("the turn waits for %q", v.Approval)
	}
	slot := tb.Unpark("cli:a", a.ID, "K7Q2MX")
	select {
	case <-slot:
		t.Fatal("two turns hold one slot")
	default:
	}
	if row, _ := tb.Row("cli:a"); row.State != ops.SessionWaiting || row.WaitingFor != limit.Turns {
		t.Errorf("the answered turn is %q, %q", row.State, row.WaitingFor)
	}
	if turn, _, _, _ := tb.Enqueue(ctx, "cli:c", message("three")); turn != nil {
		t.Fatal("a new turn began before the one that was answered")
	}
	if next, _ := tb.Release(ctx, b, End{State: ops.SessionIdle}); next != nil {
		t.Fatalf("%s began before the turn that was answered", next.Session.Key)
	}
	select {
	case <-slot:
	default:
		t.Fatal("the answered turn did not get the slot")
	}
	if row, _ := tb.Row("cli:a"); row.State != ops.SessionRunning || row.WaitingFor != "" {
		t.Errorf("the turn that goes on is %q, %q", row.State, row.WaitingFor)
	}
	if next, _ := tb.Release(ctx, a, End{State: ops.SessionIdle}); next == nil || next.Session.Key != "cli:c" {
		t.Errorf("then %+v began", next)
	}
}

func TestTR4_ATurnThatEndedCannotWait(t *testing.T) {
	tb := NewTable(Options{Bounds: Bounds{QueueLimit: 4, Turns: 1}, NewID: counter()})
	a := start(t, tb, "cli:a", "one")
	if _, running := tb.Park(t.Context(), "cli:a", "another", "x", false); running {
		t.Error("another turn was parked")
	}
	tb.Park(t.Context(), "cli:a", a.ID, "x", false)
	tb.Release(t.Context(), a, End{State: ops.SessionIdle})
	if slot := tb.Unpark("cli:a", a.ID, "x"); slot != nil {
		t.Error("a released turn waits for a slot")
	}
	if c := tb.Counts(); c.Parked != 0 {
		t.Errorf("%d turns are parked", c.Parked)
	}
}

// Random waits, answers, ends and resets: no more turns hold a slot than may, a free slot is never refused to an answered turn, and
// in the end none is left.
func TestTR4_SlotsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 3).Draw(t, "turns")
		tb := NewTable(Options{Bounds: Bounds{QueueLimit: 3, Turns: most}, NewID: counter()})
		ctx := context.Background()
		running := map[string]*Turn{}
		parked := map[string][]string{} // approvals by key
		back := map[string]<-chan struct{}{}
		n := 0
		note := func(turn *Turn) {
			if turn != nil {
				running[turn.Session.Key] = turn
			}
		}
		keys := rapid.SampledFrom([]string{"cli:a", "cli:b", "cli:c", "cli:d", "cli:e"})
		ended := func(key string) {
			delete(running, key)
			delete(parked, key)
			delete(back, key)
		}
		t.Repeat(map[string]func(*rapid.T){
			"message": func(t *rapid.T) {
				turn, _, _, _ := tb.Enqueue(ctx, keys.Draw(t, "key"), Message{Text: "x", At: time.Now()})
				note(turn)
			},
			"ask": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				turn := running[key]
				if turn == nil || back[key] != nil {
					t.Skip("runs while a turn has its slot")
				}
				n++
				id := fmt.Sprint(n)
				next, ok := tb.Park(ctx, key, turn.ID, id, false)
				if !ok {
					t.Fatalf("the turn of %s is not running", key)
				}
				parked[key] = append(parked[key], id)
				note(next)
			},
			"answer": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if len(parked[key]) == 0 {
					t.Skip("runs while one waits")
				}
				id := rapid.SampledFrom(parked[key]).Draw(t, "id")
				slot := tb.Unpark(key, running[key].ID, id)
				parked[key] = slices.DeleteFunc(parked[key], func(s string) bool { return s == id })
				if slot != nil {
					back[key] = slot
				}
			},
			"end": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if running[key] == nil {
					t.Skip("runs while a turn runs")
				}
				next, _ := tb.Release(ctx, running[key], End{State: ops.SessionIdle})
				ended(key)
				note(next)
			},
			"reset": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				if _, _, _, ok := tb.BeginReset(key); !ok {
					t.Skip("runs for a session that exists")
				}
				ended(key)
				for _, turn := range tb.Resume(ctx) {
					note(turn)
				}
				note(tb.EndReset(ctx, key, false, false))
			},
			"": func(t *rapid.T) {
				for key, slot := range back {
					select {
					case <-slot:
						delete(back, key)
						if len(parked[key]) == 0 {
							delete(parked, key)
						}
					default:
					}
				}
				c := tb.Counts()
				if holding := c.Turns - c.Parked; holding > most || c.Turns != len(running) {
					t.Fatalf("%d of %d turns hold %d slots; the model has %d", holding, c.Turns, most, len(running))
				}
				if len(back) > 0 && c.Turns-c.Parked < most {
					t.Fatalf("a slot is free, and %v wait for one", slices.Collect(maps.Keys(back)))
				}
			},
		})
	})
}
