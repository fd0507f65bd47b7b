package shutdown

import (
	"slices"
	"time"

	"gatewaytui/core/ops"
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
	// reportMost is how long the end of a stop waits, within the plan, until the whole report is on disk, unless its disk hangs: on a busy
	// machine a write takes longer than an eighth of the slack.
	reportMost = time.Second
	// ForceGrace is how long a forced item has to end, within its budget.
	ForceGrace = time.Second
	// MaxExtension is the limit on the sum of extensions where the service manager's limit is unknown.
	MaxExtension = 10 * time.Minute
)

// The phases of a gateway's stop, in order (DESIGN.md, 3).
const (
	PhaseMark       = "mark"
	PhaseNotify     = "notify"
	PhaseDrain      = "drain"
	PhaseInterrupt  = "interrupt"
	PhaseReap       = "reap"
	PhaseAgents     = "agents"
	PhaseAdapters   = "adapters"
	PhaseBackground = "background"
	PhaseRelease    = "release"
	PhaseSweep      = "sweep"
	PhaseStores     = "stores"
	PhaseSurrender  = "surrender"
)

// Budgets is the config of a stop (CONTRACT.md, 3). 0 means no time, except for Adapter.
type Budgets struct {
	Drain, Notify, InterruptGrace time.Duration
	// KillGrace is from TERM to KILL. Phases that kill may take Verify more.
	KillGrace time.Duration
	Agent     time.Duration
	// Adapter bounds the teardown of each adapter; 0 and below opt out (S5) and leave the plan's bound.
	Adapter           time.Duration
	Background, Store time.Duration
}

const (
	// Verify is the time of a phase that kills after the grace, for KILL and for the scan that verifies it.
	Verify = time.Second
	// markBudget fits a disk that takes 500 ms for each fsync: the marker has two, concurrently with one commit of at
	// most two.
	markBudget = 2 * time.Second
	// surrenderBudget is for the removal of two files and a socket, none of them synced.
	surrenderBudget = 500 * time.Millisecond
	// releaseLeeway is for a machine that schedules the gateway late: the phase itself takes microseconds.
	releaseLeeway = time.Second
	// headroom is what is requested from the service manager beyond the drain (S2).
	headroom = 30 * time.Second
)

// Standard is the gateway's plan with the budgets of b, without When and List, which the gateway attaches.
func Standard(b Budgets) Plan {
	adapter := b.Adapter
	if adapter <= 0 {
		adapter = Unbounded
	}
	kill := max(b.KillGrace, 0) + Verify
	const killBound = "process.kill_grace and 1s to verify"
	p := Plan{[]Phase{
		{Name: PhaseMark, Budget: markBudget, Bound: "fixed: a marker and one commit", Vital: true},
		{Name: PhaseNotify, Budget: b.Notify, Bound: "shutdown.notify_timeout"},
		{Name: PhaseDrain, Budget: b.Drain, Bound: "shutdown.drain_timeout", Then: ops.ThenInterrupted, Elastic: true, CutBy: ops.ModeFast},
		{Name: PhaseInterrupt, Budget: b.InterruptGrace, Bound: "shutdown.interrupt_grace"},
		{Name: PhaseReap, Budget: kill, Bound: killBound, Vital: true},
		{Name: PhaseAgents, Budget: b.Agent, Bound: "shutdown.agent_timeout"},
		{Name: PhaseAdapters, Budget: adapter, Bound: "shutdown.adapter_timeout"},
		{Name: PhaseBackground, Budget: b.Background, Bound: "shutdown.background_timeout"},
		{Name: PhaseRelease, Budget: 0, Leeway: releaseLeeway, Bound: "fixed: memory only"},
		{Name: PhaseSweep, Budget: kill, Bound: killBound},
		{Name: PhaseStores, Budget: b.Store, Bound: "shutdown.store_timeout", Vital: true, Critical: true},
		{Name: PhaseSurrender, Budget: surrenderBudget, Bound: "fixed: socket, pid file, lock", Vital: true},
	}}
	for i := range p.Phases {
		f := &p.Phases[i]
		if f.Name != PhaseAdapters {
			f.Budget = max(f.Budget, 0)
		}
		// Immediate runs only what must happen: the record, the kills (S1: the sweep on every path), the stores.
		if !f.Vital && f.CutBy == "" && f.Name != PhaseSweep {
			f.CutBy = ops.ModeImmediate
		}
	}
	return p
}

// TimeoutStopSec is the time to request from the service manager, in whole seconds: the drain and 30 s (S2), or more
// where the plan and the watchdog's slack need it.
func (p Plan) TimeoutStopSec() time.Duration {
	need := max(p.drain()+headroom, p.WorstCase()+slackFor(0))
	return (need + time.Second - 1).Truncate(time.Second)
}

// drain is the time of the phases that wait for work to end.
func (p Plan) drain() time.Duration {
	var d time.Duration
	for _, f := range p.Phases {
		if f.Elastic {
			d += bounded(f.Budget)
		}
	}
	return d
}

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
