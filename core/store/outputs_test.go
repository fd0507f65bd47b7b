package store

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// CV13: long results of tools that are old give way to a note, step by step; what is short, young or said stays.
func TestCV13_OldLongOutputsAreCut(t *testing.T) {
	s := open(t, t.TempDir())
	long := strings.Repeat("x", LongOutput+1)
	talk := func(id string, at time.Time) {
		v := Session{ID: id, Key: "chat:dm:" + id, State: "idle", CreatedAt: at, LastActivityAt: at}
		turn := Turn{ID: "t" + id, SessionID: id, Life: "l", StartedAt: at, State: TurnRunning}
		must(t, s.BeginTurn(t.Context(), v, turn, Message{Role: "user", Content: long, At: at}))
		turn.State = TurnDone
		must(t, s.EndTurn(t.Context(), v, turn, []Message{
			{Role: "tool", Content: long, At: at},
			{Role: "tool", Content: long[1:], At: at},
			{Role: "tool", Content: long}, // as earlier versions wrote it, without a time
			{Role: "assistant", Content: long, At: at},
		}))
	}
	for i := range 4 {
		talk(fmt.Sprint("old", i), noon)
	}
	talk("young", noon.Add(48*time.Hour))
	talk("younger", noon)
	total, after, steps := 0, int64(0), 0
	for more := true; more; steps++ {
		c, err := s.CutOutputs(t.Context(), after, noon.Add(24*time.Hour), 3)
		must(t, err)
		if c.Outputs > 3 || c.Bytes != int64(c.Outputs)*(LongOutput+1) {
			t.Fatalf("a step has done %+v", c)
		}
		total, after, more = total+c.Outputs, c.Last, c.More
	}
	if total != 8 || steps < 7 {
		t.Errorf("%d outputs were cut in %d steps, want 8 in at least 7", total, steps)
	}
	for id, cut := range map[string]bool{"old0": true, "old3": true, "young": false} {
		page, _, err := s.Entries(t.Context(), id, 0, 10, 1<<20)
		must(t, err)
		for i, e := range page {
			want := long
			switch {
			case i == 2:
				want = long[1:]
			case cut && (i == 1 || i == 3):
				want = "[this result of 8193 bytes was deleted because of its age]"
			}
			if e.Content != want {
				t.Errorf("%s: message %d is %.60q", id, i, e.Content)
			}
		}
	}
	if c, err := s.CutOutputs(t.Context(), after, noon.Add(24*time.Hour), 3); err != nil || c.Outputs != 0 || c.Last != after {
		t.Errorf("again: %+v, %v", c, err)
	}
}

// CV13: each kind has its own retention, and a kind without one is kept.
func TestCV13_EachKindHasItsRetention(t *testing.T) {
	s := open(t, t.TempDir())
	later := noon.Add(time.Hour)
	talk := func(id string) {
		conversation(t, s, id, "hello")
		must(t, s.EndSession(t.Context(), id, noon, "reset"))
	}
	talk("a")
	must(t, s.PutAudit(t.Context(), Audit{ID: "r1", At: noon}))
	must(t, s.PutLife(t.Context(), Life{ID: "l1", StartedAt: noon, EndedAt: noon, Outcome: "clean"}))
	for _, tc := range []struct {
		before Cutoffs
		want   string
	}{
		{Cutoffs{}, "map[]"},
		{Cutoffs{Rest: later}, "map[lives:1]"},
		{Cutoffs{Audit: later}, "map[audit:1]"},
		{Cutoffs{Transcripts: later}, "map[messages:1]"},
	} {
		p, err := s.Prune(t.Context(), tc.before, 10)
		if err != nil || fmt.Sprint(p) != tc.want {
			t.Errorf("%+v deletes %v (%v), want %s", tc.before, p, err, tc.want)
		}
	}
}
