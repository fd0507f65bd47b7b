package shutdown

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

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
	behind    atomic.Int64   // goroutines that are now in foreign code

	mu         sync.Mutex // guards what follows and the phases; never held over foreign code
	mode       ops.Mode
	escalated  []ops.Escalation // how mode was reached
	phases     []*phase
	current    int           // index of the phase that runs or ran last; -1 before the first
	end        time.Time     // the latest end of the last phase
	extended   time.Duration // the sum of granted extensions
	notAwaited []ops.Item
	leftBehind *ops.LeftBehind // never changed, only replaced
	exitSet    bool
	exitCode   int  // set by SetExit
	critical   bool // an item of a critical phase failed, and its error is not tolerated
	incomplete bool // an item overstayed, failed or was skipped
	ended      time.Time
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
	finished               bool          // nothing runs any more; only the record is left to write
	cut                    bool          // an action or a mode ended it, or will when its turn comes
	late                   time.Duration // the sum of the delays with which the executor was woken
}

// row is p for the report, without its items. Run.mu is held.
func (p *phase) row(now time.Time) ops.Phase {
	row := ops.Phase{Name: p.Name, State: p.state, BudgetMS: ops.Millis(p.Budget), Detail: p.detail, StartedAt: ops.At(p.began), PhaseRules: p.rules()}
	if p.state != ops.StepPending {
		row.ElapsedMS = ops.Millis(cmp.Or(p.ended, now).Sub(p.began))
	}
	return row
}

// maxBlockers is how many blockers a log line and a hint name.
const maxBlockers = 20

// blockers names the items of p that are in one of the given states. Run.mu is held.
func (p *phase) blockers(states ...ops.StepState) []string {
	out := []string{}
	more := 0
	for _, it := range p.items {
		switch {
		case !slices.Contains(states, it.state):
		case len(out) < maxBlockers:
			out = append(out, clean(it.name()))
		default:
			more++
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return out
}

// count is how many items of p are in the given state. Run.mu is held.
func (p *phase) count(state ops.StepState) (n int) {
	for _, it := range p.items {
		if it.state == state {
			n++
		}
	}
	return n
}

// result is how p ended, according to its items. Run.mu is held.
func (p *phase) result() ops.StepState {
	switch {
	case p.cut:
		return ops.StepSkipped
	case p.count(ops.StepTimedOut) > 0:
		return ops.StepTimedOut
	case p.count(ops.StepFailed) > 0:
		return ops.StepFailed
	}
	return ops.StepDone
}

// summary counts the problems, or is empty. Run.mu is held.
func (p *phase) summary() string {
	var parts []string
	for _, s := range []struct {
		state ops.StepState
		words string
	}{{ops.StepTimedOut, "did not end in time"}, {ops.StepFailed, "failed"}, {ops.StepSkipped, "skipped"}} {
		if n := p.count(s.state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d %s", n, len(p.items), s.words))
		}
	}
	return strings.Join(parts, ", ")
}

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
	return why + "the gateway was busy, or the machine did not run it"
}

// tolerance is how far beyond its budget a phase may end without an explanation in the report: saving the report, and a
// busy machine's scheduling.
const tolerance = 50 * time.Millisecond

// deadline is p's current deadline.
func (r *Run) deadline(p *phase) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return p.deadline
}

// running is the phase that runs and still waits for something, or nil. r.mu is held.
func (r *Run) running() *phase {
	if p := r.latest(); p != nil && p.state == ops.StepRunning && !p.finished && !p.cut {
		return p
	}
	return nil
}

// latest is the phase that runs or ran last, or nil. r.mu is held.
func (r *Run) latest() *phase {
	if r.current < 0 {
		return nil
	}
	return r.phases[r.current]
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
	if p := r.latest(); p != nil && p.state == ops.StepRunning && !p.cut {
		now = p.deadline
	}
	return now.Add(r.rest())
}
