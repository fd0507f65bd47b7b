// Package schedule runs jobs at their times (HR8).
//
// What it promises: each time of a schedule gets one run, or is reported as missed or skipped. A run is a row before it begins, and a
// turn of the job's own session. Two runs of a job are never at once. A run that a stop or a crash cut off is reported, and is not run
// again. A failure reaches the chat that gets the answers, the inbox and the events. No person is asked during a run: a job may do
// what its grants name. While the wall clock is doubted, or no turns may begin, no run begins. A job that panics ends its own run
// alone, and the row of the scheduler says when it looked last.
//
// clock.go has the scheduler, run.go one run, change.go what makes, changes and deletes jobs, config.go the jobs of the config, rows.go
// what operators see, chat.go the chat command. Folder when reads schedules.
//
// Locks: Book.mu is a leaf and is not held over I/O. Changes of jobs come one after the other through Book.one, which is held over the
// writes of one change.
package schedule

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/schedule/when"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

// Bounds on jobs.
const (
	// maxOwn is how many jobs one person may have, maxAll how many there may be without those of the config.
	maxOwn = 32
	maxAll = 1000
	// maxPrompt is the longest prompt in bytes, maxName the longest name.
	maxPrompt = 32 << 10
	maxName   = 40
	maxGrants = 20
)

// Where a job was made.
const (
	FromConfig = "config"
	FromChat   = "chat"
	FromTool   = "tool"
)

// What becomes of a run whose time passed.
const (
	missedOnce = "once"
	missedSkip = "skip"
)

// Store keeps jobs and their runs. *store.Store is one.
type Store interface {
	Jobs(ctx context.Context) ([]store.Job, error)
	OpenJobRuns(ctx context.Context) ([]store.JobRun, error)
	JobRuns(ctx context.Context, name string, limit int) ([]store.JobRun, error)
	PutJob(ctx context.Context, v store.Job) error
	PutJobRuns(ctx context.Context, v store.Job, message *store.Outbox, runs ...store.JobRun) error
	DropJob(ctx context.Context, name string) error
	// Patient is ctx without its end, for a write that must survive the end of its cause.
	Patient(ctx context.Context) (context.Context, context.CancelFunc)
}

// Turns runs the turns of jobs. *conversation.Conversations is one.
type Turns interface {
	// RunJob works on a message in a fresh conversation of the session of key, and returns the answer when the turn has ended.
	// What the turn left running has then ended, too. It is bounded by the stall limits of turns.
	RunJob(ctx context.Context, key string, m session.Message) (string, error)
}

// Chats sends messages to chats. *delivery.Outbox is one.
type Chats interface {
	// Deliver sends a message that the store has. It returns after the first attempt.
	Deliver(row store.Outbox)
}

// Tasks runs tracked background work. *background.Group is one.
type Tasks interface {
	Start(ctx context.Context, name, session string, run func(context.Context)) (started bool)
}

// Events hears of runs. It never waits.
type Events interface {
	Emit(t ops.EventType, subject, text string, data ops.Payload)
}

// Gate says whether runs may begin. Its methods do not wait.
type Gate interface {
	// Admit is why no turn may begin now; nil: turns may begin.
	Admit() error
	// ClockDoubted reports whether nothing may be done that goes by the wall clock.
	ClockDoubted() bool
}

// Options are what a Book needs. Every field is required but Now.
type Options struct {
	Log    *slog.Logger
	Events Events
	Tasks  Tasks
	Chats  Chats
	Gate   Gate
	// Role is what the person with this name, such as telegram:4711, may do; empty: nothing any more.
	Role func(person string) ops.Role
	// Target is the platform's address of the chat of a session; empty: none is known.
	Target func(ctx context.Context, key string) string
	// Zone is the name of the zone for jobs that name none.
	Zone func() string
	// NewID makes unique ids that sort by time.
	NewID func() string
	// Now is the wall clock; nil: time.Now.
	Now func() time.Time
}

// Book is the jobs of a gateway. Its methods may be called from any goroutine.
type Book struct {
	o Options
	// store and turns are set by Open, before the first run.
	store Store
	turns Turns
	// one holds a token: one change of jobs at a time. wake wakes the scheduler.
	one, wake chan struct{}

	mu   sync.Mutex // guards what follows
	jobs map[string]*job
	// running are the runs under way by the names of their jobs, which may be deleted meanwhile.
	running map[string]*running
	// wanted are the jobs of a config that is not in force yet; nil: the one in force is.
	wanted []Definition
	// looked is when the scheduler looked last, with its monotonic part. stuck means that this is too long ago.
	looked time.Time
	stuck  bool
	// held is why no run begins now; empty: runs begin.
	held string
}

// running is a run under way. skipped is how many times of the schedule have passed since it began.
type running struct {
	store.JobRun
	skipped int
}

// job is a job in memory. Its row is what the store has.
type job struct {
	store.Job
	schedule when.Schedule
	// broken says why the schedule cannot be read; empty: it can.
	broken string
	// told is when its chat heard of a failure last.
	told time.Time
}

// New returns a Book without jobs. It does no I/O.
func New(o Options) *Book {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Book{o: o, one: make(chan struct{}, 1), wake: make(chan struct{}, 1), jobs: map[string]*job{}, running: map[string]*running{}}
}

// Open reads the jobs, writes those of the config, and reports the runs that an earlier life did not end. It is called once, before Watch.
func (b *Book) Open(ctx context.Context, s Store, t Turns) error {
	b.store, b.turns = s, t
	rows, err := s.Jobs(ctx)
	if err != nil {
		return err
	}
	open, err := s.OpenJobRuns(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	for _, row := range rows {
		b.jobs[row.Name] = newJob(row)
	}
	b.mu.Unlock()
	for _, run := range open {
		b.cutOff(ctx, run)
	}
	return b.apply(ctx, b.o.Now().Round(0))
}

// newJob is a job in memory. One whose schedule cannot be read, because its row was changed or its zone is gone, is never due.
func newJob(row store.Job) *job {
	j := &job{Job: row}
	zone, err := when.Zone(row.Zone)
	if err == nil {
		j.schedule, err = when.Parse(row.Schedule, zone)
	}
	if err != nil {
		j.broken = err.Error()
	}
	return j
}

// next is the first time after a time at which the job is due; zero: never.
func (j *job) next(after time.Time) time.Time {
	if j.broken != "" {
		return time.Time{}
	}
	return j.schedule.Next(after, j.Made)
}

// lock waits for the turn to change jobs. The caller calls unlock. Before Open, and where the database takes nothing, it is refused.
func (b *Book) lock(ctx context.Context) (unlock func(), err error) {
	if b.store == nil {
		return nil, &ops.Error{Code: ops.CodeUnavailable, Message: "jobs cannot be read or written now", Hint: "try again when the gateway has started; gatewaytui status says whether its database takes writes"}
	}
	select {
	case b.one <- struct{}{}:
		return func() { <-b.one }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// get is a copy of the job with a name.
func (b *Book) get(name string) (j job, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.jobs[name]; known != nil {
		return *known, true
	}
	return job{}, false
}

// runs reports whether a run of the job with a name is under way.
func (b *Book) runs(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running[name] != nil
}

// put replaces a job in memory. The schedule is read again.
func (b *Book) put(row store.Job) {
	j := newJob(row)
	b.mu.Lock()
	defer b.mu.Unlock()
	if was := b.jobs[row.Name]; was != nil {
		j.told = was.told
	}
	b.jobs[row.Name] = j
}

// Grants are the commands that the turn of a session may run without a person: those of the job that runs in it.
func (b *Book) Grants(key string) []string {
	name, is := session.JobOf(key)
	if !is {
		return nil
	}
	if j, found := b.get(name); found && b.runs(name) {
		return j.Allow
	}
	return nil
}

// operators are the owner of jobs that callers of the control socket make, whose names have process ids.
const operators = "cli:operator"

// person names the sender of a message in the session of key: telegram:4711.
func person(key, user string) string {
	if session.Platform(key) == "cli" {
		return operators
	}
	return session.Platform(key) + ":" + session.PersonOf(user)
}

// nudge wakes the scheduler.
func (b *Book) nudge() {
	select {
	case b.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// cut is text without the spaces around it.
func cut(s string) string { return strings.TrimSpace(s) }
