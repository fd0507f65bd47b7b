package shutdown

import (
	"context"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

const (
	// Instant is how long a phase without a budget may take, if the phases before it left that much.
	Instant = 50 * time.Millisecond
	// ListBound is how long a phase's When and List may take together, within the phase's budget. It is generous: a read
	// of /proc is slow on a machine that is busy stopping a thousand processes, and a phase without its list does
	// nothing.
	ListBound = time.Second
	// saveWait is how long a phase waits at its end, within its budget, until the report of its begin is on disk (A9).
	saveWait = 20 * time.Millisecond
	// ForceGrace is how long a forced item has to end, within its budget.
	ForceGrace = time.Second
	// MaxExtension is the limit on the sum of extensions where the service manager's limit is unknown.
	MaxExtension = 10 * time.Minute
)

// Exit codes that the executor chooses itself.
const (
	// ExitCritical replaces the planned code when an item of a Critical phase failed with an error that is not excused.
	ExitCritical = 1
	// ExitWatchdog is the process's when the watchdog ends it (CONTRACT.md, 1).
	ExitWatchdog = 70
)

// Options are the settings of a stop at its start.
type Options struct {
	// ID, Life, Reason and By go into the report unchanged. By is the caller (H11).
	ID, Life, Reason, By string
	// Mode is the initial strength; empty: graceful.
	Mode ops.Mode
	// Restart means that the next life follows. ExitCode is the planned exit code, 75 in that case (CONTRACT.md, 1).
	Restart  bool
	ExitCode int
	// Limit is how long after Start the service manager kills the process; 0: unknown. Start fits the plan to it.
	Limit time.Duration

	// Save writes the report where it survives a SIGKILL. It is called from one goroutine at every transition, and once
	// more when the running items have reported their progress. It skips to the latest report where it is slow, and
	// delays nothing if it hangs. It need not sync: only a power cut would lose what it wrote.
	Save func(ops.Shutdown) error
	// Observe gets each transition, in order, from one goroutine. It delays nothing if it hangs.
	Observe func(Event)
	// Log gets a line "shutdown.phase" as each phase begins and ends (CONTRACT.md, 8) and one for each item with a
	// problem. A handler that hangs delays nothing. Nil discards.
	Log *slog.Logger
	// Exit ends the process at once; nil: os.Exit. Only the watchdog calls it.
	Exit func(code int)
	// Stacks writes a goroutine profile with labels, in pprof's debug=1 form; nil: the stacks of silent items are not
	// read.
	Stacks func(io.Writer) error
	// Dump writes every goroutine's stack. The watchdog calls it before Exit and waits for half its slack.
	Dump func()
}

// Run is one stop while it runs and after. Its methods may be called from any goroutine, items and listings included.
// None of them waits for foreign code, except Report as described there.
type Run struct {
	o     Options
	slack time.Duration
	began time.Time

	wake      chan struct{} // holds one token: the executor must look again
	immediate chan struct{}
	done      chan struct{}
	saves     *saver
	news      *announcer
	dog       *watchdog
	looks     sync.WaitGroup // looks at the goroutines that are under way

	mu         sync.Mutex // guards what follows and the phases; never held over foreign code
	mode       ops.Mode
	escalated  []ops.Escalation // how mode was reached
	phases     []*phase
	current    int           // index of the phase that runs or ran last; -1 before the first
	end        time.Time     // the latest end of the last phase
	extended   time.Duration // the sum of granted extensions
	notAwaited []ops.Item
	exitSet    bool
	exitCode   int  // set by SetExit
	critical   bool // an item of a critical phase failed, and its error is not excused
	incomplete bool // an item overstayed, failed or was skipped
	ended      time.Time
	behind     int // goroutines that are now in foreign code
}

// phase is a Phase while it runs. The Budget of the embedded one grows with extensions.
type phase struct {
	Phase
	state                  ops.StepState
	began, deadline, ended time.Time
	detail                 string
	stack                  []byte // of a listing that panicked; the executor's own
	items                  []*item
	open                   int           // items that run
	done                   int           // items that ended well
	settled                bool          // nothing runs any more; only the record is left to write
	cut                    bool          // an action or a mode ended it, or will when its turn comes
	late                   time.Duration // the sum of the delays with which the executor was woken
}

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
// ended. It waits for report and log at most an eighth of the slack, and not for goroutines in foreign code.
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
	switch {
	case p.cut: // an operator skipped it before its turn came; detail names the operator
	case !p.runsIn(r.mode):
		p.detail = "not part of a stop of mode " + string(r.mode)
	default:
		p.state = ops.StepRunning
		// The phases after this one keep their time. A phase with a budget has its own as well, less the cost of
		// scheduling on a busy machine beyond a quarter of the slack. A phase without a budget has what is left over, and
		// with a leeway also the quarter of the slack.
		budget, last := p.Budget, r.end.Add(-r.rest())
		switch {
		case budget == 0 && p.Leeway <= 0:
			budget = Instant
		case budget == 0:
			budget, last = p.Leeway, last.Add(r.slack/4)
		default:
			last = last.Add(r.slack / 4)
		}
		p.deadline = now.Add(budget)
		if last.Before(p.deadline) {
			p.deadline = last
		}
		r.saves.ask()
		return true
	}
	r.close(p, ops.StepSkipped)
	return false
}

// work lists the items of p, which runs, runs them and waits until all have ended.
func (r *Run) work(p *phase) {
	items, state := r.list(p)
	seq := r.launch(p, items, state)
	quit := make(chan struct{})
	// The stacks are not waited for before the end of the stop: on a busy machine a goroutine profile takes seconds,
	// which would be the phase's.
	r.looks.Go(func() { r.watchStacks(p, quit) })
	for {
		wait, busy := r.expire(p)
		if !busy {
			break
		}
		due := time.Now().Add(wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-r.wake:
		}
		timer.Stop()
		r.overslept(p, time.Since(due)) // the timer's channel holds when it was due
	}
	close(quit)
	if d := min(time.Until(r.deadline(p)), saveWait); d > 0 {
		r.saves.wait(seq, d)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if state == "" || p.cut {
		state = p.result()
	}
	r.close(p, state)
}

// deadline is p's current deadline.
func (r *Run) deadline(p *phase) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return p.deadline
}

// listing is the result of When and List.
type listing struct {
	items   []Item
	skipped bool
	why     string
	fail    failure
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
	r.enter()
	go pprof.Do(ctx, pprof.Labels("phase", p.Name, "item", "list"), func(ctx context.Context) {
		var l listing
		guard(func() error {
			if p.When != nil {
				ok, why := p.When(r)
				if l.skipped, l.why = !ok, clean(why); l.skipped {
					return nil
				}
			}
			if p.List != nil {
				l.items = p.List(ctx, r)
			}
			return nil
		}, func(f failure) {
			l.fail = f
			r.leave()
			answer <- l
		})
	})
	for {
		select {
		case l := <-answer:
			return r.listed(p, l)
		case <-r.wake:
			if r.isCut(p) {
				return nil, ops.StepSkipped
			}
		case <-ctx.Done():
			select {
			case l := <-answer:
				return r.listed(p, l)
			default:
			}
			r.note(p, "listing its items did not end in time")
			return nil, ops.StepTimedOut
		}
	}
}

// listed processes the result of When and List.
func (r *Run) listed(p *phase, l listing) ([]Item, ops.StepState) {
	switch {
	case l.fail.bad:
		r.note(p, "listing its items: "+l.fail.text)
		p.stack = l.fail.stack
		return nil, ops.StepFailed
	case l.skipped:
		r.note(p, l.why)
		return nil, ops.StepSkipped
	}
	return l.items, ""
}

// note sets the detail of p, unless an action has.
func (r *Run) note(p *phase, detail string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !p.cut {
		p.detail = detail
	}
}

func (r *Run) isCut(p *phase) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return p.cut
}

// launch starts the items, unless the listing ended the phase with its own state. It announces that the phase has begun,
// unless it has not. It returns the number of the save that shows it.
func (r *Run) launch(p *phase, items []Item, state ops.StepState) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.cut || state == ops.StepSkipped {
		return r.saves.ask()
	}
	now := time.Now()
	p.items = make([]*item, len(items))
	p.open = len(items)
	r.behind += len(items)
	for i, it := range items {
		p.items[i] = newItem(r, p, it, now)
	}
	for _, it := range p.items {
		go it.work(r, p)
	}
	seq := r.saves.ask()
	r.tell(p, ops.StepRunning)
	return seq
}

// expire abandons the items of p whose time is over. It returns how long the executor may sleep, and whether an item
// runs.
func (r *Run) expire(p *phase) (wait time.Duration, busy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
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
	p.settled = p.open == 0
	return next.Sub(now), !p.settled
}

// overslept records that the executor was woken by so much later than it had asked for.
func (r *Run) overslept(p *phase, by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.late += max(by, 0)
}

// tolerance is how far beyond its budget a phase may end without an explanation in the report: saving the report, and a
// busy machine's scheduling.
const tolerance = 50 * time.Millisecond

// whyLate is why p, which has ended, took longer than its budget; empty: it did not. Run.mu is held.
func (p *phase) whyLate() string {
	over := p.ended.Sub(p.deadline)
	if over <= tolerance {
		return ""
	}
	why := text.Exact(over.Round(time.Millisecond)) + " over its budget: "
	if 2*p.late >= over {
		return why + "the machine did not run the gateway for " + text.Exact(p.late.Round(time.Millisecond))
	}
	return why + "the gateway was busy with other work"
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
	switch state {
	case ops.StepTimedOut, ops.StepFailed:
		r.incomplete = true
		if state == ops.StepFailed && len(p.items) == 0 { // listing failed, and nothing was done
			r.critical = r.critical || p.Critical
		}
	case ops.StepSkipped:
		r.incomplete = r.incomplete || p.cut
	}
	r.tell(p, state)
	r.saves.ask()
}

// finish writes the outcome and ends the helpers of the run.
func (r *Run) finish() {
	r.mu.Lock()
	r.ended = time.Now()
	r.news.add(Event{At: r.ended, Type: ops.EventShutdownEnded})
	r.saves.ask()
	r.mu.Unlock()
	until := time.Now().Add(r.slack / 8)
	r.saves.close(until)
	r.news.close(until)
	looked := make(chan struct{})
	go func() { // ends with the read of the stacks under way
		r.looks.Wait()
		close(looked)
	}()
	waitUntil(looked, until)
	r.dog.disarm()
}

// rest is how long the phases after the current one may still take. r.mu is held.
func (r *Run) rest() time.Duration {
	var d time.Duration
	for _, p := range r.phases[r.current+1:] {
		if !p.cut && p.runsIn(r.mode) {
			d += p.Budget
		}
	}
	return d
}

// horizon is the latest end of the plan from now on: phases that ended early count. r.mu is held.
func (r *Run) horizon(now time.Time) time.Time {
	if r.current >= 0 {
		if p := r.phases[r.current]; p.state == ops.StepRunning && !p.cut {
			now = p.deadline
		}
	}
	return now.Add(r.rest())
}

// enter and leave count the goroutines in foreign code.
func (r *Run) enter() { r.count(1) }
func (r *Run) leave() { r.count(-1) }

func (r *Run) count(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind += n
}

// nudge wakes the executor.
func (r *Run) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
