package adapter

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// able is a fake whose connections type, and edit what was sent.
type able struct {
	*fake
	typing func(ctx context.Context) error
	typed  atomic.Int32
}

func (a *able) Abilities() []Ability { return []Ability{AbilityTyping} }

func (a *able) Bounds(string) Bounds { return Bounds{Messages: 20} }

func (a *able) Connect(ctx context.Context, r Receiver) (Conn, error) {
	c, err := a.fake.Connect(ctx, r)
	if err != nil {
		return nil, err
	}
	return typist{c.(*fakeConn), a}, nil
}

type typist struct {
	*fakeConn
	a *able
}

func (t typist) Typing(ctx context.Context, _ string) error {
	t.a.typed.Add(1)
	if t.a.typing == nil {
		return nil
	}
	return t.a.typing(ctx)
}

// supervise runs f next to a Supervisor of p.
func supervise(t *testing.T, p Platform, f func(t *testing.T, s *Supervisor)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := NewSupervisor(Options{Receiver: &fakeReceiver{}, CallTimeout: 5 * time.Second})
		s.Add(p)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		f(t, s)
		cancel()
		<-ended
	})
}

func TestPL1_AnAdapterShowsWhatItsPlatformCanDo(t *testing.T) {
	supervise(t, &able{fake: &fake{name: "f"}}, func(t *testing.T, s *Supervisor) {
		if got := s.Rows()[0].Abilities; len(got) != 1 || got[0] != "typing" {
			t.Errorf("the row has %q", got)
		}
		if !s.Can("f", AbilityTyping) || s.Can("f", AbilityEdit) || s.Can("other", AbilityTyping) {
			t.Error("Can does not say what the platform declared")
		}
		if s.Bounds("f", "1").Messages != 20 || s.Bounds("other", "1") != (Bounds{}) {
			t.Error("Bounds are not those of the platform")
		}
		if _, err := s.Edit(t.Context(), "f", "1", Outgoing{}); !errors.Is(err, ErrUnable) {
			t.Errorf("an edit that the platform cannot do returned %v", err)
		}
	})
}

func TestCV6_TypingThatHangsDelaysNoSendAndIsAbandoned(t *testing.T) {
	a := &able{fake: &fake{name: "f"}}
	supervise(t, a, func(t *testing.T, s *Supervisor) {
		hang := make(chan struct{}) // of the bubble
		defer close(hang)
		a.typing = func(context.Context) error { <-hang; return nil }
		const calls = 3 * maxPassing
		errs := make(chan error, calls)
		for range calls {
			go func() { errs <- s.Typing(t.Context(), "f", "1") }()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := s.Send(t.Context(), "f", Outgoing{}); err != nil || time.Since(began) != 0 {
			t.Errorf("the send took %s and returned %v", time.Since(began), err)
		}
		if n := a.typed.Load(); n != maxPassing {
			t.Errorf("%d calls are under way, want the bound of %d", n, maxPassing)
		}
		if err := s.Stop(t.Context(), "f"); err != nil || time.Since(began) != 0 {
			t.Errorf("the stop took %s and returned %v", time.Since(began), err)
		}
		for range calls {
			if err := <-errs; err == nil {
				t.Error("a call that hangs returned no error")
			}
		}
		if time.Since(began) != 0 {
			t.Errorf("the calls ended %s after the stop", time.Since(began))
		}
		if err := s.Typing(t.Context(), "f", "1"); !errors.Is(err, ErrStopped) {
			t.Errorf("typing after the stop returned %v", err)
		}
	})
}

func TestCV6_ARateLimitForTypingSilencesNoMessage(t *testing.T) {
	a := &able{fake: &fake{name: "f"}, typing: func(context.Context) error { return &RateLimitError{RetryAfter: time.Hour} }}
	supervise(t, a, func(t *testing.T, s *Supervisor) {
		if _, limited := errors.AsType[*RateLimitError](s.Typing(t.Context(), "f", "1")); !limited {
			t.Fatal("the limit was lost")
		}
		if _, err := s.Send(t.Context(), "f", Outgoing{}); err != nil {
			t.Errorf("the send returned %v", err)
		}
		a.sendErr = func() error { return &RateLimitError{RetryAfter: time.Hour} }
		if _, err := s.Send(t.Context(), "f", Outgoing{Passing: true}); err == nil {
			t.Fatal("the draft was sent")
		}
		a.sendErr = nil
		if _, err := s.Send(t.Context(), "f", Outgoing{}); err != nil {
			t.Errorf("the send after a limit for a draft returned %v", err)
		}
	})
}

func TestWhatIsKnownOfAMessageAfterAnError(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{nil, true},
		{errOutage, true},
		{context.DeadlineExceeded, true},
		{&RefusedError{}, false},
		{&RateLimitError{}, false},
		{&UnsentError{errOutage}, false},
		{ErrNotConnected, false},
		{ErrStopped, false},
	} {
		if got := MayHaveArrived(tc.err); got != tc.want {
			t.Errorf("after %v the message may have arrived: %t, want %t", tc.err, got, tc.want)
		}
	}
}

// courier is a fake whose connections carry files.
type courier struct {
	*fake
	fetch func(ctx context.Context) ([]byte, error)
	send  func(ctx context.Context) (Sent, error)
}

func (*courier) Abilities() []Ability { return []Ability{AbilityFilesIn, AbilityFilesOut} }

func (p *courier) Connect(ctx context.Context, r Receiver) (Conn, error) {
	c, err := p.fake.Connect(ctx, r)
	if err != nil {
		return nil, err
	}
	return courierConn{c.(*fakeConn), p}, nil
}

type courierConn struct {
	*fakeConn
	p *courier
}

func (c courierConn) Fetch(ctx context.Context, _ string, _ int64) ([]byte, error) {
	return c.p.fetch(ctx)
}

func (c courierConn) SendFile(ctx context.Context, _ string, _ OutgoingFile) (Sent, error) {
	return c.p.send(ctx)
}

func TestCV9_AFileThatHangsDelaysNoMessageAndIsAbandonedAfterTwoMinutes(t *testing.T) {
	p := &courier{fake: &fake{name: "f"}}
	supervise(t, p, func(t *testing.T, s *Supervisor) {
		hang := make(chan struct{}) // of the bubble
		defer close(hang)
		p.fetch = func(context.Context) ([]byte, error) { <-hang; return nil, nil }
		p.send = func(context.Context) (Sent, error) { <-hang; return Sent{}, nil }
		began := time.Now()
		errs := make(chan error, 2)
		go func() { _, err := s.Fetch(t.Context(), "f", "1", 10); errs <- err }()
		go func() { _, err := s.SendFile(t.Context(), "f", "1", OutgoingFile{}); errs <- err }()
		synctest.Wait()
		if _, err := s.Send(t.Context(), "f", Outgoing{}); err != nil || time.Since(began) != 0 {
			t.Errorf("a message took %s and returned %v", time.Since(began), err)
		}
		for range 2 {
			if err := <-errs; !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 2*time.Minute {
				t.Errorf("a file that hangs returned %v after %s", err, time.Since(began))
			}
		}
	})
}

func TestCV9_AFileLargerThanAskedForIsRefused(t *testing.T) {
	p := &courier{fake: &fake{name: "f"}, fetch: func(context.Context) ([]byte, error) { return make([]byte, 11), nil }}
	supervise(t, p, func(t *testing.T, s *Supervisor) {
		for most, want := range map[int64]bool{10: false, 11: true} {
			content, err := s.Fetch(t.Context(), "f", "1", most)
			if _, refused := errors.AsType[*RefusedError](err); refused == want || want && len(content) != 11 {
				t.Errorf("a file of 11 bytes, at most %d: %d bytes, %v", most, len(content), err)
			}
		}
		if _, err := s.Fetch(t.Context(), "other", "1", 1); !errors.Is(err, ErrUnknown) {
			t.Errorf("of an unknown platform: %v", err)
		}
	})
}

func TestCV9_ARateLimitForAFileHoldsForTheAdapter(t *testing.T) {
	p := &courier{fake: &fake{name: "f"}, send: func(context.Context) (Sent, error) { return Sent{}, &RateLimitError{RetryAfter: time.Hour} }}
	supervise(t, p, func(t *testing.T, s *Supervisor) {
		for _, call := range []func() error{
			func() error { _, err := s.SendFile(t.Context(), "f", "1", OutgoingFile{}); return err },
			func() error { _, err := s.Send(t.Context(), "f", Outgoing{}); return err },
		} {
			if _, limited := errors.AsType[*RateLimitError](call()); !limited {
				t.Error("the limit does not hold")
			}
		}
	})
}
