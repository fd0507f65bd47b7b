package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the time at which the tests begin: a day on which no clocks change.
var noon = time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC)

// world is all that a Book needs, in memory. Its clock stands until a test sets it.
type world struct {
	mu    sync.Mutex
	clock time.Time
	// jobs and runs are what the store has; fault fails its writes.
	jobs  map[string]store.Job
	runs  map[string]store.JobRun
	fault error
	// sent are the messages to chats, queue the tasks that have not run.
	sent  []store.Outbox
	queue []func()
	// answer is what the turn of a job says; nil: it says its prompt.
	answer func(key string, m session.Message) (string, error)
	turns  []session.Message
	roles  map[string]ops.Role
	// refused is why no turns begin, doubted means that the clock is doubted, closed that no task starts any more.
	refused         error
	doubted, closed bool
	events          []ops.EventType
	ids             int
	book            *Book
}

func newWorld() *world {
	w := &world{clock: noon, jobs: map[string]store.Job{}, runs: map[string]store.JobRun{}, roles: map[string]ops.Role{"telegram:4711": ops.RoleMember}}
	w.life()
	return w
}

// life begins another life of the gateway. What was in memory is gone.
func (w *world) life() {
	w.queue, w.closed = nil, false
	w.book = New(Options{
		Log: slog.New(slog.DiscardHandler), Events: w, Tasks: w, Chats: w, Gate: w, Now: w.now, NewID: w.newID,
		Role:   func(person string) ops.Role { return w.roles[person] },
		Target: func(_ context.Context, key string) string { return strings.TrimPrefix(key, "telegram:dm:") },
		Zone:   func() string { return "UTC" },
	})
}

// open opens the jobs of a life.
func (w *world) open(t *testing.T) {
	t.Helper()
	if err := w.book.Open(t.Context(), w, w); err != nil {
		t.Fatal(err)
	}
}

// at sets the clock, looks, and lets all runs end.
func (w *world) at(t time.Time) {
	w.set(t)
	w.book.look(context.Background())
	w.settle()
}

func (w *world) set(t time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = t
}

// settle runs the tasks that wait.
func (w *world) settle() {
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		next()
	}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock
}

func (w *world) newID() string {
	w.ids++
	return fmt.Sprintf("id-%06d", w.ids)
}

func (w *world) Start(ctx context.Context, _, _ string, run func(context.Context)) bool {
	if !w.closed {
		w.queue = append(w.queue, func() { run(ctx) })
	}
	return !w.closed
}

func (w *world) Deliver(row store.Outbox) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, row)
}

func (w *world) Emit(t ops.EventType, _, _ string, _ ops.Payload) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, t)
}

func (w *world) Admit() error       { return w.refused }
func (w *world) ClockDoubted() bool { return w.doubted }
func (w *world) Jobs(context.Context) ([]store.Job, error) {
	return slices.Collect(maps.Values(w.jobs)), nil
}

func (w *world) Patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return ctx, func() {}
}

func (w *world) OpenJobRuns(context.Context) (open []store.JobRun, err error) {
	for _, r := range w.runs {
		if r.Result == store.JobRunning {
			open = append(open, r)
		}
	}
	return open, nil
}

func (w *world) JobRuns(_ context.Context, name string, limit int) (runs []store.JobRun, err error) {
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(w.runs))) {
		if w.runs[id].Job == name && len(runs) < limit {
			runs = append(runs, w.runs[id])
		}
	}
	return runs, nil
}

func (w *world) PutJob(_ context.Context, v store.Job) error {
	if w.fault == nil {
		w.jobs[v.Name] = v
	}
	return w.fault
}

func (w *world) PutJobRuns(ctx context.Context, v store.Job, _ *store.Outbox, runs ...store.JobRun) error {
	if err := w.PutJob(ctx, v); err != nil {
		return err
	}
	for _, r := range runs {
		w.runs[r.ID] = r
	}
	return nil
}

func (w *world) DropJob(_ context.Context, name string) error {
	delete(w.jobs, name)
	maps.DeleteFunc(w.runs, func(_ string, r store.JobRun) bool { return r.Job == name })
	return w.fault
}

func (w *world) RunJob(_ context.Context, key string, m session.Message) (string, error) {
	w.turns = append(w.turns, m)
	if w.answer != nil {
		return w.answer(key, m)
	}
	return m.Text, nil
}

// row is the row of a job for operators.
func (w *world) row(t *testing.T, name string) ops.Job {
	t.Helper()
	for _, r := range w.book.Rows() {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("there is no job %s", name)
	return ops.Job{}
}

// counted are the runs of a job by their results, and how many times of its schedule they stand for.
func (w *world) counted(name string) (byResult map[string]int, times int) {
	byResult = map[string]int{}
	for _, r := range w.runs {
		if r.Job == name {
			byResult[r.Result]++
			if r.By == "" {
				times += r.Times
			}
		}
	}
	return byResult, times
}

// define is a job of the config that delivers to a chat.
func define(name, schedule, zone, missed string) Definition {
	return Definition{Name: name, Schedule: schedule, Zone: zone, Prompt: "say " + name, Agent: "default", Deliver: "telegram:dm:4711", Missed: missed}
}

var errModel = &ops.Error{Code: ops.CodeUpstream, Message: "the model did not answer"}

var errDisk = errors.New("disk full")
