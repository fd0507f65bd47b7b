package views

import (
	"cmp"
	"slices"
	"time"

	"gatewaytui/core/ops"
)

// stopKind is what a Screen's Stop is.
type stopKind int

const (
	stopNone stopKind = iota
	stopRuns
	stopEnded
	// stopCut is the report of a life that was killed before its stop was over.
	stopCut
)

// stopAt is a stop at the moment of the frame. Every duration in it counts from the beginning of the stop, on the clock of
// the core's own report: neither a stalled terminal nor a clock that is set shows a wrong age.
type stopAt struct {
	ops.Shutdown
	kind stopKind
	// now is the moment of the frame, read that of which the rows tell: the last answer, where there is no fresh one.
	now, read time.Duration
	// since is what has gone by since the rows were made, which brings deadlines nearer; age is as much of it as running
	// rows are believed to have run on.
	since, age time.Duration
	// kill is when the service manager kills; 0 is unknown, which is never guessed at.
	kill time.Duration
	// turns are the states of the sessions whose turn is stalled or waits for a bound of the gateway.
	turns map[string]ops.SessionState
}

func stopOf(s Screen) stopAt {
	if s.Stop == nil {
		return stopAt{}
	}
	v := stopAt{Shutdown: *s.Stop, kind: stopRuns}
	switch {
	case !v.EndedAt.IsZero(), v.Outcome != ops.ShutdownRunning && v.Outcome != "":
		v.kind = stopEnded
		v.Phases = settled(v.Phases)
	case v.Life != "" && s.Snap.Life != "" && v.Life != s.Snap.Life:
		v.kind = stopCut
	}
	v.turns = map[string]ops.SessionState{}
	for i := range s.Snap.Sessions {
		if r := &s.Snap.Sessions[i]; r.State == ops.SessionStalled || r.State == ops.SessionWaiting {
			v.turns[r.Key] = r.State
		}
	}
	v.read = ops.Span(v.ElapsedMS)
	v.now = v.read
	if v.kind == stopRuns && !s.Link.At.IsZero() {
		if s.Link.State != LinkGone {
			v.since = min(max(s.Now.Sub(s.Link.At), 0), 1000*time.Hour)
			v.now += v.since
		}
		if s.Link.State == LinkLive && !s.Link.Paused {
			v.age, v.read = v.since, v.now
		}
	}
	switch {
	case !v.KillAt.IsZero() && !v.StartedAt.IsZero():
		v.kill = max(v.KillAt.Sub(v.StartedAt.Time), 0)
	case v.kind == stopRuns:
		v.kill = ops.Span(s.Snap.Supervisor.BudgetMS)
	}
	return v
}

// settled returns the phases of a stop that has ended. The end of the last phase is not reported: it closes the socket that
// would report it. So it counts as done.
func settled(phases []ops.Phase) []ops.Phase {
	last := len(phases) - 1
	if last < 0 || phases[last].State != ops.StepRunning {
		return phases
	}
	phases = slices.Clone(phases)
	p := &phases[last]
	p.State, p.Items, p.ItemsDone = ops.StepDone, slices.Clone(p.Items), p.ItemsTotal
	for i := range p.Items {
		if s := &p.Items[i].State; *s == ops.StepRunning || *s == ops.StepPending {
			*s = ops.StepDone
		}
	}
	return phases
}

// current is the phase that runs, and its index; -1 if none does.
func (v stopAt) current() (ops.Phase, int) {
	for i, p := range v.Phases {
		if p.State == ops.StepRunning {
			return p, i
		}
	}
	return ops.Phase{}, -1
}

// reached is the number of the phase that runs, or of the last one that has ended.
func (v stopAt) reached() (n int) {
	for i, p := range v.Phases {
		if p.State != ops.StepPending {
			n = i + 1
		}
		if p.State == ops.StepRunning {
			break
		}
	}
	return n
}

func (v stopAt) elapsed(ms int64, state ops.StepState) time.Duration {
	if state == ops.StepRunning {
		return ops.Span(ms) + v.age
	}
	return ops.Span(ms)
}

// next is when, from now, what it says in Next happens to a running item.
func (v stopAt) next(it ops.Item) time.Duration { return max(ops.Span(it.NextInMS)-v.since, 0) }

func (v stopAt) quiet(it ops.Item) time.Duration {
	own := v.elapsed(it.ElapsedMS, it.State)
	if it.LastProgressAt.IsZero() || v.StartedAt.IsZero() {
		return own
	}
	return max(v.StartedAt.Add(v.read).Sub(it.LastProgressAt.Time), 0)
}

func (v stopAt) rest(p ops.Phase) time.Duration { return v.PhaseLeft(p, v.since) }

// forecast is how a running stop goes on without an action.
type forecast struct {
	// exit is when the process has ended at the latest, never before now.
	exit time.Duration
	// known says that the outer deadline is; spare is what lies between exit and it, below zero if it comes first.
	known bool
	spare time.Duration
	// killed is the index of the phase in which the outer deadline comes; -1 if it does not.
	killed int
}

// forecast says when the stop is over, and in which phase the outer deadline comes.
func (v stopAt) forecast() forecast {
	f := forecast{exit: v.now + v.Left(v.since), known: v.kill > 0, killed: -1}
	if f.known {
		f.spare = v.kill - f.exit
	}
	sum := v.now
	for i, p := range v.Phases {
		rest := v.rest(p)
		if sum += rest; f.spare < 0 && sum > v.kill && rest > 0 {
			f.killed = i
			break
		}
	}
	return f
}

// wait is a running item of phase p as the moment of the frame has it.
func (v stopAt) wait(p ops.Phase, it ops.Item) ops.Wait {
	w := ops.Wait{Phase: p, Item: it, Used: v.elapsed(it.ElapsedMS, it.State), Quiet: v.quiet(it)}
	if it.Kind == "turn" {
		w.Session = v.turns[it.ID]
	}
	return w
}

func (v stopAt) itemBadge(p ops.Phase, it ops.Item) badge {
	switch {
	case it.State == ops.StepRunning:
		return paceBadges.of(v.wait(p, it).Pace())
	case it.State == ops.StepSkipped, it.State == ops.StepTimedOut && p.Then != ops.ThenInterrupted: // it is left behind
		return badgeAbandoned
	}
	return stepBadges.of(it.State)
}

// phaseBadge judges a phase: one that runs is as bad as the worst of its items.
func (v stopAt) phaseBadge(p ops.Phase) badge {
	if p.State != ops.StepRunning {
		return stepBadges.of(p.State)
	}
	worst := ops.PaceNormal
	if most := ops.Span(p.BudgetMS); most > 0 && v.elapsed(p.ElapsedMS, p.State) > most {
		worst = ops.PaceStuck
	}
	for _, it := range p.Items {
		if it.State == ops.StepRunning {
			worst = max(worst, v.wait(p, it).Pace())
		}
	}
	return paceBadges.of(worst)
}

// StopItem is the item of the running phase that the shutdown view shows as selected, "kind:id", and its phase: the one
// that s names, as long as the phase knows it, else the one that has been stuck for longest, else the first that runs.
// Both are empty if nothing is waited for. The levers on an item act on this one.
func StopItem(s Screen) (phase, item string) {
	if v := stopOf(s); v.kind == stopRuns {
		p, _ := v.current()
		phase = p.Name
		if it, ok := v.chosen(p, s.StopItem); ok {
			item = it.Key()
		}
	}
	return phase, item
}

// StopItems are the items of the running phase in the order in which they are drawn, each as "kind:id".
func StopItems(s Screen) (keys []string) {
	if v := stopOf(s); v.kind == stopRuns {
		p, _ := v.current()
		for _, it := range drawn(p) {
			keys = append(keys, it.Key())
		}
	}
	return keys
}

func (v stopAt) chosen(p ops.Phase, key string) (best ops.Item, found bool) {
	bestStuck := false
	for _, it := range p.Items {
		if key != "" && it.Key() == key {
			return it, true
		}
		if it.State != ops.StepRunning {
			continue
		}
		stuck := v.itemBadge(p, it) == badgeStuck
		if !found || stuck && (!bestStuck || v.quiet(it) > v.quiet(best)) {
			best, found, bestStuck = it, true, stuck
		}
	}
	return best, found
}

// drawn are the items of p in the order of the list: those that run, then those that did not end well, then the rest, each
// in the core's order.
func drawn(p ops.Phase) []ops.Item {
	rank := func(it ops.Item) int {
		switch it.State {
		case ops.StepRunning:
			return 0
		case ops.StepPending, ops.StepDone:
			return 2
		}
		return 1
	}
	return slices.SortedStableFunc(slices.Values(p.Items), func(a, b ops.Item) int { return cmp.Compare(rank(a), rank(b)) })
}
