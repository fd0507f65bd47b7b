package shutdown

import (
	"slices"
	"time"

	"gatewaytui/core/ops"
)

// probeWait is how long a report waits for the progress of items.
const probeWait = 10 * time.Millisecond

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
		LeftBehind: r.leftBehind,
		Outcome:    ops.ShutdownRunning, ExitCode: r.exit(),
	}
	if r.o.Limit > 0 {
		out.KillAt = ops.At(r.began.Add(r.o.Limit))
	}
	if !r.ended.IsZero() {
		now = r.ended
		out.EndedAt, out.Outcome = ops.At(r.ended), r.soFar()
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

// soFar is the outcome if the rest succeeds. It is forced where the stop became immediate: agents and adapters were not
// closed, so it is not clean (A11). r.mu is held.
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
