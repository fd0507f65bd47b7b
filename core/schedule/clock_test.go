package schedule

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
	"gatewaytui/core/schedule/when"
	"gatewaytui/core/session"
)

// times are the times of a schedule in a span.
func times(text, zone string, anchor, after, to time.Time) (n int) {
	z, err := when.Zone(zone)
	if err != nil {
		panic(err)
	}
	s, err := when.Parse(text, z)
	if err != nil {
		panic(err)
	}
	for at := s.Next(after, anchor); !at.IsZero() && !at.After(to); at = s.Next(at, anchor) {
		n++
	}
	return n
}

func TestHR8_InAYearWithTwoChangesOfTheClocksEveryTimeHasOneRun(t *testing.T) {
	w := newWorld()
	all := []Definition{
		define("gap", "30 2 * * *", "Europe/Vienna", missedSkip), define("hourly", "10 * * * *", "America/New_York", missedSkip),
		define("interval", "every 7h", "UTC", missedSkip), define("midnight", "0 0 * * *", "Africa/Cairo", missedSkip),
	}
	w.book.Use(all)
	w.open(t)
	end := noon.AddDate(1, 0, 0)
	for at := noon; !at.After(end); at = at.Add(10 * time.Minute) {
		w.at(at)
	}
	for _, d := range all {
		results, sum := w.counted(d.Name)
		if want := times(d.Schedule, d.Zone, noon, noon, end); sum != want || results["done"] != want || want < 365 {
			t.Errorf("%s had %v, which is %d of its %d times", d.Name, results, sum, want)
		}
	}
}

// The scheduler itself, with its timer: a run begins in the second that it is due.
func TestHR8_ARunBeginsWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var begun []time.Time
		offset := time.Until(time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC)) // two hours before the clocks of Vienna go forward
		now := func() time.Time { return time.Now().Add(offset) }
		w.book.o.Now, w.book.o.Tasks = now, directly{}
		w.answer = func(string, session.Message) (string, error) { begun = append(begun, now()); return "", nil }
		w.book.Use([]Definition{define("a", "*/30 1-4 * * *", "Europe/Vienna", missedOnce)})
		w.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); w.book.Watch(ctx) }()
		time.Sleep(6 * time.Hour)
		synctest.Wait()
		cancel()
		<-done
		var shown []string
		for _, at := range begun {
			shown = append(shown, at.UTC().Format("15:04:05"))
		}
		if got, want := strings.Join(shown, " "), "00:00:00 00:30:00 01:00:00 01:30:00 02:00:00 02:30:00"; got != want {
			t.Errorf("runs began at %s, want %s", got, want)
		}
	})
}

func TestHR8_WhatPassedWhileTheGatewayWasDownIsRunOnceOrNotAndReported(t *testing.T) {
	for name, c := range map[string]struct {
		missed, said string
		results      map[string]int
	}{
		"once": {missedOnce, "This run was due at", map[string]int{"done": 1, "skipped": 1}},
		"skip": {missedSkip, "missed 5 runs", map[string]int{"skipped": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.book.Use([]Definition{define("a", "0 * * * *", "UTC", c.missed)})
			w.open(t)
			w.at(noon)
			w.life()
			w.book.Use([]Definition{define("a", "0 * * * *", "UTC", c.missed)})
			w.open(t)
			w.at(noon.Add(5*time.Hour + 30*time.Minute))
			results, sum := w.counted("a")
			if sum != 5 || len(results) != len(c.results) || results["done"] != c.results["done"] || results["skipped"] != c.results["skipped"] {
				t.Errorf("5 times passed; the rows are %v and stand for %d, want %v", results, sum, c.results)
			}
			if len(w.sent) != 1 || !strings.Contains(w.sent[0].Text, c.said) {
				t.Errorf("the chat got %+v, want one message with %q", w.sent, c.said)
			}
			if next := w.row(t, "a").NextAt.Time; !next.Equal(noon.Add(6 * time.Hour)) {
				t.Errorf("the next run is at %v", next)
			}
		})
	}
}

func TestHR8_TwoRunsOfAJobAreNeverAtOnce(t *testing.T) {
	w := newWorld()
	w.book.Use([]Definition{define("a", "*/10 * * * *", "UTC", missedOnce)})
	w.open(t)
	w.at(noon)
	for i := range 4 { // the first one goes on
		w.set(noon.Add(time.Duration(i+1) * 10 * time.Minute))
		w.book.look(t.Context())
	}
	if err := w.book.Run(t.Context(), "a", "uid 0"); !ops.HasCode(err, ops.CodeBusy) {
		t.Errorf("a run by hand meanwhile: %v", err)
	}
	if w.row(t, "a").State != ops.JobRunning || len(w.queue) != 1 {
		t.Errorf("%d runs wait, and the row is %+v", len(w.queue), w.row(t, "a"))
	}
	w.settle()
	results, sum := w.counted("a")
	if sum != 4 || results["done"] != 1 || results["skipped"] != 3 {
		t.Errorf("4 times have rows %v that stand for %d", results, sum)
	}
	if len(w.sent) != 1 || !strings.Contains(w.sent[0].Text, "Skipped, because this run was still running: 3.") {
		t.Errorf("the chat got %+v", w.sent)
	}
}

func TestHR8_NoRunBeginsWhileTurnsAreRefusedOrTheClockIsDoubted(t *testing.T) {
	w := newWorld()
	w.book.Use([]Definition{define("a", "0 * * * *", "UTC", missedOnce)})
	w.open(t)
	w.at(noon)
	w.refused = &ops.Error{Code: ops.CodeDraining, Message: "the gateway is draining"}
	w.at(noon.Add(time.Hour))
	w.refused, w.doubted = nil, true
	w.at(noon.Add(2 * time.Hour))
	if len(w.turns) != 0 {
		t.Fatalf("%d turns began", len(w.turns))
	}
	w.doubted = false
	w.at(noon.Add(2*time.Hour + 30*time.Second))
	if results, sum := w.counted("a"); sum != 2 || results["done"] != 1 || results["skipped"] != 1 {
		t.Errorf("after that the rows are %v for %d times, want a run and a missed time", results, sum)
	}
}

func TestHR8_AClockThatGoesBackRepeatsNothing(t *testing.T) {
	w := newWorld()
	w.book.Use([]Definition{define("a", "0 * * * *", "UTC", missedSkip)})
	w.open(t)
	for h := range 4 {
		w.at(noon.Add(time.Duration(h) * time.Hour))
	}
	for h := range 5 { // from an hour before noon on once more
		w.at(noon.Add(time.Duration(h-1) * time.Hour))
	}
	if results, _ := w.counted("a"); results["done"] != 3 {
		t.Errorf("the runs are %v, want those of 3 hours", results)
	}
	w.at(noon.AddDate(0, 1, 0)) // it was wrong by a month
	w.at(noon.Add(4 * time.Hour))
	w.at(noon.Add(5 * time.Hour))
	if next := w.row(t, "a").NextAt.Time; !next.Equal(noon.Add(6 * time.Hour)) {
		t.Errorf("a month behind its last run, the next one is at %v", next)
	}
}

func TestHR8_APanicEndsOneRunAlone(t *testing.T) {
	w := newWorld()
	w.book.Use([]Definition{define("a", "0 * * * *", "UTC", missedOnce), define("b", "0 * * * *", "UTC", missedOnce)})
	w.open(t)
	w.at(noon)
	w.answer = func(key string, _ session.Message) (string, error) {
		if key == "job:a" {
			panic("a")
		}
		return "fine", nil
	}
	w.at(noon.Add(time.Hour))
	w.at(noon.Add(2 * time.Hour))
	if a, b := w.row(t, "a"), w.row(t, "b"); a.LastResult != ops.JobRunFailed || b.LastResult != ops.JobRunDone || !b.LastAt.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("the rows are %+v and %+v", a, b)
	}
}

func TestHR8_ASchedulerThatDoesNotLookIsAWarning(t *testing.T) {
	w := newWorld()
	w.open(t)
	if why := w.book.Stuck(noon.Add(time.Hour)); why != "" {
		t.Errorf("before its first look: %s", why)
	}
	w.at(noon)
	for after, want := range map[time.Duration]bool{time.Minute: false, 10 * time.Minute: true} {
		if why := w.book.Stuck(noon.Add(after)); (why != "") != want {
			t.Errorf("%v after a look: %q", after, why)
		}
		w.at(noon)
		w.book.Stuck(noon)
	}
}

// Any clock, any end of a life, any length of runs: each time of the schedule is in one row.
func TestHR8_EachTimeIsInOneRow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld()
		text := rapid.SampledFrom([]string{"*/10 * * * *", "0 * * * *", "every 25m", "30 2 * * *"}).Draw(rt, "schedule")
		missed := rapid.SampledFrom([]string{missedOnce, missedSkip}).Draw(rt, "missed")
		all := []Definition{define("a", text, "Europe/Vienna", missed)}
		w.book.Use(all)
		w.open(t)
		w.at(noon)
		now, latest := noon, noon
		rt.Repeat(map[string]func(*rapid.T){
			"time passes": func(rt *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 5000).Draw(rt, "seconds")) * time.Second)
				w.set(now)
				w.book.look(t.Context())
			},
			"the clock goes back": func(rt *rapid.T) {
				now = now.Add(-time.Duration(rapid.IntRange(1, 3600).Draw(rt, "seconds")) * time.Second)
				w.set(now)
				w.book.look(t.Context())
			},
			"the runs end": func(*rapid.T) { w.settle() },
			"the disk is full for a moment": func(*rapid.T) {
				w.fault = errDisk
				w.book.look(t.Context())
				w.fault = nil
				w.book.look(t.Context())
			},
			"a life ends and another begins": func(*rapid.T) {
				w.life()
				w.book.Use(all)
				w.open(t)
				w.book.look(t.Context())
			},
			"": func(rt *rapid.T) {
				if now.After(latest) {
					latest = now
				}
				results, sum := w.counted("a")
				if want := times(text, "Europe/Vienna", noon, noon, latest); sum != want {
					rt.Fatalf("until %v the schedule has %d times, and the rows %v stand for %d", latest, want, results, sum)
				}
				if results["running"] > 1 {
					rt.Fatalf("%d runs are under way", results["running"])
				}
			},
		})
	})
}

// directly runs tasks on goroutines of their own.
type directly struct{}

func (directly) Start(ctx context.Context, _, _ string, run func(context.Context)) bool {
	go run(ctx)
	return true
}
