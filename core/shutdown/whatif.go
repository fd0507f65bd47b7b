package shutdown

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Load is what a stop would meet. What it does not name ends at once.
type Load struct {
	// Turns go on for as long as the drain lets them, and end when they are interrupted.
	Turns int
	// Processes ignore TERM until they are killed.
	Processes int
	// Hangs are the platforms whose teardown does not return.
	Hangs []string
	// Sync is how long the disk takes for one fsync.
	Sync time.Duration
}

const (
	// markSyncs and storeSyncs are how many fsyncs in a row the phases mark and stores wait for: two of the marker's file,
	// and the last commit with its checkpoint.
	markSyncs, storeSyncs = 2, 4
	// handOver is how long before its end the phase agents leaves its kill to the sweep (package reap).
	handOver = 150 * time.Millisecond
)

// Meets is what the items of a graceful stop by plan p take under a load, and under a service manager that kills after limit
// (0: unknown).
func (p Plan) Meets(limit time.Duration, l Load) (items []Expected) {
	expect := func(phase string, takes time.Duration, format string, args ...any) {
		items = append(items, Expected{Phase: phase, Takes: takes, Why: fmt.Sprintf(format, args...)})
	}
	if l.Sync > 0 {
		expect(PhaseMark, markSyncs*l.Sync, "%d fsyncs of %s", markSyncs, text.Exact(l.Sync))
		expect(PhaseStores, storeSyncs*l.Sync, "%d fsyncs of %s", storeSyncs, text.Exact(l.Sync))
	}
	if l.Turns > 0 {
		expect(PhaseDrain, Hangs, "%s to the end of the drain", runs(l.Turns))
	}
	if l.Processes > 0 {
		why := text.Count(l.Processes, "process") + " killed after the grace"
		grace := p.killGrace() // of the config, which no limit shortens
		fitted, _ := p.Fit(limit)
		if agents := fitted.Phase(PhaseAgents); l.Turns == 0 && agents != nil {
			// The kill runs next to the agents, and the sweep waits for what it has left.
			most := max(agents.Budget-handOver, 0)
			expect(PhaseAgents, min(grace, most), "%s", why)
			grace -= min(grace, most)
			if grace > 0 {
				expect(PhaseSweep, grace, "%s", why)
			}
		} else {
			expect(PhaseReap, grace, "%s", why)
		}
	}
	for _, name := range l.Hangs {
		expect(PhaseAdapters, Hangs, "%s hangs", name)
	}
	return items
}

func runs(turns int) string {
	if turns == 1 {
		return "1 turn runs"
	}
	return strconv.Itoa(turns) + " turns run"
}

// killGrace is the time from TERM to KILL.
func (p Plan) killGrace() time.Duration {
	if f := p.Phase(PhaseSweep); f != nil {
		return max(f.Budget-Verify, 0)
	}
	return 0
}

// RowsUnder is Rows with how long each phase is expected to take under a load, and why.
func (p Plan) RowsUnder(limit time.Duration, l Load) ops.Plan {
	out := p.Rows(limit)
	items := p.Meets(limit, l)
	took := p.Expect(limit, ops.ModeGraceful, items)
	for i := range out.Phases {
		var why []string
		for _, it := range items {
			if it.Phase == out.Phases[i].Name {
				why = append(why, it.Why)
			}
		}
		out.Phases[i].ExpectedMS, out.Phases[i].Expects = ops.Millis(took[i]), strings.Join(why, ", ")
	}
	out.ExpectedMS = ops.Millis(Sum(took))
	return out
}

// Assumptions are the forms of what WhatIf takes, for people.
const Assumptions = "PHASE=DURATION (drain=60s), kill_grace=DURATION, limit=DURATION, turns=N, processes=N, hang=PLATFORM, fsync=DURATION"

// others are the assumptions that are not a phase's budget.
var others = []string{"kill_grace", "limit", "turns", "processes", "hang", "fsync"}

// WhatIf changes a plan, the service manager's limit and a load as each assumption says. An error is an *ops.Error with
// CodeInvalid that names the assumption. p is not changed.
func WhatIf(p Plan, limit time.Duration, l Load, ifs []string) (Plan, time.Duration, Load, error) {
	p.Phases, l.Hangs = slices.Clone(p.Phases), slices.Clone(l.Hangs)
	for _, assumption := range ifs {
		name, value, _ := strings.Cut(assumption, "=")
		var d time.Duration
		n, err := 0, error(nil)
		switch name {
		case "hang":
			if value == "" {
				err = fmt.Errorf("name a platform")
			}
		case "turns", "processes":
			n, err = strconv.Atoi(value)
		default:
			d, err = time.ParseDuration(value)
		}
		f := p.Phase(name)
		switch {
		case f == nil && !slices.Contains(others, name):
			return p, limit, l, ops.UnknownName("assumption", name, append(phaseNames(p), others...))
		case err != nil || d < 0 || n < 0 || d > longest:
			return p, limit, l, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("the assumption %q cannot be used", assumption), Hint: "it is one of " + Assumptions}
		case f != nil:
			f.Budget, f.Bound = d, "--if "+assumption
		}
		switch name {
		case "kill_grace":
			for _, phase := range []string{PhaseReap, PhaseSweep} {
				if f := p.Phase(phase); f != nil {
					f.Budget, f.Bound = d+Verify, "--if "+assumption
				}
			}
		case "limit":
			limit = d
		case "turns":
			l.Turns = n
		case "processes":
			l.Processes = n
		case "hang":
			l.Hangs = append(l.Hangs, value)
		case "fsync":
			l.Sync = d
		}
	}
	return p, limit, l, nil
}

func phaseNames(p Plan) (out []string) {
	for _, f := range p.Phases {
		out = append(out, f.Name)
	}
	return out
}
