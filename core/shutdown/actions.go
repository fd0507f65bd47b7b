package shutdown

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Mode is the current strength of the stop. Items that kill read it: in an immediate stop there is no grace.
func (r *Run) Mode() ops.Mode {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mode
}

// Immediate is closed once the stop is immediate, for an item that is in its grace then.
func (r *Run) Immediate() <-chan struct{} { return r.immediate }

// Escalate makes the stop as strong as mode and reports whether it was weaker: a stop that is requested while one runs
// joins it. Phases that a stop of that mode leaves out are skipped, and if the running one is among them it ends at once.
// by is the caller, for the detail and for the report's escalations. Vital phases continue.
func (r *Run) Escalate(mode ops.Mode, by string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if strength(mode) <= strength(r.mode) || !r.ended.IsZero() {
		return false
	}
	r.escalated = append(r.escalated, ops.Escalation{At: ops.At(time.Now()), From: r.mode, Mode: mode, By: clean(by)})
	r.mode = mode
	if mode == ops.ModeImmediate {
		close(r.immediate)
	}
	if p := r.running(); p != nil && !p.runsIn(mode) {
		r.cut(p, fmt.Sprintf("cut short: %s, by %s", mode, clean(by)), ErrCut)
	}
	r.tighten()
	r.saves.ask()
	return true
}

// SetExit makes code the process's exit code, for every end of the plan: 128+n for a stop ended by a further signal n.
func (r *Run) SetExit(code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exitSet, r.exitCode = true, code
	r.saves.ask()
}

// NotAwaited sets the turns that the drain leaves out, each with the reason in its detail (A5, A6), for the report.
func (r *Run) NotAwaited(items []ops.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notAwaited = append([]ops.Item(nil), items...)
	r.saves.ask()
}

// LeavesBehind sets what the stop leaves behind, for the report.
func (r *Run) LeavesBehind(b ops.LeftBehind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leftBehind = &b
	r.saves.ask()
}

// Skip stops waiting for an item of a phase. With item empty it skips the whole phase, which may be one that has not
// begun. phase is a name, or empty for the running one. item is "kind:id", or the id alone where only one item has it.
// The skipped item's context ends, and its detail names by.
//
// Errors are *ops.Error: CodeNotFound where there is no such phase or running item, CodeConflict where it has ended,
// CodeForbidden for vital phases, CodeInvalid for an ambiguous id, CodeNotStopping after the stop.
func (r *Run) Skip(phase, item, by string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := r.target(phase, "skipped")
	if err != nil {
		return err
	}
	it, err := r.item(p, item)
	if err != nil {
		return err
	}
	why := "skipped by " + clean(by)
	if it != nil {
		it.detail = why
		r.over(p, it, ops.StepSkipped, ErrSkipped, nil)
		return nil
	}
	r.cut(p, why, ErrSkipped)
	r.tighten()
	r.saves.ask()
	return nil
}

// Extend gives a phase and its running items more time: by, or what the service manager's limit leaves of that. If the
// limit is unknown, it is what is left of MaxExtension. With an item it extends that one alone: its phase gets only what
// the item then needs, and the phase's other items keep their deadlines. Names are those of Skip.
//
// Errors are those of Skip, CodeInvalid for a duration that is not positive, and CodeConflict where there is no room.
// Vital phases can be extended.
func (r *Run) Extend(phase, item string, by time.Duration) (got time.Duration, err error) {
	if by <= 0 {
		return 0, refusal(ops.CodeInvalid, fmt.Sprintf("cannot extend by %s", text.Exact(by)), "give a positive duration, such as 30s")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := r.target(phase, "")
	if err != nil {
		return 0, err
	}
	only, err := r.item(p, item)
	if err != nil {
		return 0, err
	}
	horizon := r.horizon(time.Now())
	room := MaxExtension - r.extended
	hint := fmt.Sprintf("the total of all extensions is limited to %s", text.Exact(MaxExtension))
	if r.o.Limit > 0 {
		room = r.began.Add(r.o.Limit - r.slack).Sub(horizon)
		hint = fmt.Sprintf("the service manager kills %s after the stop began", text.Exact(r.o.Limit))
	}
	if only != nil {
		room += p.deadline.Sub(only.deadline)
	}
	got = min(by, room).Truncate(time.Millisecond)
	if got <= 0 {
		return 0, refusal(ops.CodeConflict, "no room to extend phase "+p.Name, hint)
	}
	grow := got // of the phase
	switch {
	case only != nil:
		only.extend(got)
		grow = max(only.deadline.Sub(p.deadline), 0)
	case p.state == ops.StepRunning:
		for _, it := range p.items {
			if it.state == ops.StepRunning {
				it.extend(got)
			}
		}
	}
	p.Budget += grow
	r.extended += grow
	if p.state == ops.StepRunning {
		p.deadline = p.deadline.Add(grow)
	}
	if end := horizon.Add(grow); end.After(r.end) {
		r.move(end)
	}
	nudge(r.wake)
	r.saves.ask()
	return got, nil
}

// ForceItem ends an item of the running phase by its strongest means; with item empty, all that run. The item's context
// ends with ErrForced, and it is waited for at most ForceGrace more, within its budget. An item that kills then skips its
// grace, and an item that waits stops waiting. Names and errors are those of Skip; a phase that has not begun is
// CodeConflict.
func (r *Run) ForceItem(phase, item, by string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, err := r.target(phase, "forced")
	if err != nil {
		return err
	}
	if p.state != ops.StepRunning {
		return refusal(ops.CodeConflict, "phase "+p.Name+" has not begun", "skip it, or force it once it runs; "+r.whatRuns())
	}
	its := p.items
	if it, err := r.item(p, item); err != nil {
		return err
	} else if it != nil {
		its = append(its[:0:0], it)
	}
	why := "forced by " + clean(by)
	last := time.Now().Add(ForceGrace)
	for _, it := range its {
		if it.state != ops.StepRunning || it.forced != "" {
			continue
		}
		it.forced = why
		if last.Before(it.deadline) {
			it.deadline = last
		}
		it.cancel(ErrForced)
	}
	nudge(r.wake)
	r.saves.ask()
	return nil
}

func refusal(code ops.Code, message, hint string) error {
	return &ops.Error{Code: code, Message: message, Hint: hint}
}

// target finds the phase that an action is meant for: one that has not ended and will run. It refuses a vital phase where
// spared says what that cannot be. r.mu is held.
func (r *Run) target(name, spared string) (*phase, error) {
	if !r.ended.IsZero() {
		return nil, refusal(ops.CodeNotStopping, "the shutdown has ended", "")
	}
	p := r.running()
	if name != "" {
		i := slices.IndexFunc(r.phases, func(p *phase) bool { return p.Name == name })
		if i < 0 {
			return nil, refusal(ops.CodeNotFound, fmt.Sprintf("no phase is called %q", clean(name)), r.whatRuns())
		}
		running := p
		p = r.phases[i]
		why := ""
		switch {
		case p == running:
		case p.state != ops.StepPending:
			why = "phase " + name + " is over"
		case p.cut:
			why = "phase " + name + " will be skipped already: " + p.detail
		case !p.runsIn(r.mode):
			why = fmt.Sprintf("phase %s is not part of a stop of mode %s", name, r.mode)
		}
		if why != "" {
			return nil, refusal(ops.CodeConflict, why, r.whatRuns())
		}
	}
	switch {
	case p == nil:
		return nil, refusal(ops.CodeConflict, "no phase is running at this moment", "try again, or name the phase")
	case p.Vital && spared != "":
		return nil, refusal(ops.CodeForbidden, fmt.Sprintf("phase %s cannot be %s: it is required for a safe exit", p.Name, spared),
			"it takes at most "+text.Exact(p.Budget))
	}
	return p, nil
}

// item finds a running item of p; nil for an empty name. r.mu is held.
func (r *Run) item(p *phase, name string) (*item, error) {
	if name == "" {
		return nil, nil
	}
	var found, over []*item
	for _, it := range p.items {
		switch {
		case it.name() != name && it.ID != name:
		case it.state != ops.StepRunning:
			over = append(over, it)
		case it.name() == name:
			return it, nil
		default:
			found = append(found, it)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, refusal(ops.CodeInvalid, fmt.Sprintf("%d items of phase %s are called %q", len(found), p.Name, clean(name)),
			"add the kind, as in "+clean(found[0].name()))
	case len(over) > 0:
		return nil, refusal(ops.CodeConflict, fmt.Sprintf("%s has ended: %s", clean(name), over[0].state), r.whatRuns())
	}
	return nil, refusal(ops.CodeNotFound, fmt.Sprintf("phase %s is not waiting for an item %q", p.Name, clean(name)), r.whatRuns())
}

// whatRuns names the running phase and its blockers. r.mu is held.
func (r *Run) whatRuns() string {
	p := r.running()
	if p == nil {
		return "no phase is running at this moment"
	}
	if b := p.blockers(ops.StepRunning); len(b) > 0 {
		return "running: " + p.Name + " (" + strings.Join(b, ", ") + ")"
	}
	return "running: " + p.Name
}

// cut ends p now, if it runs, or else prevents it from running. r.mu is held.
func (r *Run) cut(p *phase, why string, cause error) {
	p.cut, p.detail = true, why
	for _, it := range p.items {
		if it.state == ops.StepRunning {
			it.detail = why
			r.over(p, it, ops.StepSkipped, cause, nil)
		}
	}
	nudge(r.wake)
}

// tighten moves the plan's end forward after phases were dropped. Instant stays for phases without a budget. r.mu is
// held.
func (r *Run) tighten() {
	if end := r.horizon(time.Now()).Add(Instant); end.Before(r.end) {
		r.move(end)
	}
}

// move sets the plan's end, and the watchdog's time with it. r.mu is held.
func (r *Run) move(end time.Time) {
	r.end = end
	r.dog.move(end.Add(r.slack / 2))
}
