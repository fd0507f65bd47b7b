package shutdown

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// The values of context.Cause for an item's context that has ended.
var (
	ErrBudget  = fmt.Errorf("the budget is used up: %w", context.DeadlineExceeded)
	ErrSkipped = errors.New("skipped by an operator")
	ErrForced  = errors.New("forced by an operator")
	ErrCut     = errors.New("cut short by a stronger stop")
)

// item is an Item while it runs. Run.mu guards what changes.
type item struct {
	Item
	state                  ops.StepState
	began, deadline, ended time.Time
	budget                 time.Duration
	detail                 string
	progressAt             time.Time
	forced                 string // by whom; its context has ended then
	asking                 bool   // Progress is running; it stays so for ever where it blocks or panics
	ctx                    context.Context
	cancel                 context.CancelCauseFunc
}

// newItem is it as it begins to run. A phase with neither a budget nor a leeway passes a context that has ended.
func newItem(r *Run, p *phase, it Item, now time.Time) *item {
	out := &item{Item: it, state: ops.StepRunning, began: now, deadline: p.deadline, budget: p.Budget}
	if own := now.Add(it.Budget); it.Budget > 0 && own.Before(p.deadline) {
		out.deadline, out.budget = own, it.Budget
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	out.ctx, out.cancel = &itemContext{Context: ctx, r: r, it: out}, cancel
	if p.Budget == 0 && p.Leeway <= 0 {
		cancel(ErrBudget)
	}
	return out
}

// itemContext is an item's context. Its deadline moves when the phase is extended.
type itemContext struct {
	context.Context
	r  *Run
	it *item
}

func (c *itemContext) Deadline() (time.Time, bool) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	return c.it.deadline, true
}

// extend moves the item's deadline. Run.mu is held.
func (it *item) extend(by time.Duration) {
	it.deadline = it.deadline.Add(by)
	it.budget += by
}

// name is the item's name in actions and labels.
func (it *item) name() string { return it.Kind + ":" + it.ID }

// work runs the item.
func (it *item) work(r *Run, p *phase) {
	pprof.Do(it.ctx, pprof.Labels("phase", p.Name, "item", clean(it.name())), func(ctx context.Context) {
		guard(func() error { return it.Run(ctx) }, func(f failure) { r.finished(p, it, f) })
	})
}

// finished takes an item's result, unless the item was abandoned before.
func (r *Run) finished(p *phase, it *item, f failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind.Add(-1)
	if it.state != ops.StepRunning {
		return
	}
	state := ops.StepDone
	switch {
	case f.bad && f.stack == nil && it.forced != "":
		state, it.detail = ops.StepSkipped, it.forced+": "+f.text
	case f.bad && f.stack == nil && it.ctx.Err() != nil: // a running item's context ends only for lack of a budget
		state, it.detail = ops.StepTimedOut, "no time: the budget is 0"
	case f.bad:
		state, it.detail = ops.StepFailed, f.text
	default:
		it.detail = "" // the last progress no longer holds
	}
	if state == ops.StepFailed && p.Critical && !(f.err != nil && p.Tolerated != nil && p.Tolerated(f.err)) {
		r.critical = true
	}
	r.over(p, it, state, nil, f.stack)
}

// abandon abandons an item whose time is over. r.mu is held.
func (r *Run) abandon(p *phase, it *item) {
	most := it.budget
	if most == 0 {
		most = p.Leeway
	}
	why := "did not return within " + text.Exact(most)
	switch {
	case it.forced != "":
		why = "did not return after it was " + it.forced
	case it.budget == 0 && p.Leeway <= 0:
		why = "no time: the budget is 0"
	}
	if it.detail != "" {
		why += "; last: " + it.detail
	}
	it.detail = why
	r.over(p, it, ops.StepTimedOut, ErrBudget, nil)
}

// over ends an item. r.mu is held; cancelling calls no foreign code.
func (r *Run) over(p *phase, it *item, state ops.StepState, cause error, stack []byte) {
	now := time.Now()
	it.state, it.ended = state, now
	it.cancel(cause)
	r.incomplete = r.incomplete || state != ops.StepDone
	if p.open--; p.open == 0 {
		nudge(r.wake)
	}
	r.news.add(Event{
		At: now, Type: ops.EventShutdownItem,
		Phase: p.row(now), Item: it.row(p, now), stack: stack,
	})
	if len(p.items) > manyItems {
		r.saves.soon()
	} else {
		r.saves.ask()
	}
}

// failure is how a call into foreign code failed; the zero value is success.
type failure struct {
	bad   bool
	err   error  // what was returned; nil for a panic
	text  string // fit for a report
	stack []byte // of a panic
}

// guard calls f and passes its outcome to over, also when f panics or ends its goroutine.
func guard(f func() error, over func(failure)) {
	fail := failure{bad: true, text: "ended its goroutine instead of returning"}
	defer func() {
		if v := recover(); v != nil {
			fail = failure{bad: true, text: clean(fmt.Sprint("panic: ", v)), stack: debug.Stack()}
		}
		over(fail)
	}()
	err := f()
	if err == nil {
		fail = failure{}
		return
	}
	// With fmt, because the Error of a foreign type may panic, for instance on a nil receiver.
	fail = failure{bad: true, err: err, text: clean(fmt.Sprint(err))}
}

// attempt is guard for a call that returns nothing.
func attempt(f func()) (out failure) {
	guard(func() error { f(); return nil }, func(f failure) { out = f })
	return out
}

// longestDetail bounds the text of foreign code in a report, in bytes.
const longestDetail = 300

// clean makes text of foreign code fit for a report and a log: one line, bounded, valid UTF-8, no control or format
// characters.
func clean(s string) string {
	cut := len(s) > longestDetail
	if cut {
		n := longestDetail
		for n > longestDetail-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	s = strings.Map(func(c rune) rune {
		switch {
		case c == utf8.RuneError:
			return '?'
		case unicode.IsControl(c), unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp):
			return ' '
		}
		return c
	}, s)
	if cut {
		s += "…"
	}
	return strings.TrimSpace(s)
}
