package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/background"
	"gatewaytui/core/delivery"
	"gatewaytui/core/health"
	"gatewaytui/core/limit"
	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// conversations notes what is loaded and resumed.
type conversations struct {
	mu     sync.Mutex
	loaded map[string]store.Session
}

func (c *conversations) Add(s store.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded[s.Key] = s
}

func (c *conversations) Known(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.loaded[key]
	return known
}

func (c *conversations) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.loaded)
}

func (c *conversations) IsWork(string) bool { return false }

func (c *conversations) Restore(context.Context, store.Inbox) {}

// host knows nothing of its machine.
type host struct{}

func (host) ClockConfirmed(time.Time) bool           { return false }
func (host) Booted() (ago time.Duration, known bool) { return 0, false }

// made is the recovery of a life that has not begun.
func made(t *testing.T) (*Recovery, *conversations) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	tasks := background.New(log)
	c := &conversations{loaded: map[string]store.Session{}}
	h := health.New(health.Options{Log: log, Host: host{}, Life: "this", Limits: &limit.Set{}, Background: tasks})
	return New(Options{
		Identity: Identity{Life: "this"}, Log: log, Database: filepath.Join(t.TempDir(), "gateway.db"), Health: h, Background: tasks, Gateway: c,
	}), c
}

// D22: what a start costs does not grow with the sessions of the store. Only the first of them are read before it goes on.
func TestAStartDoesNotWaitForTheSessionsAfterTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := made(t)
		goOn := make(chan struct{})
		read := func(_ context.Context, each func(store.Session) error) (int, error) {
			for i := range 2 * loadFirst {
				if i == loadFirst {
					<-goOn // the disk hangs
				}
				if err := each(store.Session{Key: fmt.Sprintf("chat:dm:%d", i), ID: fmt.Sprint(i), State: ops.SessionIdle}); err != nil {
					return 0, err
				}
			}
			return 0, nil
		}
		started := make(chan error, 1)
		go func() { started <- r.loadFrom(t.Context(), read) }()
		synctest.Wait()
		select {
		case err := <-started:
			if err != nil {
				t.Fatal(err)
			}
		default:
			close(goOn)
			t.Fatal("the start waits for all sessions")
		}
		if n := c.count(); n != loadFirst {
			t.Errorf("%d sessions are there when the start goes on, want %d", n, loadFirst)
		}
		close(goOn)
		<-r.loaded
		if n := c.count(); n != 2*loadFirst {
			t.Errorf("%d sessions are there in the end, want %d", n, 2*loadFirst)
		}
		synctest.Wait() // for the task to leave the group
	})
}

// A session that is asked for before the load came to it is read from the store; one that is loaded is not read again.
func TestASessionThatIsNotLoadedYetIsReadFromTheStore(t *testing.T) {
	r, c := made(t)
	st, err := r.OpenStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	now := time.Now()
	turn := store.Turn{ID: "t", SessionID: "s", Life: "this", StartedAt: now, State: store.TurnRunning}
	if err := st.BeginTurn(t.Context(), store.Session{Key: "chat:dm:1", ID: "s", CreatedAt: now}, turn, store.Message{Role: "user", At: now}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"chat:dm:1", "chat:dm:none"} {
		if err := r.EnsureLoaded(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if c.loaded["chat:dm:1"].ID != "s" || c.count() != 1 {
		t.Fatalf("loaded are %+v", c.loaded)
	}
	c.loaded["chat:dm:1"] = store.Session{ID: "newer"}
	if err := r.EnsureLoaded(t.Context(), "chat:dm:1"); err != nil || c.loaded["chat:dm:1"].ID != "newer" {
		t.Fatalf("it was loaded again: %+v, %v", c.loaded, err)
	}
	delete(c.loaded, "chat:dm:1")
	close(r.loaded) // all are loaded: what is not there has ended
	if err := r.EnsureLoaded(t.Context(), "chat:dm:1"); err != nil || c.count() != 0 {
		t.Fatalf("after the load it was read again: %+v, %v", c.loaded, err)
	}
}

// CV11, D19: a turn that worked on several messages of a chat is reported once.
func TestCV11_AChatHearsOnceOfATurnThatWorkedOnSeveralMessages(t *testing.T) {
	r, _ := made(t)
	log := slog.New(slog.DiscardHandler)
	r.o.Outbox = delivery.NewOutbox(delivery.OutboxOptions{Log: log})
	st, err := r.OpenStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for id, state := range map[string]store.InboxState{"a1": store.InboxRunning, "a2": store.InboxRunning, "b1": store.InboxRunning, "b2": store.InboxWaiting} {
		in := store.Inbox{ID: id, Session: "chat:dm:" + id[:1], Adapter: "chat", Target: id[:1], Text: id, At: time.Now(), State: state}
		if _, _, err := st.PutInbox(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	r.resumes = true
	if err := r.readUnfinished(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	rows, err := st.OpenOutbox(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		told[row.Target]++
	}
	if told["a"] != 1 || told["b"] != 1 || len(rows) != 2 {
		t.Errorf("told are %v", told)
	}
	if open, err := st.OpenInbox(t.Context()); err != nil || len(open) != 1 || open[0].ID != "b2" || len(r.backlog) != 1 {
		t.Errorf("open are %+v (%v)", open, err)
	}
}
