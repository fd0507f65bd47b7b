package store

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCV4_ACompactionReplacesTheOlderPartOfATranscriptAndDeletesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	v := Session{ID: "a", Key: "cli:a", State: "idle", CreatedAt: noon, LastActivityAt: noon}
	turn := begun(t, s, v, "t")
	for range 5 {
		must(t, s.AppendMessages(t.Context(), v.ID, turn.ID, []Message{{Role: "assistant", Content: "x"}}, nil))
	}
	all, err := s.Since(t.Context(), v.ID, 0)
	must(t, err)
	if c, err := s.Compaction(t.Context(), v.ID); err != nil || c.Upto != 0 || c.Summary != "" {
		t.Fatalf("a conversation without a compaction has %+v, %v", c, err)
	}
	for _, upto := range []int{2, 4} {
		want := Compaction{Upto: all[upto].Seq, Pruned: all[upto].Seq, Summary: "they met", Said: []string{"hi\n\"you\"", "ok"}, At: time.UnixMicro(5).UTC()}
		must(t, s.Compact(t.Context(), v.ID, turn.ID, want))
		got, err := s.Compaction(t.Context(), v.ID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v, (-want +got):\n%s", err, diff)
		}
		if since, err := s.Since(t.Context(), v.ID, got.Upto); err != nil || len(since) != len(all)-upto-1 {
			t.Errorf("%d messages are behind it, %v", len(since), err)
		}
	}
	if kept, err := s.Since(t.Context(), v.ID, 0); err != nil || len(kept) != len(all) {
		t.Errorf("%d of %d messages are left, %v", len(kept), len(all), err)
	}
	must(t, s.EndSession(t.Context(), v.ID, time.Now(), "reset"))
	if err := s.Compact(t.Context(), v.ID, turn.ID, Compaction{}); !errors.Is(err, ErrStaleTurn) {
		t.Errorf("a turn that is over compacts: %v", err)
	}
	must(t, s.ForgetSessions(t.Context(), v.ID))
	if c, err := s.Compaction(t.Context(), v.ID); err != nil || c.Upto != 0 {
		t.Errorf("a session that was deleted has %+v, %v", c, err)
	}
}

func TestCV4_PinsBelongToTheirSession(t *testing.T) {
	s := open(t, t.TempDir())
	v := conversation(t, s, "a", "hello")
	if found, err := s.PutPin(t.Context(), "unknown", "x", time.Now()); err != nil || found {
		t.Errorf("a pin without a session: %v, %v", found, err)
	}
	for _, text := range []string{"one", "two"} {
		if found, err := s.PutPin(t.Context(), v.ID, text, time.Now()); err != nil || !found {
			t.Fatal(found, err)
		}
	}
	pins, err := s.Pins(t.Context(), v.ID)
	if err != nil || len(pins) != 2 || pins[0].Text != "one" {
		t.Fatal(pins, err)
	}
	must(t, s.DropPin(t.Context(), "other", pins[0].Seq))
	must(t, s.DropPin(t.Context(), v.ID, pins[1].Seq))
	if pins, err := s.Pins(t.Context(), v.ID); err != nil || len(pins) != 1 || pins[0].Text != "one" {
		t.Error(pins, err)
	}
}
