package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

// How an earlier life ended is read from what it left (DESIGN.md, 7).
func TestTheLastEndIsClassified(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(o *Options)
		want    ops.Outcome
		phase   string
		stop    string
	}{
		{"neither marker nor report: it crashed", func(*Options) {}, ops.OutcomeCrashed, "", ""},
		{"a marker alone: it was cut short", func(o *Options) { o.LifeBefore = "the-life-before" }, ops.OutcomeCutShort, "", ""},
		{"a report that was still running: it was cut short in that phase", func(o *Options) {
			hostOf(o).lastReport = func(string) (ops.Shutdown, bool, error) {
				return ops.Shutdown{ID: "s", Life: "the-life-before", Outcome: ops.ShutdownRunning, Phases: []ops.Phase{{Name: "drain", State: ops.StepRunning}}}, true, nil
			}
		}, ops.OutcomeCutShort, "drain", ""},
		{"a report that came to its end: it was clean", func(o *Options) {
			hostOf(o).lastReport = func(string) (ops.Shutdown, bool, error) {
				return ops.Shutdown{ID: "s", Life: "the-life-before", Outcome: ops.ShutdownClean, EndedAt: ops.At(time.Now())}, true, nil
			}
		}, ops.OutcomeClean, "", ""},
		{"a stop that was forced came to its end, and is said to be forced (A11)", func(o *Options) {
			hostOf(o).lastReport = func(string) (ops.Shutdown, bool, error) {
				return ops.Shutdown{ID: "s", Life: "the-life-before", Outcome: ops.ShutdownForced, EndedAt: ops.At(time.Now())}, true, nil
			}
		}, ops.OutcomeClean, "", ops.ShutdownForced},
		{"a sweep that left a process is not a clean end (A11)", func(o *Options) {
			hostOf(o).lastReport = func(string) (ops.Shutdown, bool, error) {
				return ops.Shutdown{ID: "s", Life: "the-life-before", Outcome: ops.ShutdownIncomplete, EndedAt: ops.At(time.Now()), Phases: []ops.Phase{{Name: "sweep", State: ops.StepFailed}}}, true, nil
			}
		}, ops.OutcomeCutShort, "sweep", ops.ShutdownIncomplete},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			first := start(t, func(s *setup) { s.dir = dir })
			row := first.g.recovery.Row()
			row.ID = "the-life-before"
			first.stop(ops.ModeFast)
			crash(t, dir, row)
			l := start(t, func(s *setup) { s.dir, s.opts = dir, tc.prepare })
			st, err := l.g.Status(context.Background())
			if err != nil || st.LastEnd == nil {
				t.Fatalf("status: %+v, %v", st, err)
			}
			if st.LastEnd.Outcome != tc.want || st.LastEnd.Phase != tc.phase || st.LastEnd.Stop != tc.stop || st.LastEnd.RSSBytes < 1<<20 {
				t.Fatalf("the last end is %+v, want %s %q %q, with what it kept resident", st.LastEnd, tc.want, tc.phase, tc.stop)
			}
			h, err := l.g.History(context.Background(), ops.Query{})
			if err != nil || len(h.Items) != 3 || h.Items[0].Outcome != ops.OutcomeRunning || h.Items[1].Outcome != tc.want {
				t.Fatalf("history: %+v, %v", h.Items, err)
			}
		})
	}
}

// A filter and a cursor together miss no life and show none twice; a life without an end says when it was last seen, by its
// heartbeat or, where that is later, by its stop's report.
func TestHistoryIsFilteredPagedAndSaysWhenALifeWasLastSeen(t *testing.T) {
	dir := t.TempDir()
	first := start(t, func(s *setup) { s.dir = dir })
	row := first.g.recovery.Row()
	first.stop(ops.ModeFast)
	began := time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	for i := range 10 {
		row.ID, row.Outcome, row.Reason = fmt.Sprintf("old-%d", i), ops.OutcomeCrashed, "a test"
		if i < 3 || i == 5 || i == 6 { // now few, now many in what is read at once
			row.Reason = "an Upgrade"
		}
		row.StartedAt, row.HeartbeatAt = began, began.Add(time.Minute)
		crash(t, dir, row)
	}
	row.ID, row.Outcome, row.Reason = "cut", ops.OutcomeRunning, ""
	crash(t, dir, row)
	reported := time.Now().UTC().Truncate(time.Millisecond)
	l := start(t, func(s *setup) {
		s.dir, s.opts = dir, func(o *Options) {
			hostOf(o).lastReport = func(string) (ops.Shutdown, bool, error) {
				return ops.Shutdown{ID: "s", Life: "cut", Outcome: ops.ShutdownRunning, StartedAt: ops.At(reported), ElapsedMS: 60_000}, true, nil
			}
		}
	})
	var got []string
	q := ops.Query{Limit: 2, Filter: "UPGRADE"}
	for {
		p, err := l.g.History(context.Background(), q)
		if err != nil || len(p.Items) > q.Limit {
			t.Fatalf("%d lives, %v", len(p.Items), err)
		}
		for _, life := range p.Items {
			got = append(got, life.Life)
			if want := began.Add(time.Minute); !life.LastSeenAt.Equal(want) {
				t.Errorf("%s was last seen at %s, want its heartbeat at %s", life.Life, life.LastSeenAt, want)
			}
		}
		if q.Cursor = p.Next; q.Cursor == "" {
			break
		}
	}
	if want := []string{"old-6", "old-5", "old-2", "old-1", "old-0"}; !slices.Equal(got, want) {
		t.Errorf("the filter found %q, want %q", got, want)
	}
	cut, err := l.g.History(context.Background(), ops.Query{Filter: "cut"})
	if err != nil || len(cut.Items) != 1 || !cut.Items[0].LastSeenAt.Equal(reported.Add(time.Minute)) {
		t.Errorf("the life that was cut short is %+v, %v; want one that was last seen at its report's last word", cut.Items, err)
	}
	if _, err := l.g.History(context.Background(), ops.Query{Cursor: "x"}); !ops.HasCode(err, ops.CodeInvalid) {
		t.Errorf("an unknown cursor is answered with %v", err)
	}
}

// A turn that a crash cut off is interrupted, and the model learns of it at the next message; with --no-resume it does not.
func TestTheNextTurnLearnsOfACrashedOne(t *testing.T) {
	for _, noResume := range []bool{false, true} {
		t.Run(fmt.Sprintf("no resume %v", noResume), func(t *testing.T) {
			dir := t.TempDir()
			first := start(t, func(s *setup) { s.dir = dir })
			first.ask("api:user:a", "hello")
			id := first.session("api:user:a").ID
			first.stop(ops.ModeFast)
			interruptedTurn(t, dir, "api:user:a", id)
			notes := make(chan string, 1)
			l := start(t, func(s *setup) {
				s.dir, s.opts = dir, func(o *Options) { o.NoResume = noResume }
				s.model = notesTo(notes)
			})
			if row := l.session("api:user:a"); row.ID != id {
				t.Fatalf("the session is %+v, want id %s", row, id)
			}
			l.ask("api:user:a", "go on")
			if got := strings.Contains(<-notes, "interrupted"); got == noResume {
				t.Fatalf("the model learned of the interruption: %v", got)
			}
		})
	}
}
