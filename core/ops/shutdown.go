package ops

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Mode is the strength of a stop, in PostgreSQL's three steps.
type Mode string

// The modes of a stop. Graceful waits for turns, Fast interrupts them at once, Immediate kills the processes, closes
// the stores and leaves.
const (
	ModeGraceful  Mode = "graceful"
	ModeFast      Mode = "fast"
	ModeImmediate Mode = "immediate"
)

// Modes is every mode, the weakest first.
var Modes = []Mode{ModeGraceful, ModeFast, ModeImmediate}

// StepState is the state of a phase or an item of a shutdown.
type StepState string

// The states of a phase or an item (CONTRACT.md, 7).
const (
	StepPending  StepState = "pending"
	StepRunning  StepState = "running"
	StepDone     StepState = "done"
	StepTimedOut StepState = "timed_out"
	StepFailed   StepState = "failed"
	StepSkipped  StepState = "skipped"
)

// Over reports whether a step in this state has ended.
func (s StepState) Over() bool { return s != StepPending && s != StepRunning }

// Plan is a shutdown before it runs.
type Plan struct {
	Phases []PlanPhase `json:"phases"`
	// WorstCaseMS is the most that the stop takes, even if every item hangs.
	WorstCaseMS int64 `json:"worst_case_ms"`
	DrainMS     int64 `json:"drain_ms"`
	// SupervisorBudgetMS is the service manager's limit; 0 is unknown.
	SupervisorBudgetMS int64 `json:"supervisor_budget_ms"`
	// Fits is whether WorstCaseMS lies within the limit; an unknown limit is met.
	Fits bool `json:"fits"`
	// Shrunk names the phases that were shortened to fit, each with what the config asked for.
	Shrunk []ShrunkPhase `json:"shrunk,omitempty"`
	// ExpectedMS is how long the stop takes if nothing hangs but what If assumes, each running turn goes on to the end of the
	// drain, and everything else ends at once.
	ExpectedMS int64 `json:"expected_ms"`
	// If are the assumptions under which all of this holds; empty: things are as they are now.
	If []string `json:"if,omitempty"`
}

// PlanPhase is one phase of a plan.
type PlanPhase struct {
	Name     string `json:"name"`
	BudgetMS int64  `json:"budget_ms"`
	Critical bool   `json:"critical"`
	// Bound is the config key that sets the budget, or the words "fixed" and what fixes it.
	Bound string `json:"bound"`
	// ExpectedMS is how much of the budget is expected to be used, and Expects says by what.
	ExpectedMS int64  `json:"expected_ms"`
	Expects    string `json:"expects,omitempty"`
	PhaseRules
}

// PhaseRules is what the plan says about a phase that no lever and no state changes. It is the only place that says which
// phases can be skipped: the core refuses by it, and every screen draws and offers by it.
type PhaseRules struct {
	// Vital phases are never skipped or forced, by a lever or by a mode.
	Vital bool `json:"vital,omitempty"`
	// SkippedIn lists the modes of a stop in which the phase does not run, weakest first.
	SkippedIn []Mode `json:"skipped_in,omitempty"`
	// Then says in one word what becomes of an item that overstays its budget: "abandoned" or "interrupted".
	Then string `json:"then,omitempty"`
}

// What becomes of an item that overstays its budget (PhaseRules.Then).
const (
	ThenAbandoned   = "abandoned"
	ThenInterrupted = "interrupted"
)

// RunsIn reports whether the phase is part of a stop of mode m.
func (r PhaseRules) RunsIn(m Mode) bool { return r.Vital || !slices.Contains(r.SkippedIn, m) }

// ShrunkPhase is a phase that got less than the config asked for.
type ShrunkPhase struct {
	Name     string `json:"name"`
	WantedMS int64  `json:"wanted_ms"`
	GotMS    int64  `json:"got_ms"`
}

// Outcomes of a shutdown. An incomplete one abandoned something and still ends with its planned exit code.
const (
	ShutdownRunning    = "running"
	ShutdownClean      = "clean"
	ShutdownIncomplete = "incomplete"
	ShutdownForced     = "forced"
)

// The exit codes of the program that a service manager acts on (CONTRACT.md, 1).
const (
	ExitHeld    = 69 // another gateway has this home
	ExitRestart = 75 // a planned restart: another life is to follow
	ExitConfig  = 78 // an invalid config, or a database that no start can use unchanged (HF24)
)

// Shutdown is a shutdown while it runs and after: screen, log, socket and the report on disk all show this value.
type Shutdown struct {
	ID   string `json:"id"`
	Life string `json:"life"`
	// Mode is how strong the stop is now, or was at its end. Escalations say how it began, if it became stronger.
	Mode       Mode   `json:"mode"`
	Reason     string `json:"reason"`
	By         string `json:"by"`
	Restart    bool   `json:"restart,omitempty"`
	StartedAt  Time   `json:"started_at"`
	DeadlineAt Time   `json:"deadline_at"`
	// KillAt is when the service manager would kill the gateway, where that is known.
	KillAt    Time    `json:"kill_at"`
	EndedAt   Time    `json:"ended_at"`
	ElapsedMS int64   `json:"elapsed_ms"`
	Phases    []Phase `json:"phases"`
	// NotAwaited are the turns that the drain leaves out, each with why (the requester's own, stalled).
	NotAwaited []Item `json:"not_awaited,omitempty"`
	// Escalations are the moments at which the stop became stronger, in order; empty if it ran as it was asked for. There are
	// at most two.
	Escalations []Escalation `json:"escalations,omitempty"`
	// LeftBehind is counted when the stores are closed; nil: the stop did not come so far.
	LeftBehind *LeftBehind `json:"left_behind,omitempty"`
	Outcome    string      `json:"outcome"`
	ExitCode   int         `json:"exit_code"`
}

// LeftBehind is what a stop leaves: process trees that still run, turns that were interrupted, and replies that are not sent
// yet. The next life goes on with the turns, and sends the replies.
type LeftBehind struct {
	Processes int `json:"processes"`
	Turns     int `json:"turns"`
	Replies   int `json:"replies"`
}

// Escalation is a running stop that became stronger.
type Escalation struct {
	At Time `json:"at"`
	// From is the mode before, Mode the one from then on.
	From Mode `json:"from"`
	Mode Mode `json:"mode"`
	// By is who requested it.
	By string `json:"by"`
}

// Phase is one phase of a shutdown.
type Phase struct {
	Name      string    `json:"name"`
	State     StepState `json:"state"`
	StartedAt Time      `json:"started_at"`
	ElapsedMS int64     `json:"elapsed_ms"`
	BudgetMS  int64     `json:"budget_ms"`
	Items     []Item    `json:"items"`
	// ItemsTotal and ItemsDone count the items and those of them that ended well. Only the event of a phase has them, which
	// has no Items: see Counts.
	ItemsTotal int `json:"items_total,omitempty"`
	ItemsDone  int `json:"items_done,omitempty"`
	// Detail says why a phase was skipped or cut short.
	Detail string `json:"detail,omitempty"`
	PhaseRules
}

// Item is one thing that a phase waits for.
type Item struct {
	Kind      string    `json:"kind"`
	ID        string    `json:"id"`
	State     StepState `json:"state"`
	ElapsedMS int64     `json:"elapsed_ms"`
	BudgetMS  int64     `json:"budget_ms"`
	// Detail is the item's own word for what it waits on, or how it ended.
	Detail         string `json:"detail"`
	LastProgressAt Time   `json:"last_progress_at"`
	// Next says what happens to a running item without an action, and NextInMS when.
	Next     string `json:"next,omitempty"`
	NextInMS int64  `json:"next_in_ms,omitempty"`
}

// Key names the item as the levers do: "kind:id". It is unique in its phase.
func (it Item) Key() string { return it.Kind + ":" + it.ID }

// Blockers are the items of s that run now, in order.
func (s Shutdown) Blockers() []Item {
	var out []Item
	for _, p := range s.Phases {
		if p.State != StepRunning {
			continue
		}
		for _, it := range p.Items {
			if it.State == StepRunning {
				out = append(out, it)
			}
		}
	}
	return out
}

// Overran are the phases of s that ran out of time or failed, or of which an item did, in order, each with those of its
// items alone that did.
func (s Shutdown) Overran() []Phase {
	bad := func(st StepState) bool { return st == StepTimedOut || st == StepFailed }
	var out []Phase
	for _, p := range s.Phases {
		var items []Item
		for _, it := range p.Items {
			if bad(it.State) {
				items = append(items, it)
			}
		}
		if bad(p.State) || len(items) > 0 {
			p.Items = items
			out = append(out, p)
		}
	}
	return out
}

// Began is the mode in which the stop began.
func (s Shutdown) Began() Mode {
	if len(s.Escalations) > 0 {
		return s.Escalations[0].From
	}
	return s.Mode
}

// ModeText says for people how strong the stop is, and how it became so: "graceful, forced to immediate after 3.2s by uid
// 0". Who forced it stays as untrusted as it was.
func (s Shutdown) ModeText() string {
	text := string(s.Began())
	for _, e := range s.Escalations {
		text += ", forced to " + string(e.Mode)
		if !e.At.IsZero() && !s.StartedAt.IsZero() {
			text += " after " + tenths(e.At.Sub(s.StartedAt.Time))
		}
		if e.By != "" {
			text += " by " + e.By
		}
	}
	return text
}

// tenths is a duration to a tenth of a second, and from a minute on as Clock has it.
func tenths(d time.Duration) string {
	if d >= time.Minute {
		return Clock(d)
	}
	return strconv.FormatFloat(max(d, 0).Seconds(), 'f', 1, 64) + "s"
}

// Counts are how many items the phase has or had, and how many of them ended well.
func (p Phase) Counts() (total, done int) {
	if len(p.Items) == 0 {
		return p.ItemsTotal, p.ItemsDone
	}
	for _, it := range p.Items {
		if it.State == StepDone {
			done++
		}
	}
	return len(p.Items), done
}

// WillRun reports whether p, a phase of s, has still to run. A lever that skips a phase whose turn has not come leaves its
// word in the detail.
func (s Shutdown) WillRun(p Phase) bool {
	return p.State == StepPending && p.Detail == "" && p.RunsIn(s.Mode)
}

// PhaseLeft is what p, a phase of s, may still take when the report is since old. A running phase ends when the last of
// its items is given up.
func (s Shutdown) PhaseLeft(p Phase, since time.Duration) time.Duration {
	switch {
	case s.WillRun(p):
		return Span(p.BudgetMS)
	case p.State != StepRunning:
		return 0
	}
	left := max(Span(p.BudgetMS)-Span(p.ElapsedMS)-since, 0)
	var last time.Duration
	running := false
	for _, it := range p.Items {
		if it.State != StepRunning {
			continue
		}
		if it.Next == "" {
			return left
		}
		running = true
		last = max(last, Span(it.NextInMS)-since)
	}
	if running {
		return min(left, last)
	}
	return left
}

// Left is what the stop may still take when its report is since old, without an operator's action: the rest of the running phase and the
// budgets of those that follow, and never beyond DeadlineAt, at which the watchdog ends the process. It is never below 0.
func (s Shutdown) Left(since time.Duration) time.Duration {
	var left time.Duration
	for _, p := range s.Phases {
		left += s.PhaseLeft(p, since)
	}
	if !s.DeadlineAt.IsZero() && !s.StartedAt.IsZero() {
		now := Span(s.ElapsedMS) + since
		if most := s.DeadlineAt.Sub(s.StartedAt.Time) - now; most >= 0 {
			left = min(left, most)
		}
	}
	return left
}

// Span is a number of milliseconds of a report, which may come from a file or another version: bounded, so that sums of a
// plan do not overflow.
func Span(ms int64) time.Duration {
	const most = int64(10 * 365 * 24 * time.Hour / time.Millisecond)
	return time.Duration(min(max(ms, 0), most)) * time.Millisecond
}

// LastWord is the last moment that the report tells of: its end, or how far it had come when it was written.
func (s Shutdown) LastWord() Time {
	if !s.EndedAt.IsZero() || s.StartedAt.IsZero() {
		return s.EndedAt
	}
	return At(s.StartedAt.Add(time.Duration(s.ElapsedMS) * time.Millisecond))
}

// Running returns the phase that runs now.
func (s Shutdown) Running() (Phase, bool) {
	for _, p := range s.Phases {
		if p.State == StepRunning {
			return p, true
		}
	}
	return Phase{}, false
}

// What a report can say.
var (
	reportOutcomes = []string{ShutdownRunning, ShutdownClean, ShutdownIncomplete, ShutdownForced}
	stepStates     = []StepState{StepPending, StepRunning, StepDone, StepTimedOut, StepFailed, StepSkipped}
)

// Validate checks a report that was read from a file, as that of a life. What no gateway writes is an error that says what is
// wrong.
func (s Shutdown) Validate(life string) error {
	switch {
	case s.Life != life:
		return fmt.Errorf("it is of life %.40q", s.Life)
	case s.ID == "":
		return errors.New("it names no shutdown")
	case !slices.Contains(reportOutcomes, s.Outcome):
		return fmt.Errorf("unknown outcome of a shutdown %.40q", s.Outcome)
	case !slices.Contains(Modes, s.Mode):
		return fmt.Errorf("unknown mode of a shutdown %.40q", string(s.Mode))
	case s.StartedAt.IsZero():
		return errors.New("it began at no time")
	case s.Outcome != ShutdownRunning && s.EndedAt.IsZero():
		return errors.New("it is over and ended at no time")
	case len(s.Phases) == 0:
		return errors.New("it has no phases")
	}
	for _, p := range s.Phases {
		if err := checkStep("phase", p.Name, p.State, p.ElapsedMS, p.BudgetMS); err != nil {
			return err
		}
		for _, it := range p.Items {
			if err := checkStep("item", it.Kind+" "+it.ID, it.State, it.ElapsedMS, it.BudgetMS); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkStep(kind, name string, state StepState, elapsed, budget int64) error {
	switch {
	case name == "":
		return fmt.Errorf("a %s has no name", kind)
	case !slices.Contains(stepStates, state):
		return fmt.Errorf("%s %.40q: unknown state %.40q", kind, name, string(state))
	case elapsed < 0 || budget < 0:
		return fmt.Errorf("%s %.40q took a negative time", kind, name)
	}
	return nil
}
