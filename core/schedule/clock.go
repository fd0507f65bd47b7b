package schedule

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

const (
	// lookEvery is how long the scheduler sleeps at most: the machine may sleep too, and the wall clock may be set.
	lookEvery = 15 * time.Second
	// onTime is how late a run may begin without being a missed one.
	onTime = time.Minute
	// maxMissed is how many missed times of one job are counted at once.
	maxMissed = 10_000
	// wentBack is how far the last run of a job may be in the future before its next time is computed again. No change of the
	// clocks of a zone is as long.
	wentBack = 25 * time.Hour
)

// Watch begins runs at their times, until ctx ends. It is called once, after Open.
func (b *Book) Watch(ctx context.Context) {
	for {
		b.guarded("look for jobs", "", func() { b.look(ctx) })
		timer := time.NewTimer(b.pause())
		select {
		case <-timer.C:
		case <-b.wake:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// guarded runs a step of the scheduler. A panic ends this step alone.
func (b *Book) guarded(what, name string, step func()) {
	defer func() {
		if p := recover(); p != nil {
			b.o.Log.Error("scheduler panicked", "event", ops.LogJob, "what", what, "job", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	step()
}

// pause is how long the scheduler may sleep.
func (b *Book) pause() time.Duration {
	now := b.o.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	wait := lookEvery
	for _, j := range b.jobs {
		if b.held == "" && j.waits() {
			wait = min(wait, j.Next.Sub(now))
		}
	}
	return max(wait, time.Millisecond)
}

// waits reports whether the job has a next time that counts.
func (j *job) waits() bool { return !j.Paused && !j.Next.IsZero() }

// look begins the runs that are due now.
func (b *Book) look(ctx context.Context) {
	looked := b.o.Now()
	now := looked.Round(0) // without its monotonic part: schedules go by the wall clock
	held := b.holds()
	b.mu.Lock()
	b.looked, b.held = looked, held
	b.mu.Unlock()
	if err := b.apply(ctx, now); err != nil {
		b.o.Log.Warn("jobs of the config not saved", "event", ops.LogJob, "error", term.Clean(err.Error(), 300))
	}
	if held != "" {
		return
	}
	for _, name := range b.due(now) {
		b.guarded("begin a run", name, func() {
			if err := b.begin(ctx, name, now); err != nil {
				b.o.Log.Error("job not begun", "event", ops.LogJob, "job", name, "error", term.Clean(err.Error(), 300))
			}
		})
	}
}

// holds is why no run may begin now; empty: runs may.
func (b *Book) holds() string {
	if b.o.Gate.ClockDoubted() {
		return "the clock is doubted"
	}
	if err := b.o.Gate.Admit(); err != nil {
		return err.Error()
	}
	return ""
}

// due are the names of the jobs whose time has come, the longest overdue first.
func (b *Book) due(now time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*job
	for _, j := range b.jobs {
		if j.waits() && (!j.Next.After(now) || j.Last.Sub(now) > wentBack) {
			all = append(all, j)
		}
	}
	slices.SortFunc(all, func(x, y *job) int { return x.Next.Compare(y.Next) })
	names := make([]string, len(all))
	for i, j := range all {
		names[i] = j.Name
	}
	return names
}

// passed is which times of a schedule have passed when the scheduler looks.
type passed struct {
	// first and last are the first and the last of them, times how many they are.
	first, last time.Time
	times       int
	// next is the first one that has not.
	next time.Time
}

// passed are the times from j.Next to now.
func (j *job) passed(now time.Time) passed {
	p := passed{first: j.Next, last: j.Next, times: 1, next: j.next(j.Next)}
	for !p.next.IsZero() && !p.next.After(now) {
		if p.times == maxMissed {
			p.next = j.next(now)
			break
		}
		p.last, p.times, p.next = p.next, p.times+1, j.next(p.next)
	}
	return p
}

// begin begins a run of a job that is due, or records why there is none.
func (b *Book) begin(ctx context.Context, name string, now time.Time) error {
	unlock, err := b.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	j, found := b.get(name)
	if !found || !j.waits() {
		return nil
	}
	if j.Last.Sub(now) > wentBack { // the clock was wrong when it ran
		b.o.Log.Warn("clock went back; next time of a job is computed again", "event", ops.LogJob, "job", name)
		j.Last, j.Next = time.Time{}, j.next(now)
		b.put(j.Job)
		return b.write(ctx, j.Job, nil)
	}
	p := j.passed(now)
	j.Next = p.next
	punctual := now.Sub(p.last) <= onTime
	missed := p.times
	if punctual || j.Missed == missedOnce {
		missed--
	}
	switch {
	case b.runs(name):
		return b.skip(ctx, j, p, now)
	case !punctual && j.Missed == missedSkip:
		return b.miss(ctx, j, p, now)
	}
	var runs []store.JobRun
	note := ""
	if missed > 0 {
		runs = append(runs, b.missedRun(j, p, missed, now))
		note = fmt.Sprintf("Missed before: %s, since %s.", text.Count(missed, "run"), shown(p.first, j.Zone))
	}
	if !punctual {
		note = cut(fmt.Sprintf("This run was due at %s. The gateway did not take turns then. %s", shown(p.last, j.Zone), note))
	}
	return b.start(ctx, j, store.JobRun{Due: p.last}, note, runs...)
}

// skip records that a job was due while it ran.
func (b *Book) skip(ctx context.Context, j job, p passed, now time.Time) error {
	run := store.JobRun{ID: b.o.NewID(), Job: j.Name, Due: p.first, Ended: now, Result: string(ops.JobRunSkipped), Reason: "the run before it was still running", Times: p.times}
	if err := b.write(ctx, j.Job, nil, run); err != nil {
		return err
	}
	b.put(j.Job)
	b.mu.Lock()
	if r := b.running[j.Name]; r != nil {
		r.skipped += p.times
	}
	b.mu.Unlock()
	b.ended(run)
	return nil
}

// miss records that the times of a job passed, and tells its chat.
func (b *Book) miss(ctx context.Context, j job, p passed, now time.Time) error {
	run := b.missedRun(j, p, p.times, now)
	j.LastResult, j.LastReason = run.Result, run.Reason
	said := fmt.Sprintf("Job %s missed %s, since %s: %s.", j.Name, text.Count(p.times, "run"), shown(p.first, j.Zone), run.Reason)
	message := b.message(ctx, j, run.ID, said, now)
	if err := b.write(ctx, j.Job, message, run); err != nil {
		return err
	}
	b.put(j.Job)
	b.ended(run)
	b.send(message)
	return nil
}

// missedRun is the row of times that passed without a run.
func (b *Book) missedRun(j job, p passed, times int, now time.Time) store.JobRun {
	return store.JobRun{ID: b.o.NewID(), Job: j.Name, Due: p.first, Ended: now, Result: string(ops.JobRunSkipped), Reason: "the gateway was down, or took no turns", Times: times}
}

// write writes a job with runs and a message. The write survives the end of ctx.
func (b *Book) write(ctx context.Context, row store.Job, message *store.Outbox, runs ...store.JobRun) error {
	ctx, cancel := b.store.Patient(ctx)
	defer cancel()
	return b.store.PutJobRuns(ctx, row, message, runs...)
}
