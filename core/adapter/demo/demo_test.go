package demo

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

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"gatewaytui/core/adapter"
	"gatewaytui/core/ops"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gateway takes what people say.
type gateway struct {
	adapter.Receiver
	mu      sync.Mutex
	heard   []adapter.Inbound
	refuses bool
}

func (g *gateway) Receive(_ context.Context, m adapter.Inbound) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuses {
		return "", &ops.Error{Code: ops.CodeDraining, Message: "the gateway drains"}
	}
	g.heard = append(g.heard, m)
	return fmt.Sprint(len(g.heard)), nil
}

func (g *gateway) messages() []adapter.Inbound {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]adapter.Inbound(nil), g.heard...)
}

// scene is one platform under a Supervisor, in virtual time.
type scene struct {
	*adapter.Supervisor
	t  *testing.T
	p  *Platform
	in *gateway
}

const (
	callTimeout = 5 * time.Second
	sendTimeout = 3 * time.Second
)

// play runs f next to a Supervisor of the one platform that spec describes, ends it, and releases the calls that hang.
func play(t *testing.T, spec string, o Options, f func(s *scene)) {
	t.Helper()
	specs, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, p: New(specs[0], o), in: &gateway{}}
		s.Supervisor = adapter.NewSupervisor(adapter.Options{
			ConnectTimeout: 10 * time.Second, CallTimeout: callTimeout, SendTimeout: sendTimeout, Receiver: s.in,
		})
		s.Add(s.p)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		synctest.Wait()
		f(s)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
		close(s.p.released)
	})
}

func (s *scene) want(state ops.AdapterState) ops.Adapter {
	s.t.Helper()
	row := s.Rows()[0]
	if row.State != state {
		s.t.Fatalf("the platform is %s, want %s: %+v", row.State, state, row)
	}
	return row
}

func (s *scene) send() error {
	_, err := s.Send(s.t.Context(), s.p.Name(), adapter.Outgoing{Target: "alice", Text: "hi"})
	return err
}

// stop takes the platform down and returns how long that took.
func (s *scene) stop() (time.Duration, error) {
	began := time.Now()
	err := s.Stop(s.t.Context(), s.p.Name())
	return time.Since(began), err
}

// within is how long f took and what it returned.
func within(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

func TestEachBehaviourDoesWhatItsNameSays(t *testing.T) {
	tested := map[string]bool{}
	of := func(behaviour string, o Options, f func(s *scene)) {
		tested[behaviour] = true
		t.Run(behaviour, func(t *testing.T) { play(t, "p="+behaviour, o, f) })
	}
	// delivers is what each platform that connects shows unless its name says otherwise.
	delivers := func(s *scene) {
		s.t.Helper()
		if err := s.send(); err != nil {
			s.t.Errorf("a message was not delivered: %v", err)
		}
	}
	talks := func(s *scene) {
		s.t.Helper()
		time.Sleep(interval + time.Second)
		synctest.Wait()
		if n := len(s.in.messages()); n != 2 {
			s.t.Errorf("%d messages came within one interval, want the first and the second", n)
		}
	}
	stops := func(s *scene, want time.Duration, timeout bool) {
		s.t.Helper()
		took, err := s.stop()
		if took != want || errors.Is(err, context.DeadlineExceeded) != timeout {
			s.t.Errorf("the stop took %s with %v, want %s, timed out: %v", took, err, want, timeout)
		}
		s.want(ops.AdapterStopped)
	}

	of("good", Options{}, func(s *scene) {
		s.want(ops.AdapterConnected)
		talks(s)
		delivers(s)
		time.Sleep(time.Hour)
		s.want(ops.AdapterConnected)
		stops(s, 0, false)
		n := len(s.in.messages())
		time.Sleep(time.Hour)
		if late := len(s.in.messages()) - n; late != 0 {
			s.t.Errorf("%d messages came after the stop (S4)", late)
		}
	})
	of("hang-connect", Options{}, func(s *scene) {
		s.want(ops.AdapterConnecting)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if row := s.want(ops.AdapterRetrying); !strings.Contains(row.LastError, "no answer within 10s") {
			s.t.Errorf("the last error is %q", row.LastError)
		}
		time.Sleep(5 * time.Second) // in the next attempt
		s.want(ops.AdapterConnecting)
		stops(s, callTimeout, true)
	})
	of("hang-send", Options{}, func(s *scene) {
		s.want(ops.AdapterConnected)
		talks(s)
		if took, err := within(s.send); took != sendTimeout || !errors.Is(err, context.DeadlineExceeded) {
			s.t.Errorf("a send took %s and returned %v", took, err)
		}
		stops(s, time.Second, false) // the grace for sends under way
	})
	of("hang-disconnect", Options{}, func(s *scene) {
		talks(s)
		delivers(s)
		stops(s, callTimeout, true)
	})
	of("fail-send", Options{}, func(s *scene) {
		talks(s)
		if took, err := within(s.send); took != 0 || err == nil {
			s.t.Errorf("a send took %s and returned %v", took, err)
		}
		stops(s, 0, false)
	})
	of("deaf", Options{}, func(s *scene) {
		s.want(ops.AdapterConnected)
		delivers(s)
		time.Sleep(staleAfter)
		synctest.Wait()
		s.want(ops.AdapterStale)
		if n := len(s.in.messages()); n != 0 {
			s.t.Errorf("%d messages were heard", n)
		}
		time.Sleep(5 * time.Second) // it is connected again, and as deaf as before
		s.want(ops.AdapterConnected)
		stops(s, 0, false)
	})
	of("flaky", Options{}, func(s *scene) {
		if row := s.want(ops.AdapterRetrying); !strings.Contains(row.LastError, "attempt 1 of 3 that fail") {
			s.t.Errorf("the last error is %q", row.LastError)
		}
		time.Sleep(10 * time.Second)
		s.want(ops.AdapterConnected)
		if n := s.p.attempts.Load(); n != 4 {
			s.t.Errorf("it took %d attempts, want 4", n)
		}
		talks(s)
		delivers(s)
		stops(s, 0, false)
	})
	of("fatal", Options{}, func(s *scene) {
		row := s.want(ops.AdapterNeedsCredentials)
		if !strings.Contains(row.LastError, "DEMO_TOKEN") {
			s.t.Errorf("the last error is %q", row.LastError)
		}
		stops(s, 0, false)
	})
	of("slow-disconnect", Options{}, func(s *scene) {
		talks(s)
		delivers(s)
		stops(s, slowness, false)
	})
	of("black-hole", Options{}, func(s *scene) {
		s.want(ops.AdapterConnected)
		time.Sleep(5 * time.Second)
		if n := len(s.in.messages()); n != 0 {
			s.t.Errorf("%d messages were heard", n)
		}
		if took, err := within(s.send); took != sendTimeout || !errors.Is(err, context.DeadlineExceeded) {
			s.t.Errorf("a send took %s and returned %v", took, err)
		}
		stops(s, callTimeout, true)
	})
	for _, b := range Behaviours() {
		if !tested[b] {
			t.Errorf("nothing tests %s", b)
		}
	}
	if len(tested) != len(Behaviours()) {
		t.Errorf("%d behaviours are tested, %d are listed", len(tested), len(Behaviours()))
	}
}

func TestASlowDisconnectObeysItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Spec{Name: "p", Behaviour: "slow-disconnect"}, Options{}).Connect(t.Context(), &gateway{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if took, err := within(func() error { return c.Disconnect(ctx) }); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("took %s and returned %v", took, err)
		}
	})
}

func TestWhatHangsIgnoresItsContextUntilTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Spec{Name: "p", Behaviour: "hang-connect"}, Options{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		returned := make(chan error, 1)
		go func() {
			_, err := p.Connect(ctx, &gateway{})
			returned <- err
		}()
		time.Sleep(24 * time.Hour)
		select {
		case err := <-returned:
			t.Errorf("it returned %v without a release", err)
		default:
		}
		close(p.released)
		if err := <-returned; err == nil {
			t.Error("a released attempt made a connection")
		}
	})
}

func TestPeopleTalk(t *testing.T) {
	t.Run("in sessions of their own, one line at each interval, over and over", func(t *testing.T) {
		play(t, "harbour=good", Options{}, func(s *scene) {
			time.Sleep(interval*time.Duration(2*len(lines)) - time.Second)
			synctest.Wait()
			got := s.in.messages()
			if len(got) != 2*len(lines) {
				t.Fatalf("%d messages came, want %d", len(got), 2*len(lines))
			}
			for i, m := range got {
				l := lines[i%len(lines)]
				want := adapter.Inbound{Adapter: "harbour", Session: "harbour:dm:" + l.User, User: l.User, Target: l.User, Text: l.Text, Chat: adapter.ChatDM}
				if d := cmp.Diff(want, m); d != "" {
					t.Errorf("message %d: want - got +\n%s", i, d)
				}
			}
		})
	})
	t.Run("as their specification says", func(t *testing.T) {
		play(t, "west=hang-send:slow 60", Options{}, func(s *scene) {
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			users := map[string]bool{}
			for _, m := range s.in.messages() {
				users[m.User] = true
				if m.Text != "slow 60" {
					t.Errorf("%s said %q", m.User, m.Text)
				}
			}
			if len(users) < 3 {
				t.Errorf("only %d people talk", len(users))
			}
		})
	})
	t.Run("on when they are refused", func(t *testing.T) {
		play(t, "p=good", Options{}, func(s *scene) {
			s.in.mu.Lock()
			s.in.refuses = true
			s.in.mu.Unlock()
			time.Sleep(time.Minute)
			s.in.mu.Lock()
			s.in.refuses = false
			s.in.mu.Unlock()
			time.Sleep(time.Minute)
			if len(s.in.messages()) == 0 {
				t.Error("no user said anything any more")
			}
			s.want(ops.AdapterConnected)
		})
	})
	t.Run("and what they receive goes to the log without its text", func(t *testing.T) {
		var b strings.Builder
		log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
		play(t, "p=good", Options{Log: log}, func(s *scene) {
			if _, err := s.Send(s.t.Context(), "p", adapter.Outgoing{Target: "alice", Text: "a private matter"}); err != nil {
				t.Error(err)
			}
		})
		if got := b.String(); !strings.Contains(got, "msg=demo.sent adapter=p target=alice bytes=16") || strings.Contains(got, "private") {
			t.Errorf("the log says %s", got)
		}
	})
}
