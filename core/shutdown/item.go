package shutdown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"time"

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

// row is it for the report. Run.mu is held.
func (it *item) row(p *phase, now time.Time) ops.Item {
	row := ops.Item{
		Kind: it.Kind, ID: it.ID, State: it.state, ElapsedMS: ops.Millis(cmp.Or(it.ended, now).Sub(it.began)), BudgetMS: ops.Millis(it.budget),
		Detail: it.detail, LastProgressAt: ops.At(it.progressAt),
	}
	if it.state == ops.StepRunning {
		row.Next, row.NextInMS = p.rules().Then, ops.Millis(it.deadline.Sub(now))
	}
	return row
}

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
		Type: ops.EventShutdownItem, Phase: p.row(now), Item: it.row(p, now), stack: stack,
	})
	if len(p.items) > manyItems {
		r.saves.soon()
	} else {
		r.saves.ask()
	}
}
