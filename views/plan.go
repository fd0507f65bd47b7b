package views

import (
	"fmt"
	"time"

	"gatewaytui/core/ops"
)

// Assumption is one row of the question "what if" on the plan page. The person changes its value; Set says that it differs
// from what is.
type Assumption struct {
	Label, Value string
	Set          bool
}

// WhatIf is the question of the plan page: its rows, the index of the selected one, and whether the plan that is shown does
// not answer it yet.
type WhatIf struct {
	Rows    []Assumption
	At      int
	Waiting bool
}

// whatIfWidth is the width of the rows next to the table, and whatIfBeside from which width they stand there.
const whatIfWidth, whatIfBeside = 44, 110

// planPage is the plan of a stop, with what can be assumed next to it, or above it where there is less room.
func planPage(s *Screen, w, h int) []string {
	if len(s.WhatIf.Rows) == 0 || len(s.Plan.Phases) == 0 || w < tableWidth || h < 8 {
		return planLines(s, w, h)
	}
	if w < whatIfBeside {
		return append(planLines(s, w, h-2), s.whatIfLine(w)...)
	}
	left := w - whatIfWidth - 3
	return s.joined(" ", fit(planLines(s, left, h), left, h), fit(s.whatIfRows(whatIfWidth), whatIfWidth, h))
}

func (s *Screen) whatIfTitle() string {
	if s.WhatIf.Waiting {
		return "what if …"
	}
	return "what if"
}

// whatIfRows are all rows, one below the other.
func (s *Screen) whatIfRows(w int) []string {
	lines := []string{s.rule(s.whatIfTitle(), w)}
	for i, r := range s.WhatIf.Rows {
		lines = append(lines, s.assumption(r, i == s.WhatIf.At, w))
	}
	return append(lines, "", s.paint(Muted, s.cut(" j k choose, + - change, space marks", w)))
}

func (s *Screen) assumption(r Assumption, selected bool, w int) string {
	role, mark := Plain, "   "
	if r.Set {
		role = Accent
	}
	if selected {
		mark = " > "
	}
	value := max(w*2/5, 8)
	return mark + s.cell(Plain, shown(r.Label), w-3-value) + s.cell(role, shown(r.Value), value)
}

// whatIfLine is the selected row alone, where there is no room for all.
func (s *Screen) whatIfLine(w int) []string {
	r := s.WhatIf.Rows[min(max(s.WhatIf.At, 0), len(s.WhatIf.Rows)-1)]
	title := fmt.Sprintf("%s, %d of %d: j k choose, + - change, space marks", s.whatIfTitle(), s.WhatIf.At+1, len(s.WhatIf.Rows))
	return []string{s.rule(title, w), s.assumption(r, true, w)}
}

// planLines is the stop as it would run now, for a home on which none is known.
func planLines(s *Screen, w, h int) []string {
	p := s.Plan
	switch {
	case s.Snap.State == ops.StateStopping:
		return []string{s.rule("shutdown", w), "   The gateway stops; what it waits for has not been read yet."}
	case len(p.Phases) == 0:
		return []string{s.rule("no stop yet", w), "   No stop is known on this home, and the plan of one has not been read yet."}
	}
	worst, limit := ops.Span(p.WorstCaseMS), ops.Span(p.SupervisorBudgetMS)
	kills, short := budget(limit), "killed after "+budget(limit)
	switch {
	case limit <= 0:
		kills, short = "outer deadline unknown", "outer deadline unknown"
	case limit >= worst:
		kills += ", " + whole(limit-worst) + " to spare"
	default:
		kills += ": " + whole(worst-limit) + " short, WILL BE KILLED if everything hangs"
	}
	if w < tableWidth {
		return []string{s.cut("no stop yet", w), s.cut("it takes at most "+budget(worst), w), s.cut(short, w)}
	}
	facts := []Fact{
		{"no stop yet", "This is what a stop would do now."},
		{"worst case", budget(worst) + ", of which up to " + budget(ops.Span(p.DrainMS)) + " for running turns"},
		{"expected", s.expected()},
		{"kills after", kills},
	}
	if len(p.If) > 0 {
		facts[0] = Fact{"what if", names(p.If, 6)}
	}
	var cuts []string
	for _, c := range p.Shrunk {
		cuts = append(cuts, fmt.Sprintf("%s %s instead of %s", term40(c.Name), budget(ops.Span(c.GotMS)), budget(ops.Span(c.WantedMS))))
	}
	if len(cuts) > 0 {
		facts = append(facts, Fact{"shortened", names(cuts, 12)})
	}
	lines := append([]string{s.rule("plan of a stop", w)}, s.facts(facts, 13, w)...)
	if h-len(lines) < 4 {
		return lines
	}
	row := func(name, most, expected string) string {
		return "   " + s.cell(Plain, name, nameCol+3) + s.right(Plain, most, 8) + s.right(Busy, expected, 10)
	}
	lines = append(lines, s.paint(Muted, row("PHASE", "BUDGET", "EXPECTED")+"  SET BY"))
	sum := time.Duration(0)
	room := h - len(lines) - 1
	for i, f := range p.Phases {
		sum += ops.Span(f.BudgetMS)
		if i >= room && len(p.Phases) > room {
			continue
		}
		text := or(shown(f.Bound), unknown)
		switch {
		case f.Critical:
			text += "; critical: a failure changes the exit code"
		case f.Vital:
			text += "; never skipped"
		}
		if f.Expects != "" {
			text = shown(f.Expects) + "; " + text
		}
		expects := s.glyph(glyphIdle)
		if f.ExpectedMS > 0 {
			expects = tenths(ops.Span(f.ExpectedMS))
		}
		name := fmt.Sprintf("%2d %s", i+1, or(term40(f.Name), unknown))
		lines = append(lines, row(name, budget(ops.Span(f.BudgetMS)), expects)+"  "+s.cut(text, w-nameCol-26))
	}
	return append(lines, s.paint(Muted, row("   sum", budget(sum), tenths(ops.Span(p.ExpectedMS)))))
}

// expected is how long the stop is expected to take.
func (s *Screen) expected() string {
	p := &s.Plan
	if p.ExpectedMS <= 0 {
		return "0s: nothing runs or hangs"
	}
	text := tenths(ops.Span(p.ExpectedMS))
	if limit := ops.Span(p.SupervisorBudgetMS); limit > 0 {
		text += fmt.Sprintf(", %.0f%% of the limit", 100*float64(p.ExpectedMS)/float64(p.SupervisorBudgetMS))
	}
	return text
}
