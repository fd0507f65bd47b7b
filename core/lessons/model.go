package lessons

import (
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
)

// model is a stop that ran, as a plan that can be run again with other budgets.
type model struct {
	report ops.Shutdown
	plan   shutdown.Plan
	items  []shutdown.Expected
	// limit is the service manager's; 0: unknown. full says that the plan was shortened to it, so that a budget that is
	// cut goes to other phases.
	limit time.Duration
	full  bool
}

func modelOf(r ops.Shutdown) model {
	m := model{report: r}
	standard := shutdown.Standard(shutdown.Budgets{})
	for _, p := range r.Phases {
		f := shutdown.Phase{Name: p.Name}
		if known := standard.Phase(p.Name); known != nil {
			f = *known
		}
		f.Budget, f.Vital, f.CutBy = ops.Span(p.BudgetMS), p.Vital, ""
		if len(p.SkippedIn) > 0 {
			f.CutBy = p.SkippedIn[0]
		}
		m.plan.Phases = append(m.plan.Phases, f)
		m.items = append(m.items, expected(p)...)
	}
	if !r.KillAt.IsZero() && !r.StartedAt.IsZero() {
		m.limit = r.KillAt.Sub(r.StartedAt.Time)
		fitted := m.limit - min(shutdown.Slack, m.limit/4)
		m.full = m.plan.WorstCase() >= fitted-time.Duration(len(m.plan.Phases))*time.Millisecond
	}
	return m
}

// expected are the items of a phase that ran, as they would be if it ran again: what was given up hangs.
func expected(p ops.Phase) (out []shutdown.Expected) {
	var longest time.Duration
	for _, it := range p.Items {
		longest = max(longest, ops.Span(it.ElapsedMS))
	}
	listing := max(ops.Span(p.ElapsedMS)-longest, 0) // what the phase took before its items and after them
	for _, it := range p.Items {
		e := shutdown.Expected{Phase: p.Name, Takes: listing + ops.Span(it.ElapsedMS)}
		if it.State == ops.StepTimedOut {
			e.Takes = shutdown.Hangs
		}
		out = append(out, e)
	}
	if len(p.Items) == 0 && p.State != ops.StepSkipped {
		out = append(out, shutdown.Expected{Phase: p.Name, Takes: ops.Span(p.ElapsedMS)})
	}
	return out
}

// most is the longest that the stop could have taken.
func (m model) most() time.Duration { return m.plan.WorstCaseIn(m.report.Began()) }

// took is how long the stop takes by the plan.
func (m model) took() time.Duration {
	return shutdown.Sum(m.plan.Expect(m.limit, m.report.Mode, m.items))
}

// saves is how much shorter the stop is with the changed plan and items, and how long it then takes.
func (m model) saves(changed model) (saved, ends time.Duration) {
	saved = m.took() - changed.took()
	return saved, ops.Span(m.report.ElapsedMS) - saved
}

// with is m with another budget for a phase.
func (m model) with(phase string, budget time.Duration) model {
	m.plan.Phases = slices.Clone(m.plan.Phases)
	if p := m.plan.Phase(phase); p != nil {
		p.Budget = budget
	}
	return m
}

// withGrace is m with another time from TERM to KILL, of which those that ignore TERM used up the whole.
func (m model) withGrace(grace time.Duration) model {
	was := m.grace()
	m = m.with(shutdown.PhaseReap, grace+shutdown.Verify).with(shutdown.PhaseSweep, grace+shutdown.Verify)
	m.items = slices.Clone(m.items)
	first := 0 // of the phase, in m.items
	for _, p := range m.report.Phases {
		all := expected(p)
		kill := killTook(p)
		kills := p.Name == shutdown.PhaseReap || p.Name == shutdown.PhaseSweep || p.Name == shutdown.PhaseAgents
		for i, e := range all {
			if kills && e.Takes >= was && i < len(p.Items) && (ofKill(p.Items[i]) || waited(p.Items[i], kill)) {
				m.items[first+i].Takes = e.Takes - was + grace
			}
		}
		first += len(all)
	}
	return m
}

// ofKill reports whether an item is a kill, or an environment that is closed once the kill is over.
func ofKill(it ops.Item) bool { return it.Kind == "processes" || it.Kind == "environment" }

// killTook is how long the kills of a phase took; 0: it had none.
func killTook(p ops.Phase) (took time.Duration) {
	for _, it := range p.Items {
		if it.Kind == "processes" {
			took = max(took, ops.Span(it.ElapsedMS))
		}
	}
	return took
}

// closing is what an agent takes at most, after the kill that it waited for, to close its environment.
const closing = 50 * time.Millisecond

// waited reports whether an item is an agent that waited for a kill: it ended with the kill, or soon after it. An agent closes its
// environment only when no command uses it any more.
func waited(it ops.Item, kill time.Duration) bool {
	late := ops.Span(it.ElapsedMS) - kill
	return it.Kind == "agent" && kill > 0 && late >= -time.Millisecond && late <= closing
}

// grace is the time from TERM to KILL.
func (m model) grace() time.Duration {
	if p := m.plan.Phase(shutdown.PhaseSweep); p != nil {
		return max(p.Budget-shutdown.Verify, 0)
	}
	return 0
}
