package views

import (
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// timeline draws when each phase ran, in at most h lines: # ran, > now, . the rest of its budget, : its end. A column is
// 2 s, or as much more as it takes to fit.
func (d *stopDraw) timeline(w, h int) []string {
	const name, took = nameCol + 2, 9
	cols := w - name - took - 2
	result := 0
	if w >= 100 {
		result = min(w/4, 30)
		cols -= result
	}
	var rows []ops.Phase
	end := d.now
	for _, p := range d.Phases {
		if p.State == ops.StepPending || p.StartedAt.IsZero() || p.State == ops.StepSkipped {
			continue
		}
		rows = append(rows, p)
		end = max(end, d.offset(p)+d.elapsed(p.ElapsedMS, p.State)+d.rest(p))
	}
	if cols < 8 || h < 2 || len(rows) == 0 || d.StartedAt.IsZero() {
		return nil
	}
	scale := 2 * time.Second
	for end/scale >= time.Duration(cols) {
		scale *= 2
	}
	lines := []string{d.rule("timeline, "+budget(scale)+" per column", w)}
	column := func(at time.Duration) int { return int((at + scale - 1) / scale) }
	for _, p := range rows[max(len(rows)-(h-1), 0):] {
		ran := d.elapsed(p.ElapsedMS, p.State)
		from := min(int(d.offset(p)/scale), cols-1)
		to := min(max(column(d.offset(p)+ran), from+1), cols)
		bar := spaces(from) + strings.Repeat(d.glyph(glyphFull), to-from)
		m := d.phaseBadge(p)
		text, role := m.word, m.role
		if role == Danger { // filled, it would look like two bars
			role = Bad
		}
		if p.State == ops.StepRunning {
			until := min(max(column(d.offset(p)+ran+d.rest(p)), to), cols)
			bar = spaces(from) + strings.Repeat(d.glyph(glyphFull), to-from-1) + ">"
			if until > to {
				bar += strings.Repeat(d.glyph(glyphIdle), until-to-1) + ":"
			}
			if text = "now"; d.kind != stopRuns {
				text = "killed"
			}
		}
		line := " " + d.cell(Plain, d.phaseName(p), name-1) + d.cell(role, bar, cols) + d.right(Plain, tenths(ran), took)
		if result > 0 {
			line += "  " + d.cell(m.role, text, result)
		}
		lines = append(lines, line)
	}
	return lines
}

// offset is when a phase began, from the beginning of the stop.
func (d *stopDraw) offset(p ops.Phase) time.Duration {
	if d.StartedAt.IsZero() || p.StartedAt.IsZero() {
		return 0
	}
	return min(max(p.StartedAt.Sub(d.StartedAt.Time), 0), 1000*time.Hour)
}

// wide is a running stop on a wide screen: phases, items and timeline at the left, the selected item at the right, events
// below.
func (d *stopDraw) wide(w, h int) []string {
	right := min(max(w*3/7, 48), 84)
	left := w - right - 3
	events := d.stopEvents()
	least := 0
	if len(events) > 0 {
		least = 1 + min(len(events), 5)
	}
	need := d.phaseLines(folding{names: true})
	if d.at >= 0 {
		need += 1 + max(len(d.phase.Items)+len(d.NotAwaited), 1)
	}
	started := 0
	for _, p := range d.Phases {
		if p.State != ops.StepPending && p.State != ops.StepSkipped {
			started++
		}
	}
	top := min(h-least, need+1+started)
	panes := d.panes(right)
	top = max(top, min(h-least, len(panes)))
	column := d.column(left, min(top, max(need, top-1-started)), false)
	column = append(column, d.timeline(left, top-len(column))...)
	lines := d.joined(" ", fit(column, left, top), fit(panes, right, top))
	if room := h - top; room >= 2 && len(events) > 0 {
		lines = append(lines, d.eventList(events, w, room)...)
	}
	return lines
}

// panes are what stands at the right: the selected item, and what is still alive.
func (d *stopDraw) panes(w int) []string {
	var lines []string
	if d.has {
		lines = append(lines, d.rule(term40(d.item.Kind)+" "+shown(d.item.ID)+" (selected)", w))
		lines = append(lines, d.facts(d.itemFacts(), 11, w)...)
	}
	if d.s.Replay != nil { // the report does not say
		return lines
	}
	lines = append(lines, d.rule("what is still alive", w))
	lines = append(lines, d.facts(d.alive(), 11, w)...)
	if out := d.output(w); len(out) > 0 {
		lines = append(lines, d.rule("its processes' last output", w))
		lines = append(lines, out...)
	}
	return lines
}

// itemFacts is what is known of the selected item, the rows of the snapshot about the same thing included.
func (d *stopDraw) itemFacts() []Fact {
	it := d.item
	m := d.itemBadge(d.phase, it)
	state := m.word + " " + tenths(d.elapsed(it.ElapsedMS, it.State))
	if it.State == ops.StepRunning {
		state += ", no progress for " + tenths(d.quiet(it))
	}
	out := []Fact{{"state", state}}
	label := "waits on"
	if it.State != ops.StepRunning {
		label = "ended"
	}
	out = append(out, Fact{label, or(shown(it.Detail), or(d.reason(d.phase, it), m.word))})
	switch it.Kind {
	case "turn", "agent":
		if s := sessionOf(d.s, it.ID); s != nil {
			out = append(out, Fact{"session", or(shown(s.User), "user unknown") + ", " + or(shown(string(s.State)), unknown) + ", " + count(s.Processes, "process tree")})
		}
		if a := agentOf(d.s, it.ID); a != nil {
			out = append(out, Fact{"agent", or(shown(a.Model), "model unknown") + ", " + or(shown(string(a.State)), unknown) + ", " + number(a.Messages) + " messages, " + size(a.Bytes)})
		}
	case "adapter":
		if a := find(d.s.Snap.Adapters, func(a *ops.Adapter) bool { return a.Name == it.ID }); a != nil {
			heard := "never heard of"
			if !a.LastInboundAt.IsZero() {
				heard = "last heard of " + sinceText(d.s.Now, a.LastInboundAt) + " ago"
			}
			out = append(out, Fact{"link", or(shown(string(a.State)), unknown) + ", " + heard + ", " + count(a.Queue, "send") + " waiting"})
			if a.LastError != "" {
				out = append(out, Fact{"last error", a.LastError})
			}
		}
	}
	if most := ops.Span(it.BudgetMS); most > 0 {
		out = append(out, Fact{"budget", budget(most)})
	}
	if it.State == ops.StepRunning {
		out = append(out, Fact{"next", imperative(or(it.Next, "ends with its phase")) + " in " + tenths(d.next(it))})
		if cost := abandonCost[it.Kind]; cost != "" && !d.phase.Vital {
			out = append(out, Fact{"abandon =", cost})
		} else if d.phase.Vital {
			out = append(out, Fact{"abandon", "never: this phase is not skipped"})
		}
	}
	return out
}

// abandonCost says what is lost when the core stops waiting for an item of a kind.
var abandonCost = map[string]string{
	"turn":      "the stop goes on; the turn is interrupted by the phases that follow",
	"agent":     "what it has not saved yet is lost",
	"adapter":   "its connection is left to the kernel; replies that still wait there are not sent",
	"task":      "it is left behind until the process ends",
	"notice":    "this chat is not told of the stop",
	"processes": "trees that are left may outlive the gateway",
}

func (d *stopDraw) alive() []Fact {
	c, snap := d.s.Snap.Counts, &d.s.Snap
	var keys, trees []string
	for _, s := range snap.Sessions {
		if s.Turn != "" && len(keys) < 3 {
			keys = append(keys, shown(s.Key))
		}
	}
	for _, p := range snap.Processes[:min(len(snap.Processes), 2)] {
		trees = append(trees, number(p.PID)+" "+d.cut(shown(p.Command), 30))
	}
	named := func(n int, list []string) string {
		if len(list) == 0 {
			return number(n)
		}
		return number(n) + "  " + strings.Join(list, ", ")
	}
	return []Fact{
		{"turns", named(c.RunningTurns, keys)},
		{"processes", named(c.Processes, trees)},
		{"agents", number(c.CachedAgents)},
		{"adapters", number(c.AdaptersConnected) + " connected"},
		{"tasks", number(len(snap.Background))},
	}
}

// output is the last line of each process tree of the selected item's session.
func (d *stopDraw) output(w int) []string {
	var lines []string
	for _, p := range d.s.Snap.Processes {
		if d.has && p.LastOutput != "" && (p.Session == d.item.ID || d.item.Kind == "processes") && len(lines) < 5 {
			lines = append(lines, " "+d.cut(number(p.PID)+" "+shown(p.LastOutput), w-1))
		}
	}
	return lines
}
