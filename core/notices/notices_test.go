package notices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
	"gatewaytui/core/process"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is everything around Notices: it writes down each notice, and remembers it for the next life.
type world struct {
	tasks sync.WaitGroup

	mu    sync.Mutex
	said  []string
	rows  []store.Outbox // without refused ones
	lives []time.Time
	known map[string]session.Session
	ended map[string][]store.Session
	// refuse is the platform's answer to an announcement.
	refuse error
}

func (w *world) Post(key, target, text string) { w.PostAs("x", key, target, text) }

func (w *world) PostAs(id, key, target, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, target+": "+text)
	w.rows = append(w.rows, store.Outbox{ID: id, Session: key, Target: target, Text: text, At: time.Now()})
}

func (w *world) Announce(_ context.Context, id, key, target, text string) error {
	if w.refuse == nil {
		w.PostAs(id, key, target, text)
	}
	return w.refuse
}

func (w *world) LastOutbox(_ context.Context, prefix string) (last store.Outbox, found bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.rows {
		if strings.HasPrefix(r.ID, prefix) && r.ID > last.ID {
			last, found = r, true
		}
	}
	return last, found, nil
}

func (w *world) LivesSince(_ context.Context, at time.Time) (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, began := range w.lives {
		if began.After(at) {
			n++
		}
	}
	return n, nil
}

func (w *world) EndedSessions(_ context.Context, key string, _ int) ([]store.Session, error) {
	return w.ended[key], nil
}

func (w *world) Get(key string) (session.Session, bool) {
	s, ok := w.known[key]
	return s, ok
}

func (w *world) Start(ctx context.Context, _, _ string, run func(context.Context)) bool {
	w.tasks.Go(func() { run(context.WithoutCancel(ctx)) })
	return true
}

func (w *world) take() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	w.said = nil
	return said
}

// life begins a life of the world. Its stop is what it tells as it stops.
func (w *world) life(t *testing.T, homes map[string]config.Home) (n *Notices, stop func(turns ...session.TurnView)) {
	w.mu.Lock()
	w.lives = append(w.lives, time.Now())
	id := fmt.Sprintf("life-%03d", len(w.lives))
	w.mu.Unlock()
	stopping := make(chan struct{})
	n = New(Options{
		Homes: homes, Outbox: w, Sessions: w, Tasks: w, Log: slog.New(slog.DiscardHandler), Life: id, Stopping: stopping,
		Process: func(int) (*process.Process, bool) { return nil, false },
	})
	n.Open(w)
	return n, func(turns ...session.TurnView) {
		for _, item := range n.StopItems(turns, true, func(_ context.Context, key, target, text string) error {
			w.PostAs("turn", key, target, text)
			return nil
		}) {
			if err := item.Run(t.Context()); err != nil && !errors.Is(err, w.refuse) {
				t.Errorf("%s: %v", item.ID, err)
			}
		}
		close(stopping)
	}
}

var atHome = map[string]config.Home{"telegram": {Session: "telegram:dm:7", Target: "7"}}

func cleanEnd(ago time.Duration) *ops.LastEnd {
	return &ops.LastEnd{Outcome: ops.OutcomeClean, At: ops.At(time.Now().Add(-ago))}
}

func TestCV14_AHomeChatHearsOfARestartOnceAndOfALoopOnceInTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		defer w.tasks.Wait()
		want := func(what string, begins ...string) {
			t.Helper()
			said := w.take()
			if !slices.EqualFunc(said, begins, strings.HasPrefix) {
				t.Fatalf("%s: the home chat heard %q, want %q", what, said, begins)
			}
		}
		n, stop := w.life(t, atHome)
		n.Back(nil, 0, time.Now())
		want("the first life of a home")
		time.Sleep(time.Hour)
		stop()
		want("a stop after an hour", "7: The gateway is restarting.")
		time.Sleep(5 * time.Second)
		n, stop = w.life(t, atHome)
		n.Back(cleanEnd(5*time.Second), 0, time.Now())
		want("the next life", "7: The gateway is back. It was down for 5.0s.")
		for range 3 {
			time.Sleep(time.Minute)
			stop()
			n, stop = w.life(t, atHome)
			n.Back(cleanEnd(0), 0, time.Now())
			want("a restart within ten minutes of a notice")
		}
		n.Tick(time.Now())
		want("a look before the ten minutes are over")
		time.Sleep(8 * time.Minute)
		n.Tick(time.Now())
		want("the restarts of the last ten minutes in one", "7: The gateway is back. It started 3 times since the last notice.")
		n.Tick(time.Now().Add(time.Hour))
		want("a later look")
		stop()
		want("a stop soon after that")
	})
}

func TestCV14_TheNoticeAfterACrashSaysSoAndCountsTheTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for turns, says := range map[int]string{0: "No turn was running.", 1: "1 running turn was interrupted", 3: "3 running turns were interrupted"} {
			w := &world{}
			n, _ := w.life(t, atHome)
			n.Back(&ops.LastEnd{Outcome: ops.OutcomeCrashed, At: ops.At(time.Now())}, turns, time.Now())
			said := strings.Join(w.take(), "\n")
			if !strings.Contains(said, "killed") || !strings.Contains(said, says) {
				t.Errorf("after a crash with %d turns the home chat heard %q, want that the life was killed and %q", turns, said, says)
			}
			w.tasks.Wait()
		}
	})
}

func TestCV14_AStopThatNoOneHeardOfDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{refuse: errors.New("not connected")}
		_, stop := w.life(t, atHome)
		stop()
		w.refuse = nil
		n, _ := w.life(t, atHome)
		n.Back(cleanEnd(0), 0, time.Now())
		if said := w.take(); len(said) != 1 || said[0] != "7: The gateway is back." {
			t.Errorf("the home chat heard %q, want that the gateway is back", said)
		}
		w.tasks.Wait()
	})
}

func TestCV14_AHomeChatWithARunningTurnHearsOfAStopOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		_, stop := w.life(t, atHome)
		stop(session.TurnView{Turn: &session.Turn{Session: session.Session{Key: "telegram:dm:7"}, Message: session.Message{Target: "7"}}})
		if said := w.take(); len(said) != 1 || !strings.Contains(said[0], "Your running turn may still finish") {
			t.Errorf("the chat heard %q, want one notice about its turn", said)
		}
	})
}

func TestCV14_AHomeThatIsASessionHasTheAddressOfThatSession(t *testing.T) {
	home := map[string]config.Home{"discord": {Session: "discord:dm:5"}}
	for name, w := range map[string]*world{
		"it goes on":   {known: map[string]session.Session{"discord:dm:5": {Target: "900"}}},
		"it has ended": {ended: map[string][]store.Session{"discord:dm:5": {{Target: "900"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			n, _ := w.life(t, home)
			if h := n.home(t.Context(), "discord"); h.Target != "900" {
				t.Errorf("the home chat is %+v, want the address 900", h)
			}
		})
	}
	n, _ := (&world{}).life(t, home)
	if h := n.home(t.Context(), "discord"); h.Target != "" {
		t.Errorf("the home chat of a person who never wrote is %+v", h)
	}
}

func TestCV14_APlatformThatIsDownIsReportedThroughAnother(t *testing.T) {
	both := map[string]config.Home{"telegram": {Session: "telegram:dm:7", Target: "7"}, "discord": {Session: "discord:channel:9", Target: "9"}}
	state := func(name string, s ops.AdapterState) func(*Notices) {
		return func(n *Notices) { n.AdapterChanged(ops.Adapter{Name: name, State: s, LastError: "connection refused"}) }
	}
	pass := func(d time.Duration) func(*Notices) {
		return func(n *Notices) {
			for range int(d / time.Second) {
				time.Sleep(time.Second)
				n.Tick(time.Now())
			}
		}
	}
	up := []func(*Notices){state("telegram", ops.AdapterConnected), state("discord", ops.AdapterConnected)}
	for name, c := range map[string]struct {
		homes map[string]config.Home
		steps []func(*Notices)
		want  []string
	}{
		"a flap is not": {both, []func(*Notices){state("telegram", ops.AdapterRetrying), pass(time.Minute), state("telegram", ops.AdapterConnected), pass(5 * time.Minute)}, nil},
		"a long one is, once, and its end": {
			both,
			[]func(*Notices){state("telegram", ops.AdapterRetrying), pass(4 * time.Minute), state("telegram", ops.AdapterRetrying), pass(time.Minute), state("telegram", ops.AdapterConnected), pass(time.Minute)},
			[]string{"9: telegram has not been connected for 2m00s. The reason: connection refused", "9: telegram is connected again. It was down for 5m00s."},
		},
		"one without a home chat is":                 {both, []func(*Notices){state("api", ops.AdapterRetrying), pass(3 * time.Minute)}, []string{"9: api has not been"}},
		"one that a person paused is not":            {both, []func(*Notices){state("telegram", ops.AdapterPaused), pass(5 * time.Minute)}, nil},
		"it is not where no other home is connected": {atHome, []func(*Notices){state("telegram", ops.AdapterRetrying), pass(5 * time.Minute)}, nil},
		"the second time within ten minutes is not, then": {both, []func(*Notices){
			state("telegram", ops.AdapterRetrying), pass(3 * time.Minute), state("telegram", ops.AdapterConnected), state("telegram", ops.AdapterRetrying), pass(4 * time.Minute), state("telegram", ops.AdapterConnected),
		}, []string{"9: telegram has not", "9: telegram is connected again"}},
		"it waits for a home that is connected": {
			both,
			[]func(*Notices){state("discord", ops.AdapterRetrying), state("telegram", ops.AdapterRetrying), pass(3 * time.Minute), state("discord", ops.AdapterConnected), pass(time.Minute)},
			[]string{"9: telegram has not been connected for 3m0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{}
				n, _ := w.life(t, c.homes)
				for _, step := range append(slices.Clone(up), c.steps...) {
					step(n)
					synctest.Wait()
				}
				if said := w.take(); !slices.EqualFunc(said, c.want, strings.HasPrefix) {
					t.Errorf("the home chats heard %q, want %q", said, c.want)
				}
				w.tasks.Wait()
			})
		})
	}
}
