package shutdown

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// A8: a holder of the executor's lock does not block the watchdog. In real time: virtual time stands still while
// a lock is held.
func TestA8_TheWatchdogEndsTheProcessWhenTheExecutorItselfIsStuck(t *testing.T) {
	c := newCast(t)
	e := &exits{}
	dumped, exited := make(chan struct{}), make(chan struct{})
	const limit = 400 * time.Millisecond
	began := time.Now()
	r := Start(Plan{[]Phase{{Name: "first", Budget: 100 * time.Millisecond, List: items(c.hang("task", "x"))}}}, Options{
		Limit: limit, Dump: func() { close(dumped) },
		Exit: func(code int) { e.exit(code); close(exited) },
	})
	r.mu.Lock()
	select {
	case <-exited:
		if early := time.Since(began); early < 100*time.Millisecond {
			t.Errorf("the watchdog bit after %s, before the plan could be over", early)
		}
	case <-time.After(limit + 10*time.Second): // the slack of a busy machine
		t.Error("the watchdog did not end a stop whose executor is stuck")
	}
	select {
	case <-dumped:
	default:
		t.Error("no goroutine dump was written before the process ended")
	}
	r.mu.Unlock()
	<-r.Done()
	if got := e.all(); !slices.Equal(got, []int{ExitWatchdog}) {
		t.Errorf("the process ended with %v, want one 70", got)
	}
}

func TestTheWatchdog(t *testing.T) {
	// bite arms a watchdog for 10 s with 1 s for the dump and returns when it ended the process.
	bite := func(t *testing.T, dump func(), during func(w *watchdog)) time.Duration {
		t.Helper()
		var took time.Duration
		began, exited := time.Now(), make(chan int, 1)
		w := arm(began.Add(10*time.Second), time.Second, Options{
			Dump: dump, Log: discard, Exit: func(code int) { took = time.Since(began); exited <- code },
		})
		during(w)
		if code := <-exited; code != ExitWatchdog {
			t.Errorf("ended with %d, want %d", code, ExitWatchdog)
		}
		<-w.gone
		return took
	}
	nothing := func(*watchdog) {}
	for _, tt := range []struct {
		name   string
		dump   func(c *cast) func()
		during func(w *watchdog)
		want   time.Duration
	}{
		{"ends the process at its time", nil, nothing, 10 * time.Second},
		{"waits for the dump", func(*cast) func() { return func() { time.Sleep(300 * time.Millisecond) } }, nothing, 10300 * time.Millisecond},
		{"does not wait for a dump that hangs", func(c *cast) func() { return func() { <-c.release } }, nothing, 11 * time.Second},
		{"outlives a dump that panics", func(*cast) func() { return func() { panic("no disk") } }, nothing, 10 * time.Second},
		{"waits longer when the plan is extended", nil, func(w *watchdog) { w.move(w.began.Add(30 * time.Second)) }, 30 * time.Second},
		{"bites sooner when the stop gets stronger", nil, func(w *watchdog) { w.move(w.began.Add(2 * time.Second)) }, 2 * time.Second},
		{"bites at once when its time is past", nil, func(w *watchdog) { time.Sleep(time.Second); w.move(w.began) }, time.Second},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c := newCast(t)
			var dump func()
			if tt.dump != nil {
				dump = tt.dump(c)
			}
			if got := bite(t, dump, tt.during); got != tt.want {
				t.Errorf("after %s, want %s", got, tt.want)
			}
		})
	}
	bubble(t, "does not wait for a log that hangs", func(t *testing.T) {
		c := newCast(t)
		began, exited := time.Now(), make(chan int, 1)
		w := arm(began.Add(time.Second), time.Second, Options{Log: c.hungLog(), Exit: func(code int) { exited <- code }})
		<-exited
		wantElapsed(t, began, 2*time.Second)
		<-w.gone
	})
	bubble(t, "is off when the stop is over", func(t *testing.T) {
		r := Start(Standard(defaults()), Options{Exit: noExit(t)})
		<-r.Done()
		time.Sleep(time.Hour)
	})
}

// The deadline that people are shown is the one that the watchdog keeps.
func TestTheReportsDeadlineIsTheWatchdogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast(t)
		r := Start(standing(map[string][]Item{PhaseDrain: {c.hang("turn", "x")}}), Options{Limit: 90 * time.Second, Exit: noExit(t)})
		check := func() {
			t.Helper()
			rep := r.Report()
			bites := r.dog.at.Add(r.dog.bound)
			if !rep.DeadlineAt.Equal(bites) || rep.DeadlineAt.After(rep.KillAt.Time) {
				t.Errorf("the report says %v, the watchdog ends the process at %v, the kill comes at %v", rep.DeadlineAt, bites, rep.KillAt)
			}
		}
		check()
		time.Sleep(time.Second)
		_, err := r.Extend("drain", "", 30*time.Second)
		mustDo(t, err)
		check()
		r.Escalate(ops.ModeFast, "x")
		check()
		<-r.Done()
	})
}
