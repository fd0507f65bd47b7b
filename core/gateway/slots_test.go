package gateway

import (
	"context"
	"testing"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// waits is how many session rows wait for a model slot.
func (l *lab) waits() (n int) {
	l.t.Helper()
	s, err := l.g.Snapshot(context.Background())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, row := range s.Sessions {
		if row.State == ops.SessionWaiting && row.WaitingFor == "limits.model_calls" && row.Doing == "waiting for a model slot" {
			n++
		}
	}
	return n
}

func oneSlot(s *setup) { s.cfg.Limits.ModelCalls = 1 }

// firstWaits answers at once, but for the message "first", which it answers with "done" once it may proceed.
func firstWaits(proceed <-chan struct{}) script {
	return func(ctx context.Context, req model.Request) (model.Response, error) {
		text, _ := lastUser(req)
		if text != "first" {
			return says("you said " + text), nil
		}
		select {
		case <-proceed:
			return says("done"), nil
		case <-ctx.Done():
			return model.Response{}, ctx.Err()
		}
	}
}

func TestATurnThatWaitsForAModelSlotSaysSoAndGoesOnWhenItHasOne(t *testing.T) {
	proceed := make(chan struct{})
	l := start(t, oneSlot, func(s *setup) {
		s.model = firstWaits(proceed)
	})
	first := l.send("api:user:a", "first")
	l.wait("the first call runs", func() bool {
		return l.session("api:user:a").Doing == ops.DoingModelCall && l.session("api:user:a").State == ops.SessionRunning
	})
	second := l.send("api:user:b", "second")
	l.wait("the second turn waits for a slot", func() bool { return l.waits() == 1 })
	close(proceed)
	if got := l.await(first); got.text != "done" || got.err != nil {
		t.Errorf("the first is answered with %+v", got)
	}
	if got := l.await(second); got.text != "you said second" || got.err != nil {
		t.Errorf("the second is answered with %+v", got)
	}
	if row := l.session("api:user:b"); row.State != ops.SessionIdle || row.WaitingFor != "" {
		t.Errorf("afterwards the row is %+v", row)
	}
}

func TestAnInterruptEndsTheWaitForAModelSlotAtOnce(t *testing.T) {
	l := start(t, oneSlot)
	l.send("api:user:a", "hang")
	l.wait("the first call runs", func() bool { return l.session("api:user:a").Doing == ops.DoingModelCall })
	waiting := l.send("api:user:b", "hello")
	l.wait("the second turn waits for a slot", func() bool { return l.waits() == 1 })
	l.do(ops.Command{Verb: ops.VerbInterrupt, Target: "api:user:b"})
	if got := l.await(waiting); !ops.HasCode(got.err, ops.CodeConflict) {
		t.Errorf("the interrupted turn is answered with %+v", got)
	}
	if n := l.limitRow("limits.model_calls").Waiting; n != 0 {
		t.Errorf("%d calls still wait", n)
	}
}

// A turn that has made calls already must not lose its work because it waits for the next one when a stop begins.
func TestADrainServesTheTurnsThatWaitForAModelSlot(t *testing.T) {
	proceed := make(chan struct{})
	l := start(t, oneSlot, func(s *setup) {
		s.cfg.Shutdown.DrainTimeout.Duration = patience
		s.model = firstWaits(proceed)
	})
	first := l.send("api:user:a", "first")
	l.wait("the first call runs", func() bool { return l.session("api:user:a").Doing == ops.DoingModelCall })
	second := l.send("api:user:b", "second")
	l.wait("the second turn waits for a slot", func() bool { return l.waits() == 1 })
	l.g.Stop(StopRequest{Mode: ops.ModeGraceful, Reason: "test", By: "the test"})
	l.wait("the drain waits for both turns", func() bool {
		run := l.g.lifecycle.Run()
		return run != nil && len(run.Report().Blockers()) == 2
	})
	close(proceed)
	for _, c := range []struct {
		answer responder
		want   string
	}{{first, "done"}, {second, "you said second"}} {
		if got := l.await(c.answer); got.text != c.want || got.err != nil {
			t.Errorf("a turn of the drain is answered with %+v, want %q", got, c.want)
		}
	}
}
