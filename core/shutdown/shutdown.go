// Package shutdown ends a program within a bound that is known before it starts, even if parts of the program hang.
//
// A stop is a value, Plan: phases in order, each with a budget and a function that lists its items when it begins. Start
// runs it once. The Run shows it (Report) and controls it (Escalate, Skip, Extend, ForceItem).
// The package promises:
//
//   - A phase costs at most its budget and the plan at most their sum, plus an operator's extensions. An item that does not
//     return is abandoned: the report names it, its goroutine is left running, and a late result is ignored.
//   - The plan fits the service manager's limit (Fit), and extensions stay within it.
//   - A panic, a failure or a hang of an item, of a listing, of the report's file or of the log ends neither the stop nor
//     the phases after it. A watchdog that shares no lock with the executor ends the process if the executor itself is
//     stuck.
//   - Everything that is waited for has a name, an age, a last progress and a deadline, in the report and on disk.
//
// The package does not know the gateway: the caller lists, closes and kills. Standard is the gateway's list of phases
// without those functions.
package shutdown

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"time"

	"gatewaytui/core/ops"
)

// Unbounded is the budget of a phase whose own bound was disabled. The plan's bound still holds: Fit gives such a phase
// what the others leave of the limit.
const Unbounded time.Duration = -1

// Plan is a stop before it runs: phases in the order in which they run. This package never changes it.
type Plan struct {
	Phases []Phase
}

// Phase is one step of a stop. Its items run concurrently, so that it costs the slowest of them and not their sum.
type Phase struct {
	// Name is the phase's name in the report, the log and the actions; it occurs once in a plan.
	Name string
	// Budget is the longest duration of the phase, listing included. 0 means no time (A4): the items get a context that
	// has ended and are abandoned unless they return at once, which is within Instant, taken from what earlier phases
	// left. Below 0 is Unbounded.
	Budget time.Duration
	// Leeway is how long a phase with budget 0 may take, if the phases before left that much; 0: Instant. It is for items
	// that wait for nothing and always return, but may be scheduled late on a busy machine. Their context is live, and
	// the plan's sum does not grow.
	Leeway time.Duration
	// Bound is what sets the budget: a config key, or "fixed: " and the reason.
	Bound string
	// Then is one word for what happens to an item that overstays; empty: "abandoned".
	Then string
	// Critical means that a failed item or listing changes the exit code to ExitCritical. An item that overstayed does
	// not: it makes the stop incomplete. In other phases the exit code never changes (A15).
	Critical bool
	// Tolerated, if not nil, reports whether an item's error does not change the exit code of a Critical phase.
	Tolerated func(error) bool
	// Vital phases are never skipped by an action or a mode, and keep time when a plan is fitted.
	Vital bool
	// Elastic phases lose their time first when the service manager allows less than the plan needs.
	Elastic bool
	// CutBy is the weakest mode in which the phase does not run; a stop that escalates to it ends the running phase at
	// once. Empty runs in every mode, as do Vital phases.
	CutBy ops.Mode
	// When is called when the phase's turn comes. It returns whether the phase runs, and if not, why. Nil always runs.
	When func(r *Run) (ok bool, why string)
	// List returns the phase's current items. It is guarded like an item and bounded by ListBound: it only looks things
	// up and never waits. Nil lists none.
	List func(ctx context.Context, r *Run) []Item
}

// Item is one thing that a phase waits for.
type Item struct {
	Kind, ID string
	// Budget is the item's own, within the phase's; 0: the phase's.
	Budget time.Duration
	// Run does the work. Its context does not derive from anything that the stop has cancelled (A14). The context ends
	// when the budget is used up, when the item is skipped or forced and when the phase is cut short; context.Cause tells
	// which. Its Deadline moves with extensions. Run is called once, on a separate goroutine with the pprof labels
	// "phase" and "item" ("kind:id").
	Run func(ctx context.Context) error
	// Progress, if not nil, returns what the item waits for and when it last made progress (zero: unknown). It is called
	// while the item runs, each time a report is made, and must not block: a Progress that blocks or panics is not called
	// again.
	Progress func() (detail string, at time.Time)
}

// Phase returns the phase called name, for the caller to complete, or nil.
func (p Plan) Phase(name string) *Phase {
	if i := slices.IndexFunc(p.Phases, func(f Phase) bool { return f.Name == name }); i >= 0 {
		return &p.Phases[i]
	}
	return nil
}

// rules is the plan's description of p for every reader.
func (p *Phase) rules() ops.PhaseRules {
	out := ops.PhaseRules{Vital: p.Vital, Then: cmp.Or(p.Then, ops.ThenAbandoned)}
	for _, m := range ops.Modes {
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

// strength orders the modes; 0: not a mode.
func strength(m ops.Mode) int { return slices.Index(ops.Modes, m) + 1 }

// Exit codes that the executor chooses itself.
const (
	// ExitCritical replaces the planned code when an item of a Critical phase failed with an error that is not tolerated.
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

// Event is one transition of a stop, for the log and the gateway's events.
type Event struct {
	// Type is ops.EventShutdownPhase, ops.EventShutdownItem or ops.EventShutdownEnded.
	Type ops.EventType
	// Phase is the phase's row without its items, and for ops.EventShutdownPhase with their counts; empty when the stop has ended.
	Phase ops.Phase
	// Item is the item's row, for ops.EventShutdownItem.
	Item ops.Item
	// Blockers name ("kind:id") what a phase that begins waits for, and what a phase that ends left unfinished: at most
	// maxBlockers, and the last one then says how many more.
	Blockers []string

	saved <-chan struct{} // the save to wait for, at most saveWait, before the event is sent; nil: none
	fault string          // why the report could not be saved, for the log alone
	stack []byte          // of a panic, for the log alone
}
