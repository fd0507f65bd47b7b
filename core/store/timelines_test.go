package store

import (
	"testing"
	"time"
)

// OP3: a timeline is written with the end of its turn, and is deleted with it, or when it is old.
func TestOP3_ATimelineLivesAsLongAsItsTurnAndNoLongerThanTheRetention(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	v := Session{Key: "a", ID: "s", Platform: "chat", State: "idle", CreatedAt: noon, LastActivityAt: noon}
	for i, id := range []string{"t1", "t2", "t3"} {
		at := noon.Add(time.Duration(i) * 24 * time.Hour)
		turn := Turn{ID: id, SessionID: "s", StartedAt: at, EndedAt: at, State: TurnRunning}
		must(t, s.BeginTurn(ctx, v, turn))
		turn.State, turn.Timeline = TurnDone, `{"items":[]}`
		must(t, s.EndTurn(ctx, v, turn, nil))
	}
	check := func(when string, want ...string) {
		t.Helper()
		for i, id := range []string{"t1", "t2", "t3"} {
			record, _, _, err := s.Timeline(ctx, "s", id)
			if err != nil || record != want[i] {
				t.Errorf("%s the timeline of %s is %q, %v; want %q", when, id, record, err, want[i])
			}
		}
	}
	check("at first", `{"items":[]}`, `{"items":[]}`, `{"items":[]}`)
	if _, earlier, later, err := s.Timeline(ctx, "s", "t2"); err != nil || earlier != "t1" || later != "t3" {
		t.Errorf("t2 is between %q and %q, %v", earlier, later, err)
	}
	p, err := s.Prune(ctx, Cutoffs{Rest: noon.Add(time.Hour)}, 100)
	if err != nil || p["timelines"] != 1 || len(p) != 1 {
		t.Errorf("deleted are %v, %v", p, err)
	}
	check("after a prune", "", `{"items":[]}`, `{"items":[]}`)
	rows, err := s.Turns(ctx, "s", "t3", 10)
	if err != nil || len(rows) != 2 || rows[0].ID != "t2" || rows[0].Key != "a" {
		t.Errorf("the turns before t3 are %+v, %v", rows, err)
	}
	must(t, s.ForgetSessions(ctx, "s"))
	check("after the conversation is deleted", "", "", "")
}
