// Package background runs a program's background work as one tracked group (S3, K5).
//
// Each task has a name, an owner and an age that the console shows. It leaves the group when it ends. The stop cancels
// each task and waits for it. A panic fails its own task alone. The lock of a Group is a leaf: it is never held over a
// task, a log line or another lock.
package background

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"gatewaytui/core/ops"
)

// Group is a tracked set of background tasks. Its methods may be called from any goroutine.
type Group struct {
	log *slog.Logger

	mu     sync.Mutex // guards what follows, and how far each task is
	closed bool
	last   int
	tasks  map[string]*Task
}

// Task is one background task.
type Task struct {
	// ID is unique in its group: bg-7.
	ID            string
	name, session string
	progress      string // Group.mu guards it and percent
	percent       int
	started       time.Time
	cancel        context.CancelFunc
	done          chan struct{}
}

// New returns an empty group. log gets the panics of tasks.
func New(log *slog.Logger) *Group {
	return &Group{log: log, tasks: map[string]*Task{}}
}

// Start runs fn as a tracked task of a session, or of the whole gateway if session is empty. The task's context has the
// values of ctx but not its end: a task ends with its own work or with the stop, not with the request that caused it.
// Start reports false, and runs nothing, once the group is closed.
func (g *Group) Start(ctx context.Context, name, session string, fn func(context.Context)) bool {
	started, _ := g.StartUpTo(ctx, math.MaxInt, name, session, fn)
	return started
}

// StartUpTo is Start, unless most tasks with this name run in the session already. running is how many run now.
func (g *Group) StartUpTo(ctx context.Context, most int, name, session string, fn func(context.Context)) (started bool, running int) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	t := &Task{name: name, session: session, started: time.Now(), cancel: cancel, done: make(chan struct{})}
	ctx = context.WithValue(ctx, taskKey{}, t)
	g.mu.Lock()
	if most < math.MaxInt {
		running = g.count(session, name)
	}
	if g.closed || running >= most {
		g.mu.Unlock()
		cancel()
		return false, running
	}
	g.last++
	t.ID = "bg-" + strconv.Itoa(g.last)
	g.tasks[t.ID] = t
	g.mu.Unlock()
	go g.run(ctx, t, fn)
	return true, running + 1
}

func (g *Group) run(ctx context.Context, t *Task, fn func(context.Context)) {
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("background task panicked", "task", t.name, "session", t.session, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		t.cancel()
		g.mu.Lock()
		delete(g.tasks, t.ID)
		g.mu.Unlock()
		close(t.done)
	}()
	fn(ctx)
}

// taskKey is where a task's context carries the task.
type taskKey struct{}

// Progress sets what the row of the task that ctx belongs to says of how far it is: done of whole, and text for people. A whole of 0 is not
// known. A ctx of no task changes nothing.
func (g *Group) Progress(ctx context.Context, done, whole int64, text string) {
	t, ok := ctx.Value(taskKey{}).(*Task)
	if !ok {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	t.progress, t.percent = text, ops.Percent(done, whole)
}

// Stop cancels the task and waits for its end, or for the end of ctx.
func (t *Task) Stop(ctx context.Context) error {
	t.cancel()
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("background task %s has not ended: %w", t.name, ctx.Err())
	}
}

// Describe returns a function that says what t is and when it began. The item of a stop shows it: the id alone, bg-7, does
// not say what runs.
func (g *Group) Describe(t *Task) func() (string, time.Time) {
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

// Close makes Start refuse every further task. It returns the tasks that still run, oldest first, and waits for none.
func (g *Group) Close() []*Task {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	return g.sorted()
}

// sorted returns the running tasks, oldest first. g.mu is held.
func (g *Group) sorted() []*Task {
	return slices.SortedFunc(maps.Values(g.tasks), func(a, b *Task) int {
		return cmp.Or(a.started.Compare(b.started), cmp.Compare(a.ID, b.ID))
	})
}

// Count returns how many tasks with this name run in a session.
func (g *Group) Count(session, name string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count(session, name)
}

// count is Count with g.mu held.
func (g *Group) count(session, name string) (n int) {
	for _, t := range g.tasks {
		if t.name == name && t.session == session {
			n++
		}
	}
	return n
}

// Most returns the largest number of tasks with this name that one session has.
func (g *Group) Most(name string) (most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	counts := map[string]int{}
	for _, t := range g.tasks {
		if t.name == name {
			counts[t.session]++
			most = max(most, counts[t.session])
		}
	}
	return most
}

// Rows returns a row for each running task, oldest first.
func (g *Group) Rows(now time.Time) []ops.Background {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]ops.Background, 0, len(g.tasks))
	for _, t := range g.sorted() {
		out = append(out, ops.Background{
			ID: t.ID, Name: t.name, Session: t.session, Progress: t.progress, Percent: t.percent, StartedAt: ops.At(t.started), AgeMS: ops.Millis(now.Sub(t.started)),
		})
	}
	return out
}
