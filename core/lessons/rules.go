package lessons

import (
	"strconv"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/shutdown"
	"gatewaytui/core/text"
)

// rule looks at the stop m and the newest stops, of which it is the first, for one thing to change.
type rule func(m model, stops []ops.Shutdown) (Advice, bool)

var rules = []rule{
	shorter{
		phase: shutdown.PhaseAdapters, key: "shutdown.adapter_timeout", least: time.Second,
		verb: "was abandoned", cost: "a platform that needs longer is cut off, and a reply under way there waits for the next life",
	}.advise,
	shorter{
		phase: shutdown.PhaseDrain, key: "shutdown.drain_timeout", least: 5 * time.Second,
		verb: "did not end in the drain", cost: "it loses work: every turn that needs longer is interrupted",
	}.advise,
	shorter{
		phase: shutdown.PhaseInterrupt, key: "shutdown.interrupt_grace", least: time.Second,
		verb: "did not end when it was interrupted", cost: "a turn that needs longer to save its last step loses it",
	}.advise,
	shorter{
		phase: shutdown.PhaseAgents, key: "shutdown.agent_timeout", least: time.Second,
		verb: "was not closed in time", cost: "what an agent has not saved by then is lost",
	}.advise,
	shorter{
		phase: shutdown.PhaseNotify, key: "shutdown.notify_timeout", least: 500 * time.Millisecond,
		verb: "was not delivered", cost: "a chat that needs longer does not hear of the stop",
	}.advise,
	shorter{
		phase: shutdown.PhaseBackground, key: "shutdown.background_timeout", least: 500 * time.Millisecond,
		verb: "did not end when it was cancelled", cost: "a task that needs longer is left until the process ends",
	}.advise,
	graceOfKill,
	limitOfKill,
}

// shorter is the rule for a phase that used up its budget because items of it did not end: a shorter budget that every item
// that ended in time keeps twice over.
type shorter struct {
	phase, key string
	least      time.Duration // the shortest budget that is advised
	verb, cost string
}

func (s shorter) advise(m model, stops []ops.Shutdown) (Advice, bool) {
	p, _ := phaseOf(m.report, s.phase)
	late := overdue(p)
	if len(late) == 0 || p.State == ops.StepRunning || m.shared(s.phase) {
		return Advice{}, false
	}
	enough := s.least
	for _, stop := range stops {
		if p, found := phaseOf(stop, s.phase); found {
			enough = max(enough, 2*longestEnded(p))
		}
	}
	budget := round(enough)
	saved, ends := m.saves(m.with(s.phase, budget))
	if saved < worthNaming || budget >= ops.Span(p.BudgetMS) {
		return Advice{}, false
	}
	return Advice{Key: s.key, Value: budget.String(), Saves: saved, Ends: ends, Why: s.seen(late, stops), Cost: s.cost}, true
}

// longestEnded is the longest that an item of p took that ended by itself.
func longestEnded(p ops.Phase) (d time.Duration) {
	for _, it := range p.Items {
		if it.State == ops.StepDone {
			d = max(d, ops.Span(it.ElapsedMS))
		}
	}
	return d
}

// round is d rounded up to what a person would write: half seconds, and whole ones from ten seconds on.
func round(d time.Duration) time.Duration {
	step := time.Second / 2
	if d >= 10*time.Second {
		step = time.Second
	}
	return (d + step - 1) / step * step
}

// seen says what did not end, and in how many of the newest stops: "feishu was abandoned in 4 of the last 5 stops".
func (s shorter) seen(late []ops.Item, stops []ops.Shutdown) string {
	if len(late) > 1 {
		names := make([]string, len(late))
		for i, it := range late {
			names[i] = itemName(it)
		}
		return text.Some(names, mostNamed) + ": each " + s.verb
	}
	had, times := 0, 0
	for _, stop := range stops {
		p, _ := phaseOf(stop, s.phase)
		for _, it := range p.Items {
			if it.Kind == late[0].Kind && it.ID == late[0].ID {
				had++
				if it.State == ops.StepTimedOut || it.State == ops.StepRunning {
					times++
				}
			}
		}
	}
	if had == 1 {
		return itemName(late[0]) + " " + s.verb
	}
	return itemName(late[0]) + " " + s.verb + " in " + strconv.Itoa(times) + " of the last " + strconv.Itoa(had) + " stops"
}

// shared says that the plan was shortened to the service manager's limit and that another phase than the one named ran out of
// time: what the named one saves is given to it.
func (m model) shared(phase string) bool {
	if !m.full {
		return false
	}
	for _, p := range m.report.Phases {
		if p.Name != phase && len(overdue(p)) > 0 {
			return true
		}
	}
	return false
}

// graceOfKill is for processes that ignored TERM: they cost the whole time until KILL.
func graceOfKill(m model, stops []ops.Shutdown) (Advice, bool) {
	const least = 500 * time.Millisecond
	grace := m.grace()
	wanted := max(grace/4, least).Truncate(100 * time.Millisecond)
	if m.report.Mode == ops.ModeImmediate || grace <= wanted || m.full {
		return Advice{}, false
	}
	changed := m.withGrace(wanted)
	saved, ends := m.saves(changed)
	if saved < worthNaming || !ignoredTerm(m.report, grace) {
		return Advice{}, false
	}
	times := 0
	for _, stop := range stops {
		if ignoredTerm(stop, modelOf(stop).grace()) {
			times++
		}
	}
	seen := "a process ignored TERM until it was killed"
	if len(stops) > 1 {
		seen += ", in " + strconv.Itoa(times) + " of the last " + strconv.Itoa(len(stops)) + " stops"
	}
	return Advice{
		Key: "process.kill_grace", Value: wanted.String(), Saves: saved, Ends: ends, Why: seen,
		Cost: "a process that needs longer to end by itself is killed, also outside of a stop",
	}, true
}

// ignoredTerm reports whether a kill of the stop used up its grace, as far as that is certain: a kill that its phase left to
// the sweep, or gave up, has no end in the report.
func ignoredTerm(r ops.Shutdown, grace time.Duration) (ignored bool) {
	const leftToSweep = 200 * time.Millisecond // and a margin: see reap.Trees
	for _, p := range r.Phases {
		for _, it := range p.Items {
			took := ops.Span(it.ElapsedMS)
			switch {
			case it.Kind != "processes":
			case it.State != ops.StepDone, p.Name == shutdown.PhaseAgents && took+leftToSweep >= ops.Span(it.BudgetMS):
				return false
			case grace > 0 && took >= grace:
				ignored = true
			}
		}
	}
	return ignored
}

// limitOfKill is for a stop that was killed although no limit was known: with the limit the plan fits it.
func limitOfKill(m model, _ []ops.Shutdown) (Advice, bool) {
	took := ops.Span(m.report.ElapsedMS).Truncate(time.Second)
	if m.report.Outcome != ops.ShutdownRunning || m.limit > 0 || took < time.Second || took >= m.most() {
		return Advice{}, false
	}
	var waits []string
	for _, it := range m.report.Blockers() {
		waits = append(waits, itemName(it))
	}
	seen := "the gateway was killed while its plan allowed " + tenths(m.most())
	if len(waits) > 0 {
		seen += " and it waited for " + text.Some(waits, mostNamed)
	}
	return Advice{
		Key: "shutdown.supervisor_budget", Value: took.String(), Why: seen + "; with this limit the plan ends before the kill",
		Cost: "the drain is shortened first",
	}, true
}
