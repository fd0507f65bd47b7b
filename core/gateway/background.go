package gateway

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// group is the tracked set of background work (S3, K5): every task has a name, an owner and an age that the console
// shows, leaves the set when it ends, and is cancelled and awaited on stop. A task that panics is that task's failure.
type group struct {
	log    *slog.Logger
	events *hub

	mu     sync.Mutex
	closed bool
	last   int
	tasks  map[string]*task
	counts map[taskOf]int
}

// taskOf is what tasks are counted by.
type taskOf struct{ name, session string }

type task struct {
	id, name, session string
	progress          string // how far it is, for people; group.mu guards it
	started           time.Time
	cancel            context.CancelFunc
	done              chan struct{}
}

func newGroup(log *slog.Logger, events *hub) *group {
	return &group{log: log, events: events, tasks: map[string]*task{}, counts: map[taskOf]int{}}
}

// start runs fn as a tracked task whose context hangs on ctx's values but not on its end: a task ends with its own work
// or with the stop, not with the request that caused it. It reports false, and runs nothing, once the group is closed.
func (g *group) start(ctx context.Context, name, session string, fn func(context.Context)) bool {
	started, _ := g.startUpTo(ctx, math.MaxInt, name, session, fn)
	return started
}

// startUpTo is start, unless most tasks with this name run in the session already; running is how many.
func (g *group) startUpTo(ctx context.Context, most int, name, session string, fn func(context.Context)) (started bool, running int) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &task{name: name, session: session, started: time.Now(), cancel: cancel, done: make(chan struct{})}
	ctx = context.WithValue(ctx, taskKey{}, t)
	g.mu.Lock()
	of := taskOf{name, session}
	if running = g.counts[of]; g.closed || running >= most {
		g.mu.Unlock()
		cancel()
		return false, running
	}
	g.counts[of]++
	g.last++
	t.id = "bg-" + strconv.Itoa(g.last)
	g.tasks[t.id] = t
	g.mu.Unlock()
	go g.run(ctx, t, fn)
	return true, running + 1
}

func (g *group) run(ctx context.Context, t *task, fn func(context.Context)) {
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("background task panicked", "task", t.name, "session", t.session, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		t.cancel()
		g.mu.Lock()
		delete(g.tasks, t.id)
		of := taskOf{t.name, t.session}
		if g.counts[of]--; g.counts[of] == 0 {
			delete(g.counts, of)
		}
		g.mu.Unlock()
		close(t.done)
	}()
	fn(ctx)
}

// taskKey is where a task's context carries the task.
type taskKey struct{}

// progress says how far the task is that ctx belongs to; its row shows it.
func (g *group) progress(ctx context.Context, text string) {
	t, ok := ctx.Value(taskKey{}).(*task)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t.progress = text
}

// stop cancels one task and waits for it, or for ctx.
func (t *task) stop(ctx context.Context) error {
	t.cancel()
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("background task %s has not ended: %w", t.name, ctx.Err())
	}
}

// describe returns what a stop's item says about t while it waits for it, and when t began: the id alone, bg-7, does
// not say what runs.
func (g *group) describe(t *task) func() (string, time.Time) {
	return func() (string, time.Time) {
		g.mu.Lock()
		defer g.mu.Unlock()
		text := t.name
		for _, part := range []string{t.session, t.progress} {
			if part != "" {
				text += ", " + part
			}
		}
		return text, t.started
	}
}

// close takes no more tasks and returns those that still run, oldest first.
func (g *group) close() []*task {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return g.sorted()
}

func (g *group) sorted() []*task {
	out := make([]*task, 0, len(g.tasks))
	for _, t := range g.tasks {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *task) int { return cmp.Or(a.started.Compare(b.started), cmp.Compare(a.id, b.id)) })
	return out
}

// of returns the running tasks of a session with this name.
func (g *group) of(session, name string) []*task {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(g.sorted(), func(t *task) bool { return t.session != session || t.name != name })
}

// most is the largest number of tasks with a name that one session has.
func (g *group) most(name string) (most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for of, n := range g.counts {
		if of.name == name {
			most = max(most, n)
		}
	}
	return most
}

func (g *group) rows(now time.Time) []ops.Background {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]ops.Background, 0, len(g.tasks))
	for _, t := range g.sorted() {
		out = append(out, ops.Background{
			ID: t.id, Name: t.name, Session: t.session, Progress: t.progress, StartedAt: ops.At(t.started), AgeMS: ops.Millis(now.Sub(t.started)),
		})
	}
	return out
}
