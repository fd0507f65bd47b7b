package views

import (
	"fmt"
	"time"

	"gatewaytui/core/ops"
)

// report is a stop that is over: how it ended, what overran, and every phase.
func (d *stopDraw) report(w, h int) []string {
	if d.small() {
		return d.shortReport(w)
	}
	title := "last stop"
	if d.s.Life != nil {
		title = "stop of life " + shown(d.s.Life.Life)
	}
	lines := []string{d.rule(title, w)}
	lines = append(lines, d.facts(d.reportFacts(), 12, w)...)
	bad := d.badItems(w)
	lines = append(lines, d.phaseTable(d.fold(h-len(lines)-len(bad)), w)...)
	lines = append(lines, bad...)
	if left := h - len(lines); left >= 4 {
		lines = append(lines, d.timeline(w, left)...)
	}
	return lines
}

// shortReport is the report on a screen that has no room for a table.
func (d *stopDraw) shortReport(w int) []string {
	outcome := or(term40(d.Outcome), unknown)
	exit := fmt.Sprintf("exit code %d", d.ExitCode)
	if d.kind == stopCut {
		outcome, exit = "CUT SHORT", "exit not seen"
	}
	whose := "last stop "
	if d.s.Life != nil {
		whose = "stop "
	}
	lines := []string{whose + outcome, "took " + clock(d.now) + ", " + exit}
	if over := d.overran(); over != "" {
		lines = append(lines, wrap("overran: "+over, w)...)
	}
	for i, line := range lines {
		lines[i] = d.cut(line, w)
	}
	return lines
}

func (d *stopDraw) reportFacts() []Fact {
	var outcome string
	role := or(shown(d.Outcome), unknown)
	switch {
	case d.kind == stopCut:
		outcome = "CUT SHORT: the gateway was killed before its stop was over"
		if _, i := d.current(); i >= 0 {
			outcome += fmt.Sprintf(", in phase %d %s", i+1, d.phaseName(d.phase))
		}
	case d.Outcome == ops.ShutdownClean:
		outcome = "clean: everything ended in time"
	case d.Outcome == ops.ShutdownForced:
		outcome = "forced: what was not necessary was skipped, the stores were closed"
	case d.Outcome == ops.ShutdownIncomplete:
		outcome = "incomplete: something was given up, see below"
	default:
		outcome = role
	}
	exit := "not seen"
	if d.kind == stopEnded {
		exit = fmt.Sprint(d.ExitCode)
		if d.Restart {
			exit += " (restart)"
		}
	}
	took := clock(d.now)
	switch {
	case d.kill > 0 && d.now > d.kill:
		took += " of " + clock(d.kill) + " allowed: " + whole(d.now-d.kill) + " too late"
	case d.kill > 0 && d.kind == stopEnded:
		took += " of " + clock(d.kill) + " allowed, " + whole(d.kill-d.now) + " to spare"
	case d.kill > 0:
		took += " of " + clock(d.kill) + " allowed, at the last report"
	default:
		took += ", outer deadline unknown"
	}
	if !d.StartedAt.IsZero() {
		took += ", began " + d.StartedAt.In(d.s.Now.Location()).Format(time.DateTime)
	}
	var facts []Fact
	if d.s.Life != nil {
		facts = append(facts, Fact{"life", lifeSpan(d.s, d.s.Life)})
	}
	facts = append(facts, Fact{"outcome", outcome}, Fact{"exit code", exit}, Fact{"took", took})
	if over := d.overran(); over != "" {
		facts = append(facts, Fact{"overran", over})
	}
	cause, ok := askedBy(shown(d.Reason), shown(d.By))
	if !ok {
		cause = or(shown(d.Reason), unknown) + by(shown(d.By))
	}
	if d.Mode != "" {
		cause += ", " + shown(d.ModeText())
	}
	facts = append(facts, Fact{"cause", cause})
	if list := d.notAwaited(); list != "" {
		facts = append(facts, Fact{"not awaited", list})
	}
	return facts
}

// overran names the phases that did not end well, and who was to blame.
func (d *stopDraw) overran() string {
	var list []string
	for _, p := range d.Overran() {
		text := d.phaseName(p)
		if who := d.named(p.Items, func(ops.Item) bool { return true }); len(who) > 0 {
			text += " (" + names(who, 3) + ")"
		}
		list = append(list, text)
	}
	return names(list, 6)
}

// badItems are the items that did not end well, with why.
func (d *stopDraw) badItems(w int) []string {
	var lines []string
	phases := d.Phases
	if d.at > 0 { // what the kill came upon first
		phases = append([]ops.Phase{d.phase}, append(d.Phases[:d.at:d.at], d.Phases[d.at+1:]...)...)
	}
	for _, p := range phases {
		for _, it := range p.Items {
			if it.State == ops.StepDone || it.State == ops.StepPending {
				continue
			}
			m := d.itemBadge(p, it)
			lines = append(lines, "   "+d.paint(m.role, d.glyph(m.glyph))+" "+d.cell(Plain, d.phaseName(p), nameCol)+" "+
				d.cell(Plain, shown(it.ID), max(w/5, 8))+" "+d.cell(m.role, m.word, 10)+d.cut(d.end(p, it), w-27-max(w/5, 8)))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	const most = 12
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], d.more(n))
	}
	return append([]string{d.rule("problems", w)}, lines...)
}

func (d *stopDraw) end(p ops.Phase, it ops.Item) string {
	if it.State == ops.StepRunning {
		return "still ran: " + or(shown(it.Detail), "no word from it")
	}
	return d.reason(p, it)
}

// planLines is the stop as it would run now, for a home on which none is known.
func planLines(s *Screen, w, h int) []string {
	p := s.Plan
	if s.Snap.State == ops.StateStopping {
		return []string{s.rule("shutdown", w), "   The gateway stops; what it waits for has not been read yet."}
	}
	if len(p.Phases) == 0 {
		return []string{s.rule("no stop yet", w), "   No stop is known on this home, and the plan of one has not been read yet."}
	}
	worst, limit := millis(p.WorstCaseMS), millis(p.SupervisorBudgetMS)
	facts := []Fact{{"no stop yet", "This is what a stop would do now."}, {"worst case", budget(worst) + ", of which up to " + budget(millis(p.DrainMS)) + " for running turns"}}
	switch {
	case limit <= 0:
		facts = append(facts, Fact{"kills after", "outer deadline unknown"})
	case limit >= worst:
		facts = append(facts, Fact{"kills after", budget(limit) + ", " + whole(limit-worst) + " to spare"})
	default:
		facts = append(facts, Fact{"kills after", budget(limit) + ": " + whole(worst-limit) + " short, WILL BE KILLED if everything hangs"})
	}
	var cuts []string
	for _, c := range p.Shrunk {
		cuts = append(cuts, fmt.Sprintf("%s %s instead of %s", term40(c.Name), budget(millis(c.GotMS)), budget(millis(c.WantedMS))))
	}
	if len(cuts) > 0 {
		facts = append(facts, Fact{"shortened", names(cuts, 12)})
	}
	if w < tableWidth {
		short := []string{"no stop yet", "it takes at most " + budget(worst), "outer deadline unknown"}
		if limit > 0 {
			short[2] = "killed after " + budget(limit)
		}
		for i, line := range short {
			short[i] = s.cut(line, w)
		}
		return short
	}
	lines := append([]string{s.rule("plan of a stop", w)}, s.facts(facts, 13, w)...)
	if h-len(lines) < 4 {
		return lines
	}
	lines = append(lines, s.paint(Muted, "   "+s.cell(Plain, "PHASE", nameCol+3)+s.right(Plain, "BUDGET", 8)+"  SET BY"))
	sum := time.Duration(0)
	room := h - len(lines) - 1
	for i, f := range p.Phases {
		sum += millis(f.BudgetMS)
		if i >= room && len(p.Phases) > room {
			continue
		}
		text := or(shown(f.Bound), unknown)
		if f.Critical {
			text += "; critical: a failure changes the exit code"
		} else if f.Vital {
			text += "; never skipped"
		}
		lines = append(lines, "   "+s.cell(Plain, fmt.Sprintf("%2d %s", i+1, or(term40(f.Name), unknown)), nameCol+3)+s.right(Plain, budget(millis(f.BudgetMS)), 8)+"  "+s.cut(text, w-nameCol-16))
	}
	return append(lines, s.paint(Muted, "   "+s.cell(Plain, "   sum", nameCol+3)+s.right(Plain, budget(sum), 8)))
}
