package held

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// holder is one whose closes do what a test says.
type holder struct {
	rows   []ops.Held
	close  func(context.Context) error
	closed *[]string
}

func (h holder) Rows() []ops.Held { return h.rows }

func (h holder) CloseSession(ctx context.Context, session string) error {
	*h.closed = append(*h.closed, session)
	return h.close(ctx)
}

func (h holder) CloseAll(ctx context.Context) error { return h.CloseSession(ctx, "*") }

func fine(context.Context) error { return nil }

func TestAHolderThatFailsHangsOrPanicsKeepsNoOtherFromClosing(t *testing.T) {
	for _, tt := range []struct {
		name, says string
		close      func(context.Context) error
	}{
		{"one that fails", "broken", func(context.Context) error { return errors.New("broken") }},
		{"one that panics", "broken", func(context.Context) error { panic("broken") }},
		{"one that waits for its caller", "deadline", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
		{"one that never returns", "deadline", func(ctx context.Context) error { <-context.WithoutCancel(ctx).Done(); return nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			var bad, good []string
			var s Set
			s.Add("bad", holder{close: tt.close, closed: &bad})
			s.Add("good", holder{close: fine, closed: &good})
			err := s.CloseSession(ctx, "cli:local")
			if err == nil || !strings.Contains(err.Error(), "close bad") || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the close says %v", err)
			}
			if len(good) != 1 || good[0] != "cli:local" {
				t.Errorf("the other holder closed %v", good)
			}
		})
	}
}

func TestHoldersCloseAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context) error { time.Sleep(time.Second); return nil }
		var s Set
		for range 5 {
			s.Add("slow", holder{close: slow, closed: new([]string)})
		}
		began := time.Now()
		if err := s.CloseAll(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("five closes of a second took %v", took)
		}
	})
}

func TestRowsOfAllHoldersAreListedOldestFirst(t *testing.T) {
	now := time.Now()
	row := func(id string, age time.Duration) ops.Held { return ops.Held{ID: id, Since: ops.At(now.Add(-age))} }
	var s Set
	s.Add("a", holder{rows: []ops.Held{row("new", 0), row("oldest", time.Hour)}})
	s.Add("b", holder{rows: []ops.Held{row("old", time.Minute)}})
	var ids []string
	for _, r := range s.Rows() {
		ids = append(ids, r.ID)
	}
	if got := strings.Join(ids, " "); got != "oldest old new" {
		t.Errorf("the rows are %s", got)
	}
	old := row("old", time.Minute)
	if got, held := s.Find(row("old", 0)); !held || got != old {
		t.Errorf("what is held is found as %+v, %v", got, held)
	}
	if got, held := s.Find(row("gone", 0)); held {
		t.Errorf("what is not held is found as %+v", got)
	}
}
