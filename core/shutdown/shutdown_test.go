package shutdown

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/ops"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// items is a List of fixed items.
func items(its ...Item) func(context.Context, *Run) []Item {
	return func(context.Context, *Run) []Item { return its }
}

// cast is a set of items that behave; hung ones are let go at the end of the bubble.
type cast struct{ release chan struct{} }

func newCast(t *testing.T) *cast {
	c := &cast{make(chan struct{})}
	t.Cleanup(func() { close(c.release) })
	return c
}

// hang ignores its context.
func (c *cast) hang(kind, id string) Item {
	return Item{Kind: kind, ID: id, Run: func(context.Context) error { <-c.release; return errors.New("late") }}
}

func takes(id string, d time.Duration) Item {
	return Item{Kind: "task", ID: id, Run: func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}
}

func fails(id string) Item {
	return Item{Kind: "task", ID: id, Run: func(context.Context) error { return errors.New("broken") }}
}

func panics(id string, v any) Item {
	return Item{Kind: "task", ID: id, Run: func(context.Context) error { panic(v) }}
}

// phaseOf returns the named phase's row.
func phaseOf(t *testing.T, s ops.Shutdown, name string) ops.Phase {
	t.Helper()
	for _, p := range s.Phases {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("the report has no phase %q", name)
	return ops.Phase{}
}

func itemOf(t *testing.T, p ops.Phase, id string) ops.Item {
	t.Helper()
	for _, it := range p.Items {
		if it.ID == id {
			return it
		}
	}
	t.Fatalf("phase %s reports no item %q", p.Name, id)
	return ops.Item{}
}

// noExit is an Options.Exit for a stop that the watchdog must not end.
func noExit(t *testing.T) func(int) {
	return func(code int) { t.Errorf("the watchdog ended the process with %d", code) }
}

// exits records what the watchdog does.
type exits struct {
	mu    sync.Mutex
	codes []int
	at    []time.Time
}

func (e *exits) exit(code int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.codes = append(e.codes, code)
	e.at = append(e.at, time.Now())
}

// wantElapsed checks virtual time, which is exact.
func wantElapsed(t *testing.T, began time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(began); got != want {
		t.Errorf("took %s, want %s", got, want)
	}
}

// after runs f at d from now, in the bubble.
func after(d time.Duration, f func()) { time.AfterFunc(d, f) }

// bubble runs f in virtual time.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
