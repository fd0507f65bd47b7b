package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gatewaytui/core/ops"
)

func TestE7_OneBadPlatformTakesNoOtherDown(t *testing.T) {
	bad := &fake{name: "bad", connectErr: func(int) error { return &CredentialsError{Variable: "TOKEN", Why: "refused by the platform"} }}
	hung := &fake{name: "hung", hangConnect: true}
	good := &fake{name: "good"}
	unset := &fake{name: "unset", broken: &CredentialsError{Variable: "OTHER", Why: "not set"}}
	simulate(t, Options{}, []*fake{hung, bad, good, unset}, func(t *testing.T, w *world) {
		if r := w.wantState("good", ops.AdapterConnected); time.Since(r.Since.Time) != 0 {
			t.Errorf("the good platform connected %v before now, want at once", time.Since(r.Since.Time))
		}
		began := time.Now()
		<-w.FirstAttempts()
		if took := time.Since(began); took >= 2*time.Second {
			t.Errorf("ready after %v, want under 2s", took)
		}
		w.wantState("hung", ops.AdapterConnecting)
		if r := w.wantState("bad", ops.AdapterNeedsCredentials); !strings.Contains(r.LastError, "TOKEN") {
			t.Errorf("last_error %q does not name the variable", r.LastError)
		}
		if ws := w.Warnings(); len(ws) != 2 || ws[0].Code != "adapter.needs_credentials" || !strings.Contains(ws[1].Message, "OTHER") {
			t.Errorf("warnings are %+v, want one for each missing credential, naming it", ws)
		}
		if c, n := w.Counts(); c != 1 || n != 4 {
			t.Errorf("%d of %d connected, want 1 of 4", c, n)
		}
		w.after(time.Until(began.Add(DefaultConnectTimeout)))
		if r := w.wantState("hung", ops.AdapterRetrying); r.Attempt != 2 || r.NextAttemptAt.IsZero() {
			t.Errorf("after its limit the hung attempt reads %+v, want attempt 2 and its time", r)
		}
		if n := bad.count(); n != 1 {
			t.Errorf("missing credentials were tried %d times within 30s, want once", n)
		}
	})
}

func TestFirstAttemptsEndAsSoonAsEachHasEnded(t *testing.T) {
	simulate(t, Options{}, []*fake{{name: "a"}, {name: "b", connectErr: func(int) error { return errOutage }}}, func(t *testing.T, w *world) {
		select {
		case <-w.FirstAttempts():
		default:
			t.Error("both attempts have ended and FirstAttempts is still open")
		}
	})
}

func TestE3_RetriesForEverAtTheCappedInterval(t *testing.T) {
	const outage = 10_000
	f := &fake{name: "f", connectErr: func(n int) error {
		if n <= outage {
			return errOutage
		}
		return nil
	}}
	simulate(t, Options{MaxBackoff: time.Minute}, []*fake{f}, func(t *testing.T, w *world) {
		for f.count() <= outage {
			w.after(time.Hour)
		}
		w.wantState("f", ops.AdapterConnected)
		for i, d := range f.gaps() {
			if d > time.Minute || d < 800*time.Millisecond {
				t.Fatalf("attempt %d came %v after the one before, want between 0.8s and the cap of 1m", i+2, d)
			}
			if i > 10 && d < 48*time.Second {
				t.Fatalf("attempt %d came %v after the one before, want about the cap of 1m", i+2, d)
			}
		}
	})
}

func TestE3_APlatformThatIsBackIsInUseAgainWithinAMinute(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		most time.Duration
	}{
		{"after an outage", errOutage, time.Minute},
		{"after answers that came too late", fmt.Errorf("ask who the bot is: %w", context.DeadlineExceeded), time.Minute},
		{"and one that another program uses is not cut off more often than every five minutes", &ConflictError{Why: "another poller"}, 5 * time.Minute},
		{"and a credential that is wrong is not tried more often either", &CredentialsError{Variable: "V", Why: "refused"}, 5 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			down := &atomic.Bool{}
			down.Store(true)
			f := &fake{name: "f", connectErr: func(int) error {
				if down.Load() {
					return tc.err
				}
				return nil
			}}
			simulate(t, Options{}, []*fake{f}, func(t *testing.T, w *world) {
				w.after(24 * time.Hour)
				gaps := f.gaps()
				if last := gaps[len(gaps)-1]; last > tc.most || last < tc.most*3/4 {
					t.Errorf("after a day the attempts are %v apart, want about %v", last, tc.most)
				}
				down.Store(false)
				w.after(tc.most)
				w.wantState("f", ops.AdapterConnected)
			})
		})
	}
	t.Run("after a silence that made its connections stale", func(t *testing.T) {
		f := &fake{name: "f", deaf: true, stale: 90 * time.Second}
		simulate(t, Options{}, []*fake{f}, func(t *testing.T, w *world) {
			w.after(24 * time.Hour)
			gaps := f.gaps()
			if last := gaps[len(gaps)-1]; last > f.stale+time.Minute {
				t.Errorf("after a day the attempts are %v apart", last)
			}
		})
	})
}

func TestE3_AnAdapterWithoutCredentialsTriesAgainByItself(t *testing.T) {
	f := &fake{name: "f", connectErr: func(n int) error {
		if n < 3 {
			return &CredentialsError{Variable: "V", Why: "refused"}
		}
		return nil
	}}
	simulate(t, Options{}, []*fake{f}, func(t *testing.T, w *world) {
		w.after(DefaultMaxBackoff)
		w.wantState("f", ops.AdapterNeedsCredentials)
		if err := w.Resume("f"); err != nil {
			t.Fatal(err)
		}
		w.after(0)
		w.wantState("f", ops.AdapterConnected)
	})
}

func TestE1_ADeafConnectionIsFlaggedAndRecycledAlone(t *testing.T) {
	deaf := &fake{name: "deaf", deaf: true, stale: 90 * time.Second}
	other := &fake{name: "other", stale: 90 * time.Second}
	simulate(t, Options{}, []*fake{deaf, other}, func(t *testing.T, w *world) {
		w.after(90*time.Second - 1)
		w.wantState("deaf", ops.AdapterConnected)
		w.after(1)
		r := w.wantState("deaf", ops.AdapterStale)
		if r.LastError != "no poll or frame completed within 1m30s" || r.NextAttemptAt.IsZero() || time.Since(r.LastInboundAt.Time) != 90*time.Second {
			t.Errorf("the stale row is %+v, want the reason, the next attempt and the age of the last event", r)
		}
		w.after(2 * time.Second)
		w.wantState("deaf", ops.AdapterConnected)
		if deaf.count() != 2 || other.count() != 1 {
			t.Errorf("connected %d and %d times, want the deaf one twice and the other once", deaf.count(), other.count())
		}
	})
}

func TestE6_ADayOfSilenceRecyclesNoConnection(t *testing.T) {
	quiet := &fake{name: "quiet", stale: 90 * time.Second}
	never := &fake{name: "never", deaf: true} // no liveness: never stale
	simulate(t, Options{}, []*fake{quiet, never}, func(t *testing.T, w *world) {
		w.after(24 * time.Hour)
		if quiet.count() != 1 || never.count() != 1 {
			t.Errorf("%d and %d connections in a day of silence, want one each", quiet.count(), never.count())
		}
	})
}

func TestE9_ConflictsAreCountedAndEscalateOnce(t *testing.T) {
	taken := &atomic.Bool{}
	taken.Store(true)
	f := &fake{name: "f", connectErr: func(int) error {
		if taken.Load() {
			return &ConflictError{Why: "another poller"}
		}
		return nil
	}}
	simulate(t, Options{MaxBackoff: 10 * time.Second}, []*fake{f}, func(t *testing.T, w *world) {
		w.after(time.Hour)
		r := w.wantState("f", ops.AdapterRetrying)
		if r.Conflicts != f.count() || r.Conflicts < 100 {
			t.Errorf("%d conflicts shown after %d attempts", r.Conflicts, f.count())
		}
		if n := w.logs.count(slog.LevelError, "adapter.conflict"); n != 1 {
			t.Errorf("escalated %d times, want once", n)
		}
		if ws := w.Warnings(); len(ws) != 1 || ws[0].Code != "adapter.conflict" {
			t.Errorf("warnings are %+v", ws)
		}
		taken.Store(false)
		w.after(10 * time.Second)
		if r := w.wantState("f", ops.AdapterConnected); r.Conflicts == 0 {
			t.Error("the count was dropped when the start returned, which proves nothing")
		}
		w.after(provenAfter)
		if r := w.row("f"); r.Conflicts != 0 || len(w.Warnings()) != 0 {
			t.Errorf("a minute after recovery the row still reads %+v", r)
		}
	})
}

func TestE9_AConnectionThatEndsAtOnceIsNotARecovery(t *testing.T) {
	f := &fake{name: "f"}
	simulate(t, Options{}, []*fake{f}, func(t *testing.T, w *world) {
		for range 8 {
			f.last(t).fail(errOutage)
			w.after(0)
			r := w.wantState("f", ops.AdapterRetrying)
			w.after(time.Until(r.NextAttemptAt.Time))
		}
		f.last(t).fail(errOutage)
		w.after(0)
		if r := w.row("f"); r.Attempt != 10 || time.Until(r.NextAttemptAt.Time) < time.Minute {
			t.Errorf("after nine connections that ended at once: attempt %d in %v, want attempt 10 after a long wait", r.Attempt, time.Until(r.NextAttemptAt.Time))
		}
	})
}

func TestE11_RecoveryClearsTheError(t *testing.T) {
	f := &fake{name: "f"}
	simulate(t, Options{}, []*fake{f}, func(t *testing.T, w *world) {
		w.after(time.Hour)
		f.last(t).fail(errOutage)
		w.after(0)
		if r := w.wantState("f", ops.AdapterRetrying); r.LastError != "disconnected: connection refused" || r.Attempt != 1 {
			t.Errorf("the row is %+v, want the reason and attempt 1", r)
		}
		w.after(2 * time.Second)
		if r := w.wantState("f", ops.AdapterConnected); r.LastError != "" || r.Attempt != 0 || !r.NextAttemptAt.IsZero() {
			t.Errorf("the recovered row is %+v, want nothing of the failure", r)
		}
		want := []ops.AdapterState{"connecting", "connected", "retrying", "connecting", "connected"}
		if got := w.seen("f"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("OnState received %v, want %v", got, want)
		}
	})
}

func TestE8_APlatformThatAsksForSilenceAtTheStartDelaysNoOther(t *testing.T) {
	f := &fake{name: "f", connectErr: func(n int) error {
		if n == 1 {
			return &RateLimitError{RetryAfter: 6000 * time.Second}
		}
		return nil
	}}
	simulate(t, Options{}, []*fake{f, {name: "other"}}, func(t *testing.T, w *world) {
		<-w.FirstAttempts()
		r := w.wantState("f", ops.AdapterRetrying)
		if time.Until(r.RateLimitedUntil.Time) != 6000*time.Second || r.NextAttemptAt.Before(r.RateLimitedUntil.Time) {
			t.Errorf("the row is %+v, want silence until T and no attempt before", r)
		}
		w.wantState("other", ops.AdapterConnected)
		w.after(6000 * time.Second)
		if r := w.wantState("f", ops.AdapterConnected); !r.RateLimitedUntil.IsZero() {
			t.Errorf("rate_limited_until stayed: %+v", r)
		}
	})
}

func TestALateConnectionIsTakenDownAndDeliversNothing(t *testing.T) {
	f := &fake{name: "f", hangConnect: true}
	simulate(t, Options{ConnectTimeout: time.Second, MaxBackoff: time.Hour, MinBackoff: time.Hour}, []*fake{f}, func(t *testing.T, w *world) {
		w.after(2 * time.Second)
		w.wantState("f", ops.AdapterRetrying)
		w.release()
		w.after(0)
		c := f.last(t)
		if c.disconnected.Load() != 1 {
			t.Error("the connection that came too late was leaked")
		}
		if _, err := c.in.Receive(t.Context(), Inbound{}); err == nil || w.in.n.Load() != 0 {
			t.Error("the connection that came too late delivered a message")
		}
		w.wantState("f", ops.AdapterRetrying)
	})
}

func TestPanicsOfAPlatformAreItsOwnFailure(t *testing.T) {
	for _, where := range []string{"connect", "liveness", "send", "describe", "disconnect"} {
		t.Run("in "+where, func(t *testing.T) {
			f := &fake{name: "f", panics: where, stale: time.Minute}
			simulate(t, Options{}, []*fake{f, {name: "other"}}, func(t *testing.T, w *world) {
				err := w.Send(t.Context(), "f", Outgoing{})
				if where == "send" && !strings.Contains(err.Error(), "panic: send") {
					t.Errorf("send returned %v", err)
				}
				state := map[string]ops.AdapterState{"connect": ops.AdapterRetrying, "liveness": ops.AdapterRetrying, "describe": ops.AdapterConnected}[where]
				if r := w.row("f"); state != "" && (r.State != state || !strings.Contains(r.LastError, "panic: "+where)) {
					t.Errorf("the row is %+v", r)
				}
				if err := w.Stop(t.Context(), "f"); (where == "disconnect") != (err != nil) {
					t.Errorf("stop returned %v", err)
				}
				w.wantState("other", ops.AdapterConnected)
			})
		})
	}
}

func TestSecretsStayOutOfTheRowAndTheLog(t *testing.T) {
	const token = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1"
	f := &fake{name: "f", connectErr: func(int) error {
		return errors.New("Post https://api.telegram.org/bot" + token + "/getMe: \x1b[31mrefused")
	}}
	simulate(t, Options{}, []*fake{f}, func(t *testing.T, w *world) {
		if e := w.row("f").LastError; strings.Contains(e, "AAHdq") || strings.Contains(e, "\x1b") {
			t.Errorf("last_error is %q", e)
		}
		for _, r := range w.logs.lines {
			r.Attrs(func(a slog.Attr) bool {
				if strings.Contains(a.Value.String(), "AAHdq") {
					t.Errorf("the log has %v", a)
				}
				return true
			})
		}
	})
}
