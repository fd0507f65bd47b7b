package adapter

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
)

// TestTheDesiredStateHoldsForAnySequence plays random operators and random platforms, and checks after each step what a state
// promises.
func TestTheDesiredStateHoldsForAnySequence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := &fake{
			name:           "f",
			hangDisconnect: rapid.Bool().Draw(rt, "hang disconnect"),
			hangCancel:     rapid.Bool().Draw(rt, "hang cancel"),
			deaf:           rapid.Bool().Draw(rt, "deaf"),
			stale:          time.Duration(rapid.IntRange(0, 3).Draw(rt, "stale")) * time.Minute,
		}
		up := &atomic.Bool{}
		up.Store(true)
		f.connectErr = func(int) error {
			if !up.Load() {
				return errOutage
			}
			return nil
		}
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{
			"pause", "resume", "reconnect", "fail", "outage", "over", "send", "second", "minute", "hour",
		}), 1, 30).Draw(rt, "steps")
		var broken error
		simulate(t, Options{CallTimeout: 3 * time.Second}, []*fake{f}, func(t *testing.T, w *world) {
			broken = play(t, w, f, up, steps)
		})
		if broken != nil {
			rt.Fatalf("%v after %v", broken, steps)
		}
	})
}

func play(t *testing.T, w *world, f *fake, up *atomic.Bool, steps []string) error {
	paused, frozen := false, 0
	for _, step := range steps {
		switch step {
		case "pause":
			began := time.Now()
			_ = w.Pause(t.Context(), "f") // a hung teardown is reported, and is not what is checked here
			if took := time.Since(began); took > 3*time.Second {
				return fmt.Errorf("pause took %v", took)
			}
			paused, frozen = true, f.count()
		case "resume", "reconnect":
			verb := w.Resume
			if step == "reconnect" {
				verb = w.Reconnect
			}
			if err := verb("f"); err != nil {
				return err
			}
			paused = false
		case "fail":
			if conns, _ := f.made(); len(conns) > 0 {
				conns[len(conns)-1].fail(errOutage)
			}
		case "outage":
			up.Store(false)
		case "over":
			up.Store(true)
		case "send":
			err := w.Send(t.Context(), "f", Outgoing{})
			if connected := w.row("f").State == ops.AdapterConnected; connected != (err == nil) {
				return fmt.Errorf("send returned %v while %s", err, w.row("f").State)
			}
		case "second":
			w.after(time.Second)
		case "minute":
			w.after(time.Minute)
		case "hour":
			w.after(time.Hour)
		}
		w.after(0)
		r := w.row("f")
		conns, peak := f.made()
		waits := r.State == ops.AdapterRetrying || r.State == ops.AdapterStale
		switch {
		case paused && (r.State != ops.AdapterPaused || f.count() != frozen):
			return fmt.Errorf("%s with %d new attempts while paused", r.State, f.count()-frozen)
		case !paused && (r.State == ops.AdapterPaused || r.State == ops.AdapterStopped):
			return fmt.Errorf("%s without a request", r.State)
		case waits == r.NextAttemptAt.IsZero():
			return fmt.Errorf("%s with the next attempt at %v", r.State, r.NextAttemptAt)
		case waits && (r.Attempt == 0 || r.LastError == "" || time.Until(r.NextAttemptAt.Time) > DefaultOutageBackoff):
			return fmt.Errorf("waiting without a number, a reason or an end: %+v", r)
		case peak > 1 && !f.hangCancel: // while the old one hangs, it is abandoned next to the new one (E4)
			return fmt.Errorf("%d of %d connections at once", peak, len(conns))
		}
	}
	if err := w.Stop(t.Context(), "f"); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if r := w.row("f"); r.State != ops.AdapterStopped {
		return fmt.Errorf("%s after the stop", r.State)
	}
	conns, _ := f.made()
	for _, c := range conns {
		if _, err := c.in.Receive(t.Context(), Inbound{}); err == nil {
			return errors.New("a connection delivers after the stop")
		}
		if n := c.disconnected.Load(); n != 1 {
			return fmt.Errorf("a connection was disconnected %d times", n)
		}
	}
	return nil
}
