package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gatewaytui/core/health"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

const day = 24 * time.Hour

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
		l := start(t, idleADay, func(s *setup) { s.dir, s.cfg.Retention.Transcripts.Duration = dir, 90*day })
		l.g.conversations.Expire(t.Context(), time.Now())
		l.g.recovery.Prune(t.Context())
		if got := l.ask("chat:dm:1", "hello"); got == "" { // a message does not end it either
			t.Error("no answer")
		}
		if row := l.session("chat:dm:1"); row.ID != "s0" {
			t.Errorf("life %d: the conversation is %q, want that of a year ago", life, row.ID)
		}
		rows, err := l.g.recovery.Store().Since(t.Context(), "s1", 0)
		if err != nil || len(rows) != 1 {
			t.Errorf("life %d: the history has %d messages, %v", life, len(rows), err)
		}
		st, err := l.g.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, w := range st.Warnings {
			if w.Code == health.WarnClock {
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

// HF21: a gateway that really was down for a year expires and deletes what is due, once the clock is confirmed.
func TestHF21_DowntimeCountsOnceTheClockIsTrusted(t *testing.T) {
	for name, trust := range map[string]func(o *Options){
		"a time service confirms it": func(o *Options) { hostOf(o).clockConfirmed = func(time.Time) bool { return true } },
		"an operator does":           func(o *Options) { o.TrustClock = true },
	} {
		t.Run(name, func(t *testing.T) {
			l := start(t, idleADay, func(s *setup) { s.dir, s.opts, s.cfg.Retention.Transcripts.Duration = aYearAgo(t), trust, 90*day })
			l.g.recovery.Prune(t.Context())
			rows, err := l.g.recovery.Store().Since(t.Context(), "s1", 0)
			if err != nil || len(rows) != 0 {
				t.Errorf("the old history has %d messages, %v", len(rows), err)
			}
			l.g.conversations.Expire(t.Context(), time.Now())
			l.wait("the idle conversation expires", func() bool { return l.session("chat:dm:1").Key == "" })
		})
	}
}

// HF21: a life whose clock is doubted does not confirm the clock for the next one.
func TestHF21_ALifeWithADoubtedClockConfirmsNoClock(t *testing.T) {
	dir := aYearAgo(t)
	l := start(t, func(s *setup) { s.dir = dir })
	if at, err := l.g.recovery.Store().LastAgreed(t.Context()); err != nil || time.Since(at) < 364*day {
		t.Errorf("with a doubted clock the clock last agreed at %v, %v", at, err)
	}
}
