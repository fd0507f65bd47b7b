package ops

import (
	"testing"
	"time"
)

func TestHowAStopBecameStrongerIsSaid(t *testing.T) {
	began := time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC)
	at := func(d time.Duration) Time { return At(began.Add(d)) }
	for _, tc := range []struct {
		name  string
		in    Shutdown
		want  string
		began Mode
	}{
		{"as it was asked for", Shutdown{Mode: ModeGraceful}, "graceful", ModeGraceful},
		{"a report of an earlier version, which has only the mode at the end", Shutdown{Mode: ModeImmediate}, "immediate", ModeImmediate},
		{
			"forced",
			Shutdown{Mode: ModeImmediate, StartedAt: at(0), Escalations: []Escalation{{At: at(3200 * time.Millisecond), From: ModeGraceful, Mode: ModeImmediate, By: "uid 0"}}},
			"graceful, forced to immediate after 3.2s by uid 0", ModeGraceful,
		},
		{"in two steps, late", Shutdown{Mode: ModeImmediate, StartedAt: at(0), Escalations: []Escalation{
			{At: at(90 * time.Second), From: ModeGraceful, Mode: ModeFast, By: "SIGTERM"}, {At: at(2 * time.Hour), From: ModeFast, Mode: ModeImmediate},
		}}, "graceful, forced to fast after 1:30 by SIGTERM, forced to immediate after 2:00:00", ModeGraceful},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.in.ModeText(); got != tc.want || tc.in.Began() != tc.began {
				t.Errorf("%q, began %s; want %q, began %s", got, tc.in.Began(), tc.want, tc.began)
			}
		})
	}
}

func TestWhatIsLeftOfAStop(t *testing.T) {
	began := At(time.Date(2026, 11, 21, 13, 0, 0, 0, time.UTC))
	phases := func(running Phase) []Phase {
		return []Phase{
			{Name: "mark", State: StepDone, BudgetMS: 2000, ElapsedMS: 10},
			running,
			{Name: "adapters", State: StepPending, BudgetMS: 5000},
			{Name: "skipped", State: StepPending, BudgetMS: 9000, Detail: "skipped by uid 0"},
		}
	}
	drain := Phase{Name: "drain", State: StepRunning, BudgetMS: 20_000, ElapsedMS: 4000}
	waiting := drain
	waiting.Items = []Item{{State: StepRunning, Next: ThenInterrupted, NextInMS: 3000}, {State: StepDone}}
	for _, tc := range []struct {
		name  string
		in    Shutdown
		since time.Duration
		want  time.Duration
	}{
		{"the rest of the running phase and the budgets of those that follow", Shutdown{Mode: ModeGraceful, Phases: phases(drain)}, 0, 21 * time.Second},
		{"a phase ends when its last item is given up", Shutdown{Mode: ModeGraceful, Phases: phases(waiting)}, 0, 8 * time.Second},
		{"an old report", Shutdown{Mode: ModeGraceful, Phases: phases(waiting)}, time.Second, 7 * time.Second},
		{"the deadline comes first", Shutdown{Mode: ModeGraceful, StartedAt: began, DeadlineAt: At(began.Add(10 * time.Second)), ElapsedMS: 4000, Phases: phases(drain)}, time.Second, 5 * time.Second},
		{"numbers whose sum overflows", Shutdown{Mode: ModeGraceful, Phases: []Phase{{State: StepRunning, BudgetMS: 1 << 62, ElapsedMS: -1 << 62}}}, 0, 10 * 365 * 24 * time.Hour},
		{"nothing", Shutdown{}, time.Hour, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.in.Left(tc.since); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
