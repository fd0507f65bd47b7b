package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

const day = 24 * time.Hour

// HF21: the clock is expected where the last life left it, and from then on where the monotonic clock takes it.
func TestHF21_AClockThatIsElsewhereIsDoubted(t *testing.T) {
	left := time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
	type look struct {
		wall    time.Time
		elapsed time.Duration
		doubted bool
	}
	for _, tc := range []struct {
		name      string
		confirmed bool
		looks     []look
	}{
		{"a restart", false, []look{{left.Add(time.Minute), 0, false}}},
		{"a night down", false, []look{{left.Add(10 * time.Hour), 0, false}}},
		{"a week down", false, []look{{left.Add(7 * day), 0, false}}},
		{"two months down, and no time service", false, []look{{left.Add(60 * day), 0, true}}},
		{"two months down, and a time service vouches for it", true, []look{{left.Add(60 * day), 0, false}, {left.Add(60*day + time.Hour), time.Hour, false}}},
		{"a battery that died: 1970", false, []look{{time.Unix(0, 0), 0, true}}},
		{"a correction of seconds", false, []look{{left.Add(-30 * time.Second), 0, false}}},
		{"a year ahead, then corrected", false, []look{
			{left.Add(365 * day), 0, true}, {left.Add(365*day + time.Minute), time.Minute, true}, {left.Add(2 * time.Minute), 2 * time.Minute, false},
		}},
		{"a step of a year while it runs", false, []look{
			{left, 0, false}, {left.Add(time.Hour), time.Hour, false}, {left.Add(365 * day), 2 * time.Hour, true}, {left.Add(3 * time.Hour), 3 * time.Hour, false},
		}},
		{"a year of running", false, []look{{left, 0, false}, {left.Add(365 * day), 365 * day, false}}},
		{"a machine asleep for a day, whose monotonic clock stood", false, []look{{left, 0, false}, {left.Add(day), time.Minute, false}, {left.Add(day + time.Minute), 2 * time.Minute, false}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &clock{confirmed: func(time.Time) bool { return tc.confirmed }}
			c.expect(left)
			was := false
			for i, l := range tc.looks {
				doubted, changed := c.look(l.wall, l.elapsed)
				if doubted != l.doubted || changed != (doubted != was) || c.doubted() != doubted || (c.warning().Code != "") != doubted {
					t.Errorf("look %d: doubted %v, changed %v, warning %+v; want doubted %v", i, doubted, changed, c.warning(), l.doubted)
				}
				was = doubted
			}
		})
	}
	fresh := &clock{}
	if doubted, _ := fresh.look(time.Unix(0, 0), 0); doubted {
		t.Error("a home without a life doubts its first clock")
	}
}

// A clock that counts the machine's sleep tells a sleep from a clock that was set: within a life every jump is doubted, and
// what the life before left is still compared as a time that no clock measured.
func TestAClockThatCountsSleepDoubtsEveryJumpOfItsLife(t *testing.T) {
	left := time.Date(2026, 11, 22, 4, 0, 0, 0, time.UTC)
	c := &clock{exact: true}
	c.expect(left)
	for _, look := range []struct {
		name    string
		wall    time.Time
		elapsed time.Duration
		doubted bool
	}{
		{"a start after two days down", left.Add(2 * day), 0, false},
		{"a sleep of a day", left.Add(3 * day), day, false},
		{"a jump of two days", left.Add(5*day + time.Minute), day + time.Minute, true},
		{"back in time", left.Add(3*day + 2*time.Minute), day + 2*time.Minute, false},
	} {
		if doubted, _ := c.look(look.wall, look.elapsed); doubted != look.doubted {
			t.Errorf("%s: doubted %v, want %v: %s", look.name, doubted, look.doubted, c.warning().Message)
		}
	}
}

// A life whose clock was set while it ran has lasted what a clock says that nobody sets.
func TestALifeWhoseClockWasSetHasLastedItsTime(t *testing.T) {
	slept := 10 * day // of which the monotonic clock knows nothing
	now := time.Now()
	for _, tc := range []struct {
		name    string
		started time.Time // by the wall clock of then
		elapsed time.Duration
		moved   bool
	}{
		{"no jump", now.Add(-time.Hour), time.Hour, false},
		{"a sleep of ten days", now.Add(-time.Hour - slept), time.Hour + slept, false},
		{"set back by ten years", now.Add(3652 * day), time.Hour, true},
		{"begun in 1970", time.Unix(0, 0), time.Hour, true},
		{"set ahead by two days", now.Add(-2 * day), time.Hour, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := &Gateway{started: tc.started, opts: Options{Booted: func() time.Duration { return tc.elapsed }}}
			g.clock.exact = true
			began := g.startedAt(now)
			if moved := !began.Equal(tc.started); moved != tc.moved || moved && now.Sub(began) != tc.elapsed {
				t.Errorf("it is said to have begun at %s, %v before now", began, now.Sub(began))
			}
		})
	}
}

// aYearAgo is a home whose last life ended a year ago by the clock, with a session that goes on and one that had ended long
// before.
func aYearAgo(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	leave(t, dir, func(ctx context.Context, st *store.Store) error {
		ended := time.Now().Add(-365 * day)
		errs := []error{st.PutLife(ctx, store.Life{ID: "before", StartedAt: ended.Add(-time.Hour), EndedAt: ended, HeartbeatAt: ended, Outcome: ops.OutcomeClean})}
		for i, key := range []string{"chat:dm:1", "chat:dm:2"} {
			s := store.Session{Key: key, ID: fmt.Sprint("s", i), Platform: "chat", Target: fmt.Sprint(i), State: ops.SessionIdle, CreatedAt: ended, LastActivityAt: ended}
			turn := store.Turn{ID: fmt.Sprint("t", i), SessionID: s.ID, Life: "before", StartedAt: ended, EndedAt: ended, State: store.TurnRunning}
			errs = append(errs, st.BeginTurn(ctx, s, turn, store.Message{Role: "user", Content: "remember", At: ended}))
			turn.State = store.TurnDone
			errs = append(errs, st.EndTurn(ctx, s, turn, nil))
		}
		return errors.Join(append(errs, st.EndSession(ctx, "s1", ended, "reset"))...)
	})
	return dir
}

func idleADay(s *setup) { s.cfg.Session.IdleReset.Duration = day }

// HF21: a start with a clock a year ahead costs no row and ends no conversation; the one after it neither, and says so.
func TestHF21_AStartWithAWrongClockLosesNothing(t *testing.T) {
	dir := aYearAgo(t)
	for life := range 2 {
		l := start(t, idleADay, func(s *setup) { s.dir = dir })
		l.g.expire(t.Context(), time.Now())
		l.g.prune(t.Context())
		if got := l.ask("chat:dm:1", "hello"); got == "" { // a message does not end it either
			t.Error("no answer")
		}
		if row := l.session("chat:dm:1"); row.ID != "s0" {
			t.Errorf("life %d: the conversation is %q, want that of a year ago", life, row.ID)
		}
		rows, err := l.g.store.Transcript(t.Context(), "s1")
		if err != nil || len(rows) != 1 {
			t.Errorf("life %d: the history has %d messages, %v", life, len(rows), err)
		}
		st, err := l.g.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, w := range st.Warnings {
			if w.Code == WarnClock {
				said = w.Message
			}
		}
		if !strings.Contains(said, "365 days after") || !strings.Contains(said, "--trust-clock") {
			t.Errorf("life %d: the warning is %q", life, said)
		}
		l.stop(ops.ModeFast)
		<-l.ended
	}
}

// HF21: a gateway that really was down for a year expires and deletes what is due, once somebody vouches for the clock.
func TestHF21_DowntimeCountsOnceTheClockIsTrusted(t *testing.T) {
	for name, trust := range map[string]func(o *Options){
		"a time service vouches for it": func(o *Options) { o.ClockConfirmed = func(time.Time) bool { return true } },
		"an operator does":              func(o *Options) { o.TrustClock = true },
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, idleADay, func(s *setup) { s.dir, s.opts = aYearAgo(t), trust })
			l.g.prune(t.Context())
			rows, err := l.g.store.Transcript(t.Context(), "s1")
			if err != nil || len(rows) != 0 {
				t.Errorf("the old history has %d messages, %v", len(rows), err)
			}
			l.g.expire(t.Context(), time.Now())
			l.wait("the idle conversation expires", func() bool { return l.session("chat:dm:1").Key == "" })
		})
	}
}

// HF21: a life whose clock came back is a measure for the next one, and one whose clock did not is none.
func TestHF21_TheNextLifeComparesWithTheLastClockThatAgreed(t *testing.T) {
	dir := aYearAgo(t)
	l := start(t, func(s *setup) { s.dir = dir })
	if at, err := l.g.store.LastAgreed(t.Context()); err != nil || time.Since(at) < 364*day {
		t.Errorf("with a doubted clock the clock last agreed at %v, %v", at, err)
	}
	l.g.clock.expect(time.Now().Add(-time.Since(l.g.started))) // as if it had been corrected
	l.g.watchClock(t.Context())
	l.wait("the verdict is kept", func() bool {
		at, err := l.g.store.LastAgreed(t.Context())
		return err == nil && time.Since(at) < day
	})
}
