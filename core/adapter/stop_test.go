package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// stopAll stops every adapter side by side, as the plan's phase does, and returns how long that took.
func stopAll(t *testing.T, w *world) (time.Duration, map[string]error) {
	t.Helper()
	began, errs := time.Now(), map[string]error{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, name := range w.Names() {
		wg.Go(func() {
			err := w.Stop(t.Context(), name)
			mu.Lock()
			errs[name] = err
			mu.Unlock()
		})
	}
	wg.Wait()
	return time.Since(began), errs
}

func TestA1_SixteenHungDisconnectsCostOneOfThem(t *testing.T) {
	fakes := []*fake{{name: "good"}}
	for i := range 16 {
		fakes = append(fakes, &fake{name: fmt.Sprintf("hung%d", i), hangDisconnect: true})
	}
	simulate(t, Options{CallTimeout: time.Second}, fakes, func(t *testing.T, w *world) {
		took, errs := stopAll(t, w)
		if took != time.Second {
			t.Errorf("stopping 16 hung adapters took %v, want 1s", took)
		}
		for name, err := range errs {
			if name == "good" && err != nil {
				t.Errorf("the good adapter's stop returned %v", err)
			}
			if name != "good" && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, want its timeout", name, err)
			}
			w.wantState(name, ops.AdapterStopped)
		}
		if n := w.logs.count(slog.LevelWarn, "adapter.teardown"); n != 16 {
			t.Errorf("%d warnings, want one for each hung adapter", n)
		}
	})
}

func TestS5_TeardownCostsTheSlowestAndAtMostTheBound(t *testing.T) {
	for _, tc := range []struct {
		name  string
		bound time.Duration
		fakes []*fake
		want  time.Duration
	}{
		{"two adapters that hang cost 0.2 s, not 0.4", 200 * time.Millisecond, []*fake{{name: "a", hangDisconnect: true}, {name: "b", hangDisconnect: true}}, 200 * time.Millisecond},
		{"hung tasks and a hung disconnect share the bound", 200 * time.Millisecond, []*fake{{name: "a", hangCancel: true, hangDisconnect: true}}, 200 * time.Millisecond},
		{"hung tasks leave time for the disconnect", 200 * time.Millisecond, []*fake{{name: "a", hangCancel: true}}, 100 * time.Millisecond},
		{"what heeds its context is bounded as well", 200 * time.Millisecond, []*fake{{name: "a", hangDisconnect: true, polite: true}}, 200 * time.Millisecond},
		{"an attempt that heeds its context costs nothing", 200 * time.Millisecond, []*fake{{name: "a", hangConnect: true, polite: true}}, 0},
		{"an attempt that does not is abandoned", 200 * time.Millisecond, []*fake{{name: "a", hangConnect: true}}, 200 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, Options{CallTimeout: tc.bound}, tc.fakes, func(t *testing.T, w *world) {
				if took, _ := stopAll(t, w); took != tc.want {
					t.Errorf("took %v, want %v", took, tc.want)
				}
				for _, f := range tc.fakes {
					if !f.hangConnect && f.last(t).disconnected.Load() != 1 {
						t.Errorf("%s: no disconnect was tried", f.name)
					}
				}
			})
		})
	}
}

func TestS5_APlatformsOwnBoundCountsWithinThatOfAll(t *testing.T) {
	for _, tc := range []struct {
		name           string
		all, own, want time.Duration
	}{
		{"a shorter one counts", time.Second, 100 * time.Millisecond, 100 * time.Millisecond},
		{"a longer one does not", 100 * time.Millisecond, time.Second, 100 * time.Millisecond},
		{"none is none", 100 * time.Millisecond, 0, 100 * time.Millisecond},
		{"it counts where the bound of all is off", 0, 100 * time.Millisecond, 100 * time.Millisecond},
	} {
		t.Run(tc.name, func(t *testing.T) {
			own := func(string) time.Duration { return tc.own }
			simulate(t, Options{CallTimeout: tc.all, Teardown: own}, []*fake{{name: "a", hangDisconnect: true}}, func(t *testing.T, w *world) {
				if took, _ := stopAll(t, w); took != tc.want {
					t.Errorf("took %v, want %v", took, tc.want)
				}
			})
		})
	}
}

func TestS5_WithZeroOnlyTheCallersContextBounds(t *testing.T) {
	simulate(t, Options{CallTimeout: 0}, []*fake{{name: "a", hangDisconnect: true}}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		began := time.Now()
		err := w.Stop(ctx, "a")
		if took := time.Since(began); took != 20*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("returned %v after %v, want the plan's deadline after 20s", err, took)
		}
	})
}

func TestS5_ACancelledTeardownStillDropsTheAdapter(t *testing.T) {
	f := &fake{name: "a", hangDisconnect: true}
	simulate(t, Options{CallTimeout: 5 * time.Second}, []*fake{f}, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.Stop(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("returned %v, want the cancellation", err)
		}
		w.wantState("a", ops.AdapterStopped)
		if err := w.Send(t.Context(), "a", Outgoing{}); !errors.Is(err, ErrStopped) {
			t.Errorf("send returned %v, want ErrStopped", err)
		}
	})
}

func TestS4_AStoppedAdapterSendsReceivesAndReconnectsNothing(t *testing.T) {
	f := &fake{name: "a", hangDisconnect: true}
	simulate(t, Options{CallTimeout: time.Second}, []*fake{f}, func(t *testing.T, w *world) {
		c := f.last(t)
		if err := w.Stop(t.Context(), "a"); err == nil {
			t.Error("a hung disconnect was not reported")
		}
		if c.cancelled.Load() != 1 || !c.cancelFirst.Load() {
			t.Error("the background tasks were not cancelled before the disconnect")
		}
		if _, err := c.in.Receive(t.Context(), Inbound{}); err == nil || w.in.n.Load() != 0 {
			t.Error("the abandoned connection delivered a message")
		}
		for doing, err := range map[string]error{
			"send": w.Send(t.Context(), "a", Outgoing{}), "resume": w.Resume("a"),
			"reconnect": w.Reconnect("a"), "pause": w.Pause(t.Context(), "a"),
		} {
			if !errors.Is(err, ErrStopped) {
				t.Errorf("%s after the stop returned %v, want ErrStopped", doing, err)
			}
		}
		w.after(24 * time.Hour)
		if f.count() != 1 || c.sent.Load() != 0 {
			t.Errorf("after the stop: %d attempts and %d sends", f.count(), c.sent.Load())
		}
		if err := w.Stop(t.Context(), "a"); err != nil {
			t.Errorf("a second stop returned %v", err)
		}
	})
}

func TestS4_ASendUnderWayEndsBeforeTheDisconnect(t *testing.T) {
	f := &fake{name: "a", sendErr: func() error { time.Sleep(500 * time.Millisecond); return nil }}
	simulate(t, Options{CallTimeout: 4 * time.Second}, []*fake{f}, func(t *testing.T, w *world) {
		sent := make(chan error, 1)
		go func() { sent <- w.Send(t.Context(), "a", Outgoing{}) }()
		synctest.Wait()
		if err := w.Stop(t.Context(), "a"); err != nil {
			t.Errorf("stop returned %v", err)
		}
		if err := <-sent; err != nil {
			t.Errorf("the answer that was being delivered failed: %v", err)
		}
	})
}

func TestS7_AFatalErrorAlwaysEndsInAQueuedReconnect(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    *fake
	}{
		{"when the disconnect hangs", &fake{name: "a", hangDisconnect: true, hangCancel: true}},
		{"when the disconnect panics", &fake{name: "a", panics: "disconnect"}},
		{"when the disconnect works", &fake{name: "a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			simulate(t, Options{CallTimeout: time.Minute}, []*fake{tc.f}, func(t *testing.T, w *world) {
				old := tc.f.last(t)
				old.fail(errOutage)
				w.after(0) // E2: at once, not after the disconnect
				r := w.wantState("a", ops.AdapterRetrying)
				if wait := time.Until(r.NextAttemptAt.Time); wait <= 0 || wait > 2*time.Second || !strings.Contains(r.LastError, "connection refused") {
					t.Errorf("the row is %+v, want the reason and an attempt within 2s", r)
				}
				if err := w.Send(t.Context(), "a", Outgoing{}); !errors.Is(err, ErrNotConnected) {
					t.Errorf("the dead connection is still in use: %v", err)
				}
				w.after(2 * time.Second)
				w.wantState("a", ops.AdapterConnected)
				if tc.f.last(t) == old {
					t.Error("the new connection is the old one")
				}
				if err := w.Send(t.Context(), "a", Outgoing{}); err != nil || old.sent.Load() != 0 {
					t.Errorf("send returned %v; the old connection was used %d times", err, old.sent.Load())
				}
			})
		})
	}
}

func TestE4_ReconnectDuringAHungDisconnectMakesANewConnection(t *testing.T) {
	f := &fake{name: "a", hangDisconnect: true}
	simulate(t, Options{CallTimeout: time.Minute}, []*fake{f}, func(t *testing.T, w *world) {
		old := f.last(t)
		if err := w.Reconnect("a"); err != nil {
			t.Fatal(err)
		}
		w.after(time.Second)
		w.wantState("a", ops.AdapterConnected)
		if f.last(t) == old || f.count() != 2 {
			t.Errorf("%d attempts, want a second one of its own", f.count())
		}
		if _, err := old.in.Receive(t.Context(), Inbound{}); err == nil {
			t.Error("the abandoned connection still delivers")
		}
	})
}

func TestE19_APausedAdapterDoesNothingUntilItIsResumed(t *testing.T) {
	f := &fake{name: "a"}
	bad := &fake{name: "b", connectErr: func(int) error { return errOutage }}
	simulate(t, Options{}, []*fake{f, bad}, func(t *testing.T, w *world) {
		for _, name := range []string{"a", "b"} {
			if err := w.Pause(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			w.wantState(name, ops.AdapterPaused)
		}
		c, tried := f.last(t), bad.count()
		if c.disconnected.Load() != 1 {
			t.Error("pause returned before the disconnect")
		}
		w.after(24 * time.Hour)
		if f.count() != 1 || bad.count() != tried {
			t.Errorf("%d and %d attempts while paused", f.count()-1, bad.count()-tried)
		}
		if err := w.Send(t.Context(), "a", Outgoing{}); !errors.Is(err, ErrNotConnected) {
			t.Errorf("send while paused returned %v", err)
		}
		if err := w.Resume("a"); err != nil {
			t.Fatal(err)
		}
		w.after(0)
		w.wantState("a", ops.AdapterConnected)
	})
}

func TestVerbsOnWhatIsNotThereSaySo(t *testing.T) {
	simulate(t, Options{}, []*fake{{name: "broken", broken: &CredentialsError{Variable: "V", Why: "not set"}}}, func(t *testing.T, w *world) {
		for doing, err := range map[string]error{
			"send": w.Send(t.Context(), "x", Outgoing{}), "stop": w.Stop(t.Context(), "x"), "resume": w.Resume("x"),
		} {
			if !ops.HasCode(err, ops.CodeNotFound) || !strings.Contains(err.Error(), `"x"`) {
				t.Errorf("%s returned %v, want not_found and the name", doing, err)
			}
		}
		if err := w.Reconnect("broken"); !errors.Is(err, ErrUnconfigured) {
			t.Errorf("reconnect returned %v", err)
		}
		if err := w.Stop(t.Context(), "broken"); err != nil {
			t.Errorf("stop returned %v", err)
		}
	})
}
