package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
)

// hold is how long a client library was seen to hold a call whose context had ended.
const hold = 44500 * time.Millisecond

// library is a platform on a client library whose login takes no context. It holds the lock of the library, which its end waits for.
type library struct {
	fake
	lock chan struct{} // of one
	// slow is whether the n-th login, counted from 1, takes hold.
	slow func(n int) bool

	counts  sync.Mutex
	n, busy int // logins, and those under way
	most    int // at once
}

func newLibrary(slow func(n int) bool) *library { return &library{fake: fake{name: "lib"}, slow: slow} }

func (l *library) Connect(ctx context.Context, r Receiver) (Conn, error) {
	l.counts.Lock()
	l.n++
	n := l.n
	l.busy++
	l.most = max(l.most, l.busy)
	l.counts.Unlock()
	defer func() {
		l.counts.Lock()
		l.busy--
		l.counts.Unlock()
	}()
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	if l.slow(n) {
		time.Sleep(hold) // virtual, and deaf to ctx
	}
	c, err := l.fake.Connect(context.WithoutCancel(ctx), r)
	if err != nil {
		return nil, err
	}
	return libraryConn{c.(*fakeConn), l}, nil
}

// libraryConn is a connection whose end waits for a login under way.
type libraryConn struct {
	*fakeConn
	l *library
}

func (c libraryConn) Disconnect(ctx context.Context) error {
	c.l.lock <- struct{}{}
	defer func() { <-c.l.lock }()
	return c.fakeConn.Disconnect(ctx)
}

// settled checks that every connection that the library made was ended once, and that none is heard or used.
func (l *library) settled(t *testing.T, w *world) {
	t.Helper()
	conns, _ := l.made()
	for i, c := range conns {
		if n := c.disconnected.Load(); n != 1 || c.sent.Load() != 0 {
			t.Errorf("connection %d of %d was ended %d times, and sent %d messages", i+1, len(conns), n, c.sent.Load())
		}
	}
	w.unheard(&l.fake)
}

// unheard checks that nothing comes through to the gateway from any login of f.
func (w *world) unheard(f *fake) {
	w.t.Helper()
	f.mu.Lock()
	all := slices.Clone(f.receivers)
	f.mu.Unlock()
	before := w.in.n.Load()
	for i, r := range all {
		_, err := r.Receive(w.t.Context(), Inbound{})
		_, forward := r.(Forwarder).Forward(w.t.Context(), "telegram:dm:7", Outgoing{})
		r.Withdraw("f:dm:7", "id")
		var unsent *UnsentError
		if err == nil || !errors.As(forward, &unsent) || r.Greets(User{ID: "666"}) {
			w.t.Errorf("login %d of %d is heard: a message gets %v, one for another platform %v", i+1, len(all), err, forward)
		}
	}
	if n := w.in.n.Load() - before; n != 0 || w.in.forwarded.Load() != 0 || w.in.withdrawn.Load() != 0 {
		w.t.Errorf("the gateway took %d messages, forwarded %d and withdrew %d", n, w.in.forwarded.Load(), w.in.withdrawn.Load())
	}
}

// A library that logs in again after its end (seen in discordgo 0.29 and disgo 0.19) speaks through what it was given for the first login.
func TestS4_ALibraryThatLogsInAgainAfterItsEndIsNotHeard(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    *fake
		end  func(t *testing.T, w *world, f *fake)
	}{
		{"a stop", &fake{}, func(t *testing.T, w *world, _ *fake) { _ = w.Stop(t.Context(), "f") }},
		{"a stop during a login", &fake{hangConnect: true}, func(t *testing.T, w *world, _ *fake) { _ = w.Stop(t.Context(), "f") }},
		{"a pause", &fake{}, func(t *testing.T, w *world, _ *fake) { _ = w.Pause(t.Context(), "f") }},
		{"the end of Run", &fake{}, nil},
		{"a login that failed", &fake{connectErr: func(int) error { return errOutage }}, func(_ *testing.T, w *world, _ *fake) { w.after(0) }},
		{"a login that was given up", &fake{hangConnect: true}, func(_ *testing.T, w *world, _ *fake) { w.after(DefaultConnectTimeout) }},
		{"a connection that was lost", &fake{}, func(t *testing.T, w *world, f *fake) { f.last(t).fail(errOutage); w.after(0) }},
		{"a connection that was stale", &fake{deaf: true, stale: 90 * time.Second}, func(_ *testing.T, w *world, _ *fake) { w.after(90 * time.Second) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := tc.f
			f.name = "f"
			if tc.end != nil {
				simulate(t, Options{CallTimeout: time.Second}, []*fake{f}, func(t *testing.T, w *world) {
					tc.end(t, w, f)
					w.unheard(f)
				})
				return
			}
			var ended *world
			simulate(t, Options{CallTimeout: time.Second}, []*fake{f}, func(_ *testing.T, w *world) { ended = w })
			ended.t = t
			ended.unheard(f)
		})
	}
	t.Run("a reconnect, of which the new login is heard", func(t *testing.T) {
		f := &fake{name: "f"}
		simulate(t, Options{CallTimeout: time.Second}, []*fake{f}, func(t *testing.T, w *world) {
			old := f.last(t)
			if err := w.Reconnect("f"); err != nil {
				t.Fatal(err)
			}
			w.after(time.Second)
			if _, err := f.last(t).in.Receive(t.Context(), Inbound{}); err != nil || f.last(t) == old {
				t.Fatalf("a message of the new login got %v", err)
			}
			if _, err := old.in.Receive(t.Context(), Inbound{}); err == nil {
				t.Error("a message of the old login was taken")
			}
		})
	})
}

// simulateLibrary is simulate with a library.
func simulateLibrary(t *testing.T, o Options, l *library, f func(t *testing.T, w *world)) {
	t.Helper()
	simulate(t, o, nil, func(t *testing.T, w *world) {
		l.lock, l.hang = make(chan struct{}, 1), w.hang // of this bubble
		if err := w.Replace(t.Context(), "lib", l, nil); err != nil {
			t.Fatal(err)
		}
		w.after(0)
		f(t, w)
	})
}

func TestS5_AStopDuringALoginWithoutAContextIsBoundedAndItsConnectionIsTakenDown(t *testing.T) {
	l := newLibrary(func(int) bool { return true })
	simulateLibrary(t, Options{CallTimeout: time.Second}, l, func(t *testing.T, w *world) {
		began := time.Now()
		if err := w.Stop(t.Context(), "lib"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("the stop returned %v after %v, want its timeout after 1s", err, time.Since(began))
		}
		w.after(time.Hour)
		if conns, _ := l.made(); len(conns) != 1 {
			t.Errorf("%d logins, want the one that came too late", len(conns))
		}
		l.settled(t, w)
		w.wantState("lib", ops.AdapterStopped)
	})
}

func TestE4_ALoginWithoutAContextDoesNotKeepANewOneOut(t *testing.T) {
	l := newLibrary(func(n int) bool { return n == 1 })
	simulateLibrary(t, Options{CallTimeout: time.Second}, l, func(t *testing.T, w *world) {
		if err := w.Pause(t.Context(), "lib"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the pause returned %v", err)
		}
		if err := w.Resume("lib"); err != nil {
			t.Fatal(err)
		}
		w.after(hold + time.Minute)
		w.wantState("lib", ops.AdapterConnected)
		conns, _ := l.made()
		late, last := conns[:len(conns)-1], conns[len(conns)-1]
		if len(late) == 0 || last.disconnected.Load() != 0 {
			t.Fatalf("of %d connections the last one is not in use", len(conns))
		}
		for _, c := range late {
			if _, err := c.in.Receive(t.Context(), Inbound{}); err == nil || c.disconnected.Load() != 1 {
				t.Errorf("a late connection is heard, or was ended %d times", c.disconnected.Load())
			}
		}
		if err := w.Send(t.Context(), "lib", Outgoing{}); err != nil || last.sent.Load() != 1 {
			t.Errorf("a message got %v, and went out %d times through the connection in use", err, last.sent.Load())
		}
	})
}

func TestS5_AnEndThatWaitsForALoginOfTheSameLibraryIsBounded(t *testing.T) {
	l := newLibrary(func(n int) bool { return n > 1 })
	l.hangCancel = true // so that the end of the first connection begins after the second login
	simulateLibrary(t, Options{CallTimeout: 4 * time.Second}, l, func(t *testing.T, w *world) {
		if err := w.Reconnect("lib"); err != nil {
			t.Fatal(err)
		}
		w.after(2 * time.Second)
		began := time.Now()
		if err := w.Stop(t.Context(), "lib"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 4*time.Second {
			t.Errorf("the stop returned %v after %v, want its timeout within 4s", err, time.Since(began))
		}
		w.after(time.Hour)
		l.settled(t, w)
	})
}

func TestE2_LoginsThatHoldForLongerThanTheirLimitDoNotPileUp(t *testing.T) {
	l := newLibrary(func(int) bool { return true })
	simulateLibrary(t, Options{CallTimeout: time.Second}, l, func(t *testing.T, w *world) {
		w.after(time.Hour)
		if err := w.Stop(t.Context(), "lib"); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		w.after(time.Hour)
		l.settled(t, w)
		l.counts.Lock()
		defer l.counts.Unlock()
		if l.n < 30 || l.most > 3 || l.busy != 0 {
			t.Errorf("%d logins in an hour, up to %d at once, of which %d never ended", l.n, l.most, l.busy)
		}
	})
}

// Each way to misbehave at once: a flood of messages, hangs in every call, panics, and an end that never comes.
func TestE7_APlatformThatMisbehavesInEveryWayDelaysNoOther(t *testing.T) {
	const flood = 10_000
	bad := []*fake{
		{name: "flood"},
		{name: "hung", hangSend: true, hangCancel: true, hangDisconnect: true},
		{name: "never", hangConnect: true},
		{name: "leak", hangDisconnect: true},
	}
	for _, where := range []string{"connect", "liveness", "send", "describe", "disconnect"} {
		bad = append(bad, &fake{name: "panic in " + where, panics: where, stale: time.Minute})
	}
	good := &fake{name: "good"}
	simulate(t, Options{CallTimeout: time.Second}, append(bad, good), func(t *testing.T, w *world) {
		w.wantState("good", ops.AdapterConnected)
		var taken atomic.Int32
		from := bad[0].last(t).in
		for range flood {
			go func() {
				if _, err := from.Receive(context.Background(), Inbound{}); err == nil {
					taken.Add(1)
				}
			}()
		}
		ended := make(chan error, len(bad)*20)
		for _, f := range bad {
			for range 20 {
				go func() { ended <- w.Send(t.Context(), f.name, Outgoing{}) }()
			}
		}
		for range 100 {
			began := time.Now()
			_, received := good.last(t).in.Receive(t.Context(), Inbound{})
			if err := errors.Join(received, w.Send(t.Context(), "good", Outgoing{})); err != nil || time.Since(began) != 0 || len(w.Rows()) != len(bad)+1 {
				t.Fatalf("a message of the good platform and its answer took %v: %v", time.Since(began), err)
			}
		}
		synctest.Wait()
		if n := taken.Load(); n != flood {
			t.Errorf("%d of %d messages were taken", n, flood)
		}
		took, errs := stopAll(t, w)
		if took != time.Second {
			t.Errorf("the stop of all took %v, want the bound of one, 1s", took)
		}
		for name, hangs := range map[string]bool{"good": false, "flood": false, "panic in send": false, "hung": true, "never": true, "leak": true} {
			if got := errs[name]; errors.Is(got, context.DeadlineExceeded) != hangs || !hangs && got != nil {
				t.Errorf("the stop of %s returned %v", name, got)
			}
		}
		for range cap(ended) {
			<-ended // each ends, whether it arrived or not
		}
		for _, f := range append(bad, good) {
			w.wantState(f.name, ops.AdapterStopped)
			w.unheard(f)
		}
		if got := fmt.Sprint(good.last(t).sent.Load()); got != "100" {
			t.Errorf("the good platform sent %s messages, want 100", got)
		}
	})
}
