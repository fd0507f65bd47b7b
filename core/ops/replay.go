package ops

import (
	"cmp"
	"slices"
	"time"
)

// WhenUnknown is the detail of a phase whose times a report lacks, in what At makes of the report.
const WhenUnknown = "when it ran is unknown"

// At is the report of a stop that is over as it was at the moment t after its begin, for a replay (OP6). What a report does
// not keep stays empty: the words of an item while it ran, and when a budget was extended. A phase without a beginning is
// pending, with the detail WhenUnknown.
func (s Shutdown) At(t time.Duration) Shutdown {
	t = max(t, 0)
	if end := s.Took(); t >= end {
		return s
	}
	out := s
	out.ElapsedMS = Millis(t)
	out.EndedAt, out.Outcome, out.ExitCode, out.LeftBehind = Time{}, ShutdownRunning, 0, nil
	out.Mode = s.Began()
	out.Escalations = slices.DeleteFunc(slices.Clone(s.Escalations), func(e Escalation) bool { return e.At.Sub(s.StartedAt.Time) > t })
	for _, e := range out.Escalations {
		out.Mode = e.Mode
	}
	out.Phases = make([]Phase, len(s.Phases))
	reached := -1 // the last phase that had begun: those before it were over, to the millisecond or not
	for i, p := range s.Phases {
		if p.State != StepPending && !p.StartedAt.IsZero() && p.StartedAt.Sub(s.StartedAt.Time) <= t {
			reached = i
		}
	}
	drained := false
	for i, p := range s.Phases {
		out.Phases[i] = p
		if i >= reached || p.StartedAt.IsZero() || !p.State.Over() {
			out.Phases[i] = p.at(s.StartedAt, t)
		}
		drained = drained || p.Name == "drain" && out.Phases[i].State != StepPending
	}
	if !drained {
		out.NotAwaited = nil
	}
	return out
}

// Took is how long the stop took, as far as its report tells.
func (s Shutdown) Took() time.Duration {
	took := Span(s.ElapsedMS)
	if !s.EndedAt.IsZero() && !s.StartedAt.IsZero() {
		took = max(took, s.EndedAt.Sub(s.StartedAt.Time))
	}
	return took
}

// at is p at the moment t of its stop, which began at start.
func (p Phase) at(start Time, t time.Duration) Phase {
	out := p
	began := p.StartedAt.Sub(start.Time)
	switch {
	case p.State == StepPending:
		return out
	case p.StartedAt.IsZero() || start.IsZero() || t < began:
		out.State, out.StartedAt, out.ElapsedMS, out.Items, out.ItemsTotal, out.ItemsDone = StepPending, Time{}, 0, []Item{}, 0, 0
		if out.Detail = ""; p.StartedAt.IsZero() {
			out.Detail = WhenUnknown
		}
		return out
	}
	if t >= began+Span(p.ElapsedMS) && p.State.Over() {
		return out
	}
	out.State, out.Detail, out.ElapsedMS = StepRunning, "", Millis(t-began)
	out.Items = make([]Item, len(p.Items))
	for i, it := range p.Items {
		out.Items[i] = it.at(p, start, began, t)
	}
	return out
}

// at is it at the moment t of its stop, in the phase p that began at the moment began.
func (it Item) at(p Phase, start Time, began, t time.Duration) Item {
	ran := t - began
	if it.State.Over() && ran >= Span(it.ElapsedMS) {
		return it
	}
	it.State, it.Detail, it.ElapsedMS = StepRunning, "", Millis(ran)
	it.Next, it.NextInMS = p.Then, max(cmp.Or(it.BudgetMS, p.BudgetMS)-it.ElapsedMS, 0)
	if !it.LastProgressAt.IsZero() && it.LastProgressAt.Sub(start.Time) > t {
		it.LastProgressAt = Time{}
	}
	return it
}

// Moments are the moments of a stop at which something began or ended, in order, each once: the steps of a replay.
func (s Shutdown) Moments() []time.Duration {
	all := []time.Duration{0, s.Took()}
	for _, p := range s.Phases {
		if p.StartedAt.IsZero() || s.StartedAt.IsZero() || p.State == StepPending {
			continue
		}
		began := max(p.StartedAt.Sub(s.StartedAt.Time), 0)
		all = append(all, began, began+Span(p.ElapsedMS))
		for _, it := range p.Items {
			all = append(all, began+Span(it.ElapsedMS))
		}
	}
	for i := range all {
		all[i] = min(all[i], s.Took())
	}
	slices.Sort(all)
	return slices.Compact(all)
}
