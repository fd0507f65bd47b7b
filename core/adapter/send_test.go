package adapter

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

func TestA2_AHungSendIsBoundedAndDelaysNoOther(t *testing.T) {
	hung := &fake{name: "hung", hangSend: true}
	failing := &fake{name: "failing", sendErr: func() error { return &RefusedError{Why: "blocked"} }}
	good := &fake{name: "good"}
	simulate(t, Options{SendTimeout: 5 * time.Second}, []*fake{hung, failing, good}, func(t *testing.T, w *world) {
		const targets = 20
		hungErrs := make(chan error, targets)
		began := time.Now()
		for range targets {
			go func() { hungErrs <- w.Send(t.Context(), "hung", Outgoing{}) }()
		}
		synctest.Wait()
		if r := w.row("hung"); r.Queue != targets {
			t.Errorf("queue is %d, want %d", r.Queue, targets)
		}
		for range targets {
			if err := w.Send(t.Context(), "good", Outgoing{}); err != nil {
				t.Fatal(err)
			}
			var refused *RefusedError
			if err := w.Send(t.Context(), "failing", Outgoing{}); !errors.As(err, &refused) {
				t.Fatalf("the type of the failure was lost: %v", err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the others waited %v", took)
		}
		for range targets {
			if err := <-hungErrs; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a hung send returned %v", err)
			}
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("20 hung sends took %v, want the bound of one", took)
		}
		if r := w.row("hung"); r.Queue != 0 {
			t.Errorf("queue is %d afterwards", r.Queue)
		}
	})
}

func TestE8_ASilencedAdapterRefusesAtOnceUntilTheTime(t *testing.T) {
	calls := &atomic.Int32{}
	f := &fake{name: "f", sendErr: func() error {
		if calls.Add(1) == 1 {
			return &RateLimitError{RetryAfter: 6000 * time.Second}
		}
		return nil
	}}
	simulate(t, Options{}, []*fake{f, {name: "other"}}, func(t *testing.T, w *world) {
		until := time.Now().Add(6000 * time.Second)
		for range 50 {
			began := time.Now()
			err := w.Send(t.Context(), "f", Outgoing{})
			var limit *RateLimitError
			if !errors.As(err, &limit) || time.Now().Add(limit.RetryAfter) != until || time.Since(began) != 0 {
				t.Fatalf("send returned %v after %v, want the limit at once", err, time.Since(began))
			}
			if r := w.row("f"); !r.RateLimitedUntil.Equal(until) {
				t.Fatalf("the row says %v, want %v", r.RateLimitedUntil, until)
			}
			if err := w.Send(t.Context(), "other", Outgoing{}); err != nil {
				t.Fatal(err)
			}
			w.after(time.Minute)
		}
		if n := calls.Load(); n != 1 {
			t.Errorf("the platform was called %d times during its silence, which prolongs it", n-1)
		}
		w.after(time.Until(until))
		if err := w.Send(t.Context(), "f", Outgoing{}); err != nil {
			t.Errorf("send after the silence returned %v", err)
		}
	})
}

func TestSendsOfALostConnectionEndWithIt(t *testing.T) {
	f := &fake{name: "f", hangSend: true}
	simulate(t, Options{SendTimeout: time.Minute}, []*fake{f}, func(t *testing.T, w *world) {
		ended := make(chan error, 1)
		go func() { ended <- w.Send(t.Context(), "f", Outgoing{}) }()
		synctest.Wait()
		f.last(t).fail(errOutage)
		w.after(0)
		select {
		case err := <-ended:
			if err == nil || errors.Is(err, context.Canceled) {
				t.Errorf("send returned %v, want that the connection was lost", err)
			}
		default:
			t.Error("the send outlived its connection")
		}
	})
}

// growing is a platform that learns with each connection what it can do.
type growing struct {
	fake
	able []Ability
}

func (g *growing) Abilities() []Ability { return g.able }

func (g *growing) Connect(ctx context.Context, r Receiver) (Conn, error) {
	g.able = append(g.able, []Ability{AbilityTyping, AbilityMenu}[len(g.able)])
	return g.fake.Connect(ctx, r)
}

func TestPL4_AbilitiesAreThoseOfTheLastConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &growing{fake: fake{name: "g"}}
		var rows []ops.Adapter
		s := NewSupervisor(Options{Receiver: &fakeReceiver{}, OnState: func(row ops.Adapter) { rows = append(rows, row) }})
		s.Add(g)
		if s.Can("g", AbilityTyping) {
			t.Error("it has an ability before its first connection")
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		if !s.Can("g", AbilityTyping) || s.Can("g", AbilityMenu) {
			t.Errorf("after the first connection it can %q", s.Rows()[0].Abilities)
		}
		if last := rows[len(rows)-1]; last.State != ops.AdapterConnected || len(last.Abilities) != 1 {
			t.Errorf("the row of the connection is %+v", last)
		}
		g.last(t).fail(errors.New("gone"))
		synctest.Wait()
		if !s.Can("g", AbilityTyping) {
			t.Error("it has lost its ability with its connection")
		}
		time.Sleep(time.Minute) // virtual
		synctest.Wait()
		if !s.Can("g", AbilityMenu) {
			t.Errorf("after the second connection it can %q", s.Rows()[0].Abilities)
		}
		cancel()
		<-ended
	})
}

// signing is a platform whose people write commands with a sign of its own.
type signing struct{ Platform }

func (signing) Name() string        { return "signing" }
func (signing) CommandSign() string { return "!" }

func TestAPlatformSaysHowCommandsAreWrittenThere(t *testing.T) {
	s := NewSupervisor(Options{})
	s.Add(signing{})
	if got := s.CommandSign("signing") + s.CommandSign("another"); got != "!/" {
		t.Errorf("the signs are %q", got)
	}
}
