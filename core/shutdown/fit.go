package shutdown

import (
	"slices"
	"time"

	"gatewaytui/core/ops"
)

const (
	// Slack is how long the watchdog waits for the executor beyond the plan's worst case, the goroutine dump included. If
	// the service manager allows less than four times as much, it is a quarter of that limit.
	Slack = time.Second
	// unboundedShare is the minimum for an Unbounded phase: the default of the one bound that can be disabled.
	unboundedShare = 5 * time.Second
	// vitalShare is the part of its budget that a vital phase keeps before any other phase keeps anything: with default
	// settings a stop fits 2 s, and one of 3 s has time for every phase.
	vitalShare = 5
	// longest keeps sums of budgets from overflowing.
	longest = 365 * 24 * time.Hour
)

// slackFor is the watchdog's slack under a service manager that allows limit; 0: unknown.
func slackFor(limit time.Duration) time.Duration {
	if limit <= 0 {
		return Slack
	}
	return min(Slack, limit/4)
}

// bounded is d within the range that can be added up; Unbounded counts as 0.
func bounded(d time.Duration) time.Duration { return min(max(d, 0), longest) }

// WorstCase is the longest duration of the plan in the mode graceful, even if everything hangs, without extensions.
func (p Plan) WorstCase() time.Duration {
	return p.WorstCaseIn(ops.ModeGraceful)
}

// WorstCaseIn is WorstCase of a stop in mode m, without the phases that do not run in that mode.
func (p Plan) WorstCaseIn(m ops.Mode) time.Duration { return p.resolve(0).sum(m) }

// sum adds up the phases that run in mode m; p is resolved.
func (p Plan) sum(m ops.Mode) time.Duration {
	var s time.Duration
	for i := range p.Phases {
		if p.Phases[i].runsIn(m) {
			s += p.Phases[i].Budget
		}
	}
	return s
}

// resolve is a copy of p with finite budgets. An Unbounded phase gets what the others leave of the limit or, where that
// is unknown, of the time that the service manager would be asked for.
func (p Plan) resolve(limit time.Duration) Plan {
	out := Plan{slices.Clone(p.Phases)}
	total := limit - slackFor(limit)
	if limit <= 0 {
		total = p.drain() + headroom - Slack
	}
	open := 0
	for i := range out.Phases {
		if out.Phases[i].Budget < 0 {
			open++
		}
		out.Phases[i].Budget = bounded(out.Phases[i].Budget)
		total -= out.Phases[i].Budget
	}
	for i := range p.Phases {
		if p.Phases[i].Budget < 0 {
			out.Phases[i].Budget = max(total/time.Duration(open), unboundedShare)
		}
	}
	return out
}

// Fit is p as it runs under a service manager that kills after limit (0: unknown), and the phases that were shortened for
// it (A3). In the result every budget is finite, and its worst case and the watchdog's slack lie within the limit. The
// drain shrinks first, then everything else in proportion. Vital phases keep a fifth of theirs before the others keep
// any, the small ones first; they never vanish.
func (p Plan) Fit(limit time.Duration) (Plan, []ops.ShrunkPhase) {
	out := p.resolve(limit)
	if limit <= 0 {
		return out, nil
	}
	wanted := slices.Clone(out.Phases)
	room := limit - slackFor(limit)
	over := out.sum(ops.ModeGraceful) - room
	if over <= 0 {
		return out, nil
	}
	for i := range out.Phases {
		if f := &out.Phases[i]; f.Elastic && !f.Vital {
			cut := min(max(over, 0), f.Budget)
			f.Budget -= cut
			over -= cut
		}
	}
	if over > 0 {
		out.shrink(room)
	}
	var shrunk []ops.ShrunkPhase
	for i, f := range out.Phases {
		if f.Budget < wanted[i].Budget {
			shrunk = append(shrunk, ops.ShrunkPhase{Name: f.Name, WantedMS: ops.Millis(wanted[i].Budget), GotMS: ops.Millis(f.Budget)})
		}
	}
	return out, shrunk
}

// shrink reduces the budgets, which need more than room, to room.
func (p Plan) shrink(room time.Duration) {
	kept := make([]time.Duration, len(p.Phases))
	var keep, give time.Duration
	for i, f := range p.Phases {
		if f.Vital {
			kept[i] = f.Budget / vitalShare
		}
		keep += kept[i]
		give += f.Budget - kept[i]
	}
	level := fair(kept, room)
	for i := range p.Phases {
		f := &p.Phases[i]
		d := min(kept[i], level)
		if room > keep {
			d += time.Duration(float64(f.Budget-kept[i]) * (float64(room-keep) / float64(give)))
		}
		// Whole milliseconds, so that the figures that people see add up.
		if ms := d.Truncate(time.Millisecond); ms > 0 || !f.Vital {
			d = ms
		}
		f.Budget = d
	}
}

// fair is the level at which to cut the wants so that they add up to at most room. A large one, such as a minute for the
// stores, takes nothing from the marker's tenth of a second.
func fair(wants []time.Duration, room time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(wants))
	for i, w := range sorted {
		n := time.Duration(len(sorted) - i)
		if w > room/n {
			return room / n
		}
		room -= w
	}
	return longest
}

// Rows is the plan as it would run under a service manager that kills after limit (0: unknown).
func (p Plan) Rows(limit time.Duration) ops.Plan {
	fitted, shrunk := p.Fit(limit)
	worst := fitted.sum(ops.ModeGraceful)
	out := ops.Plan{
		Phases:             make([]ops.PlanPhase, 0, len(fitted.Phases)),
		WorstCaseMS:        ops.Millis(worst),
		DrainMS:            ops.Millis(fitted.drain()),
		SupervisorBudgetMS: ops.Millis(limit),
		Fits:               limit <= 0 || worst <= limit,
		Shrunk:             shrunk,
	}
	for _, f := range fitted.Phases {
		out.Phases = append(out.Phases, ops.PlanPhase{Name: f.Name, BudgetMS: ops.Millis(f.Budget), Critical: f.Critical, Bound: f.Bound, PhaseRules: f.rules()})
	}
	return out
}
