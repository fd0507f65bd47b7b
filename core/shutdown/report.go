package shutdown

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

const (
	// maxBlockers is how many blockers a log line and a hint name.
	maxBlockers = 20
	// probeWait is how long a report waits for the progress of items.
	probeWait = 10 * time.Millisecond
)

// Report is the stop as it is now; the caller owns it. It asks running items for their progress. For items that do not
// answer within 10 ms it shows their previous progress.
func (r *Run) Report() ops.Shutdown {
	if asked := r.probe(); asked != nil {
		waitUntil(asked, time.Now().Add(probeWait))
	}
	return r.report()
}

// report is Report without asking the items.
func (r *Run) report() ops.Shutdown {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	out := ops.Shutdown{
		ID: r.o.ID, Life: r.o.Life, Mode: r.mode, Escalations: slices.Clone(r.escalated), Reason: r.o.Reason, By: r.o.By, Restart: r.o.Restart,
		StartedAt: ops.At(r.began), DeadlineAt: ops.At(r.dog.at.Add(r.dog.bound)),
		Phases:     make([]ops.Phase, 0, len(r.phases)),
		NotAwaited: slices.Clone(r.notAwaited),
		Outcome:    r.outcome(), ExitCode: r.exit(),
	}
	if r.o.Limit > 0 {
		out.KillAt = ops.At(r.began.Add(r.o.Limit))
	}
	if !r.ended.IsZero() {
		now = r.ended
		out.EndedAt = ops.At(r.ended)
	}
	out.ElapsedMS = ops.Millis(now.Sub(r.began))
	for _, p := range r.phases {
		row := p.row(now)
		row.Items = make([]ops.Item, 0, len(p.items))
		for _, it := range p.items {
			row.Items = append(row.Items, it.row(p, now))
		}
		out.Phases = append(out.Phases, row)
	}
	return out
}

// Outlook is the outcome if the rest succeeds, for the last phase to announce.
func (r *Run) Outlook() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.soFar()
}

// outcome is running until the end, and then final. r.mu is held.
func (r *Run) outcome() string {
	if r.ended.IsZero() {
		return ops.ShutdownRunning
	}
	return r.soFar()
}

// soFar is forced where the stop became immediate: agents and adapters were not closed, so it is not clean (A11).
func (r *Run) soFar() string {
	switch {
	case r.mode == ops.ModeImmediate:
		return ops.ShutdownForced
	case r.incomplete:
		return ops.ShutdownIncomplete
	}
	return ops.ShutdownClean
}

// exit is the exit code if the stop ended now.
func (r *Run) exit() int {
	switch {
	case r.exitSet:
		return r.exitCode
	case r.critical:
		return ExitCritical
	}
	return r.o.ExitCode
}

// row is p for the report, without its items. Run.mu is held.
func (p *phase) row(now time.Time) ops.Phase {
	row := ops.Phase{Name: p.Name, State: p.state, BudgetMS: ops.Millis(p.Budget), Detail: p.detail, StartedAt: ops.At(p.began), PhaseRules: p.rules()}
	if p.state != ops.StepPending {
		row.ElapsedMS = ops.Millis(cmp.Or(p.ended, now).Sub(p.began))
	}
	return row
}

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

// announce says that p begins or has ended. A reader of its begin finds it in the report on disk too, unless the disk is
// slow. r.mu is held.
func (r *Run) announce(p *phase, state ops.StepState) {
	now := time.Now()
	e := Event{At: now, Type: ops.EventShutdownPhase, Phase: p.row(now)}
	e.Phase.ItemsTotal, e.Phase.ItemsDone = len(p.items), p.count(ops.StepDone)
	if state == ops.StepRunning {
		e.Blockers, e.saved = p.blockers(ops.StepRunning), r.saves.ask()
	} else {
		e.Blockers, e.stack = p.blockers(ops.StepTimedOut, ops.StepSkipped), p.stack
	}
	r.news.add(e)
}

// probe asks every running item for its progress, on a goroutine that is abandoned where one blocks. The returned channel
// is closed when all have answered; it is nil if there is no item to ask.
func (r *Run) probe() <-chan struct{} {
	r.mu.Lock()
	var items []*item
	if p := r.running(); p != nil {
		for _, it := range p.items {
			if it.state == ops.StepRunning && it.Progress != nil && !it.asking {
				items = append(items, it)
			}
		}
	}
	r.mu.Unlock()
	if len(items) == 0 {
		return nil
	}
	r.behind.Add(1)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		defer r.behind.Add(-1)
		for _, it := range items {
			r.ask(it)
		}
	}()
	return asked
}

// ask asks one running item for its progress, unless another goroutine does. An item that blocks or panics is never asked
// again.
func (r *Run) ask(it *item) {
	r.mu.Lock()
	busy := it.asking || it.state != ops.StepRunning
	if !busy {
		it.asking = true
	}
	r.mu.Unlock()
	if busy {
		return
	}
	var detail string
	var at time.Time
	guard(func() error {
		d, t := it.Progress()
		detail, at = clean(d), t
		return nil
	}, func(f failure) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if it.asking = f.bad; f.bad {
			detail, at = "progress unknown: "+f.text, it.progressAt
		}
		if it.state == ops.StepRunning {
			it.detail, it.progressAt = detail, at
		}
	})
}
