package views

import (
	"fmt"
	"slices"
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
	lines = append(lines, d.lessons(w, h)...)
	bad := d.badItems(w)
	lines = append(lines, d.phaseTable(d.fold(h-len(lines)-len(bad)), w)...)
	lines = append(lines, bad...)
	if left := h - len(lines); left >= 4 {
		lines = append(lines, d.timeline(w, left)...)
	}
	return lines
}

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
	outcome := or(map[string]string{
		ops.ShutdownClean:      "clean: everything ended in time",
		ops.ShutdownForced:     "forced: what was not necessary was skipped, the stores were closed",
		ops.ShutdownIncomplete: "incomplete: something was given up",
	}[d.Outcome], or(shown(d.Outcome), unknown))
	exit, left := "not seen", ", at the last report"
	switch {
	case d.kind == stopCut:
		outcome = "CUT SHORT: the gateway was killed before its stop was over"
		if d.at >= 0 {
			outcome += fmt.Sprintf(", in phase %d %s", d.at+1, d.phaseName(d.phase))
		}
	case d.kind == stopEnded:
		left = ", " + whole(d.kill-d.now) + " to spare"
		if exit = fmt.Sprint(d.ExitCode); d.Restart {
			exit += " (restart)"
		}
	}
	if d.now > d.kill {
		left = ": " + whole(d.now-d.kill) + " too late"
	}
	took := clock(d.now) + " of " + clock(d.kill) + " allowed" + left
	if d.kill <= 0 {
		took = clock(d.now) + ", outer deadline unknown"
	}
	if !d.StartedAt.IsZero() {
		took += ", began " + d.StartedAt.In(d.Now.Location()).Format(time.DateTime)
	}
	cause, ok := askedBy(shown(d.Reason), shown(d.By))
	if !ok {
		cause = or(shown(d.Reason), unknown) + by(shown(d.By))
	}
	if d.Mode != "" {
		cause += ", " + shown(d.ModeText())
	}
	var life string
	if d.s.Life != nil {
		life = lifeSpan(d.s, d.s.Life)
	}
	facts := []Fact{{"life", life}, {"outcome", outcome + "; exit code " + exit}, {"took", took}, {"cause", cause}, {"not awaited", d.notAwaited()}}
	return slices.DeleteFunc(facts, func(f Fact) bool { return f.Text == "" })
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
