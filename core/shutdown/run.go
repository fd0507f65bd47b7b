package shutdown

import (
	"context"
	"log/slog"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// Start begins the stop: it arms the watchdog, then runs the plan on a separate goroutine, and returns at once.
func Start(plan Plan, o Options) *Run {
	if strength(o.Mode) == 0 {
		o.Mode = ops.ModeGraceful
	}
	if o.Exit == nil {
		o.Exit = os.Exit
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Limit = max(o.Limit, 0)
	fitted, _ := plan.Fit(o.Limit)
	r := &Run{
		o: o, slack: slackFor(o.Limit), began: time.Now(), mode: o.Mode, current: -1,
		wake: make(chan struct{}, 1), immediate: make(chan struct{}), done: make(chan struct{}),
	}
	if o.Mode == ops.ModeImmediate {
		close(r.immediate)
	}
	for _, f := range fitted.Phases {
		r.phases = append(r.phases, &phase{Phase: f, state: ops.StepPending})
	}
	r.end = r.began.Add(fitted.sum(o.Mode))
	r.dog = arm(r.end.Add(r.slack/2), r.slack/2, o)
	r.saves = newSaver(r)
	r.news = newAnnouncer(o, r.saves)
	go r.execute()
	return r
}

// Done is closed when the plan has run, the report is saved and the log is written, and every goroutine of the run has
// ended. It waits for report and log at most an eighth of the slack, for a report that is written also for reportMost where the plan has
// that left, and not for goroutines in foreign code.
// The watchdog is off then: the caller must bound what follows.
func (r *Run) Done() <-chan struct{} { return r.done }

// execute is the executor: it runs the phases in order and waits only for what it can abandon.
func (r *Run) execute() {
	defer close(r.done)
	for i, p := range r.phases {
		if r.begin(i) {
			r.work(p)
		}
	}
	r.finish()
}

// begin moves on to phase i and reports whether it runs.
func (r *Run) begin(i int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, now := r.phases[i], time.Now()
	r.current = i
	p.began = now
	if p.cut || !p.runsIn(r.mode) {
		if !p.cut { // else an operator skipped it before its turn came, and detail names the operator
			p.detail = "not part of a stop of mode " + string(r.mode)
		}
		r.close(p, ops.StepSkipped)
		return false
	}
	p.state = ops.StepRunning
	p.deadline = now.Add(allowed(&p.Phase, r.end.Add(-r.rest()).Sub(now), r.slack))
	r.saves.ask()
	return true
}

// work lists the items of p, which runs, runs them and waits until all have ended.
func (r *Run) work(p *phase) {
	items, state := r.list(p)
	saved := r.launch(p, items, state)
	quit := make(chan struct{})
	// The stacks are not waited for before the end of the stop: on a busy machine a goroutine profile takes seconds,
	// which would be the phase's.
	r.looks.Go(func() { r.watchStacks(p, quit) })
	var overslept time.Duration
	for {
		wait, busy := r.expire(p, overslept)
		if !busy {
			break
		}
		due := time.Now().Add(wait)
		select {
		case <-time.After(wait):
		case <-r.wake:
		}
		overslept = time.Since(due) // the timer's channel holds when it was due
	}
	close(quit)
	if d := min(time.Until(r.deadline(p)), saveWait); d > 0 {
		r.saves.wait(saved, d)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if state == "" || p.cut {
		state = p.result()
	}
	r.close(p, state)
}

// listing is the outcome of When and List: the items, or how the phase ends without any.
type listing struct {
	items  []Item
	state  ops.StepState
	detail string
	stack  []byte // of a panic
}

// list lists the items of p. If there is nothing to launch it also returns how the phase ends.
func (r *Run) list(p *phase) ([]Item, ops.StepState) {
	if p.When == nil && p.List == nil {
		return nil, ""
	}
	until := time.Now().Add(ListBound)
	if last := r.deadline(p); last.Before(until) {
		until = last
	}
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	answer := make(chan listing, 1)
	r.behind.Add(1)
	go pprof.Do(ctx, pprof.Labels("phase", p.Name, "item", "list"), func(ctx context.Context) {
		var l listing
		guard(func() error {
			if p.When != nil {
				if ok, why := p.When(r); !ok {
					l = listing{state: ops.StepSkipped, detail: clean(why)}
					return nil
				}
			}
			if p.List != nil {
				l.items = p.List(ctx, r)
			}
			return nil
		}, func(f failure) {
			if f.bad {
				l = listing{state: ops.StepFailed, detail: "listing its items: " + f.text, stack: f.stack}
			}
			r.behind.Add(-1)
			answer <- l
		})
	})
	for {
		select {
		case l := <-answer:
			return r.listed(p, l)
		case <-r.wake:
			r.mu.Lock()
			cut := p.cut
			r.mu.Unlock()
			if cut {
				return nil, ops.StepSkipped
			}
		case <-ctx.Done():
			l := listing{state: ops.StepTimedOut, detail: "listing its items did not end in time"}
			select {
			case l = <-answer:
			default:
			}
			return r.listed(p, l)
		}
	}
}

// listed notes how the listing ended, unless an action has ended the phase.
func (r *Run) listed(p *phase, l listing) ([]Item, ops.StepState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.stack = l.stack
	if !p.cut {
		p.detail = l.detail
	}
	return l.items, l.state
}

// launch starts the items, unless the listing ended the phase with its own state. It announces that the phase has begun,
// unless it has not. The channel is closed when the report that shows it is on disk.
func (r *Run) launch(p *phase, items []Item, state ops.StepState) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.cut || state == ops.StepSkipped {
		return r.saves.ask()
	}
	now := time.Now()
	p.items = make([]*item, len(items))
	p.open = len(items)
	r.behind.Add(int64(len(items)))
	for i, it := range items {
		p.items[i] = newItem(r, p, it, now)
	}
	for _, it := range p.items {
		go it.work(r, p)
	}
	saved := r.saves.ask()
	r.announce(p, ops.StepRunning)
	return saved
}

// expire abandons the items of p whose time is over. overslept is how much later than it had asked for the executor was
// woken; below 0 is earlier. expire returns how long the executor may sleep, and whether an item runs.
func (r *Run) expire(p *phase, overslept time.Duration) (wait time.Duration, busy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.late += max(overslept, 0)
	now := time.Now()
	next := p.deadline
	for _, it := range p.items {
		switch {
		case it.state != ops.StepRunning:
		case !it.deadline.After(now):
			r.abandon(p, it)
		case it.deadline.Before(next):
			next = it.deadline
		}
	}
	p.finished = p.open == 0
	return next.Sub(now), !p.finished
}

// close ends p in the given state and announces it. r.mu is held.
func (r *Run) close(p *phase, state ops.StepState) {
	p.state, p.ended = state, time.Now()
	if p.detail == "" {
		p.detail = p.summary()
	}
	if why := p.whyLate(); why != "" && state != ops.StepSkipped {
		p.detail = strings.TrimPrefix(p.detail+"; "+why, "; ")
	}
	r.incomplete = r.incomplete || state == ops.StepTimedOut || state == ops.StepFailed || p.cut
	if state == ops.StepFailed && len(p.items) == 0 { // listing failed, and nothing was done
		r.critical = r.critical || p.Critical
	}
	r.announce(p, state)
	r.saves.ask()
}

// earlier is the earlier one of two times.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// finish writes the outcome and ends the helpers of the run.
func (r *Run) finish() {
	r.mu.Lock()
	r.ended = time.Now()
	r.news.add(Event{Type: ops.EventShutdownEnded})
	r.saves.ask()
	until := r.ended.Add(r.slack / 8)
	if later := earlier(r.ended.Add(reportMost), r.end); later.After(until) && !r.saves.hangs(r.slack/8) {
		until = later
	}
	r.mu.Unlock()
	r.saves.close(until)
	until = earlier(time.Now().Add(r.slack/8), until)
	r.news.close(until)
	looked := make(chan struct{})
	go func() { // ends with the read of the stacks under way
		r.looks.Wait()
		close(looked)
	}()
	waitUntil(looked, until)
	r.dog.disarm()
}
