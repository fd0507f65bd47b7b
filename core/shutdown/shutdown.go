// Package shutdown ends a program within a bound that is known before it starts, whatever hangs.
//
// A stop is a value, Plan: phases in order, each with a budget and a function that lists its items when it begins. Start
// runs it once, and the Run shows it (Report) and steers it (Escalate, Skip, Extend, Force, and the last two for one item).
// The package promises:
//
//   - A phase costs at most its budget and the plan at most their sum, plus what an operator extended it by. An item that
//     does not return is abandoned: named in the report, its goroutine left behind, its late result ignored.
//   - The plan fits what the service manager allows (Fit), and extensions stay within it.
//   - A panic, a failure or a hang of an item, of a listing, of the report's file or of the log ends neither the stop nor
//     the phases after it. A watchdog that shares no lock with the executor ends the process if the executor itself is
//     stuck.
//   - Whatever is waited for has a name, an age, a last progress and a deadline, in the report and on disk.
//
// It knows no gateway: what is listed, closed and killed is the caller's. Standard is the gateway's list of phases with
// everything but that.
package shutdown

import (
	"context"
	"time"

	"gatewaytui/core/ops"
)

// Unbounded is the budget of a phase whose own bound was opted out of. The plan's holds all the same: Fit gives such a
// phase what the others leave of the limit.
const Unbounded time.Duration = -1

// Plan is a stop before it runs: phases in the order in which they run. It is not changed by anything in this package.
type Plan struct {
	Phases []Phase
}

// Phase is one step of a stop. Its items run concurrently, so that it costs the slowest of them and not their sum.
type Phase struct {
	// Name is the phase's word in the report, the log and the levers; it occurs once in a plan.
	Name string
	// Budget is what the phase costs at most, listing included. 0 is no time (A4): the items get a
	// context that has ended and are abandoned unless they return at once, which is within Instant, taken from what the
	// phases before left over. Below 0 is Unbounded.
	Budget time.Duration
	// Leeway is what a phase with budget 0 may take, if the phases before left that much over; 0 is Instant. It is for
	// items that wait for nothing and always return, but may be run late on a busy machine: their context is live, and the
	// plan's sum does not grow.
	Leeway time.Duration
	// Bound says what sets the budget: a config key, or "fixed: " and the reason.
	Bound string
	// Then says in one word what becomes of an item that overstays; empty is "abandoned".
	Then string
	// Critical is whether an item that failed, or a listing that did, changes the exit code to ExitCritical. One that
	// overstayed leaves it: what was left behind makes the stop incomplete. Elsewhere the exit code never changes (A15).
	Critical bool
	// Excused, if not nil, reports whether an item's error leaves the exit code of a Critical phase alone.
	Excused func(error) bool
	// Vital phases are never skipped by a lever or a mode, and keep time when a plan is fitted.
	Vital bool
	// Elastic phases give their time first when the service manager allows less than the plan needs.
	Elastic bool
	// CutBy is the weakest mode in which the phase does not run; a stop that escalates to it ends the running phase at
	// once. Empty runs in every mode, and so does whatever is Vital.
	CutBy ops.Mode
	// When, asked when the phase's turn comes, is whether it runs, and if not, why. Nil always runs.
	When func(r *Run) (ok bool, why string)
	// List returns the phase's items as of now. It is guarded like an item and bounded by ListBound: it looks things up and
	// waits for nothing. Nil lists none.
	List func(ctx context.Context, r *Run) []Item
}

// Item is one thing that a phase waits for.
type Item struct {
	Kind, ID string
	// Budget is the item's own, within the phase's; 0 is the phase's.
	Budget time.Duration
	// Run does it. Its context derives from nothing that the stop has cancelled (A14). It ends when the budget is over, when
	// the item is skipped or forced and when the phase is cut short; context.Cause tells which. Its Deadline moves with extensions. Run
	// is called once, on a goroutine of its own that carries the pprof labels "phase" and "item" ("kind:id").
	Run func(ctx context.Context) error
	// Progress, if not nil, says what the item waits on and when it last came further (zero: unknown). It is asked while the
	// item runs, each time a report is made, and must not block: one that does, or panics, is not asked again.
	Progress func() (detail string, at time.Time)
}

// Phase returns the phase called name, for the caller to complete, or nil.
func (p Plan) Phase(name string) *Phase {
	for i := range p.Phases {
		if p.Phases[i].Name == name {
			return &p.Phases[i]
		}
	}
	return nil
}

// rules is what the plan says about p to everyone who reads it.
func (p *Phase) rules() ops.PhaseRules {
	out := ops.PhaseRules{Vital: p.Vital, Then: p.Then}
	if out.Then == "" {
		out.Then = ops.ThenAbandoned
	}
	for _, m := range []ops.Mode{ops.ModeGraceful, ops.ModeFast, ops.ModeImmediate} {
		if !p.runsIn(m) {
			out.SkippedIn = append(out.SkippedIn, m)
		}
	}
	return out
}

// runsIn reports whether p runs in a stop of mode m.
func (p *Phase) runsIn(m ops.Mode) bool {
	return p.Vital || p.CutBy == "" || strength(m) < strength(p.CutBy)
}

// strength orders the modes; 0 is no mode.
func strength(m ops.Mode) int {
	switch m {
	case ops.ModeGraceful:
		return 1
	case ops.ModeFast:
		return 2
	case ops.ModeImmediate:
		return 3
	}
	return 0
}
