package shutdown

import (
	"context"
	"errors"
	"slices"
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
}

func (e *exits) exit(code int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.codes = append(e.codes, code)
}

func (e *exits) all() []int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.codes)
}

// disk keeps what a stop saves and tells, as its file and its followers would.
type disk struct {
	mu     sync.Mutex
	saves  []ops.Shutdown
	events []Event
}

func (d *disk) save(s ops.Shutdown) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.saves = append(d.saves, s)
	return nil
}

func (d *disk) observe(e Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, e)
}

// saved returns every report that was written, in order.
func (d *disk) saved() []ops.Shutdown {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.saves)
}

func (d *disk) received() []Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.events)
}

// wantElapsed checks virtual time, which is exact.
func wantElapsed(t *testing.T, began time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(began); got != want {
		t.Errorf("took %s, want %s", got, want)
	}
}

// bubble runs f in virtual time.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
