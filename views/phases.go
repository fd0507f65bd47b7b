package views

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// folding says how many of the first phases, which have ended, and of the last, which wait, are drawn as one line each.
type folding struct {
	done, wait int
	names      bool // the line with the names of the columns
}

func (d *stopDraw) phaseLines(f folding) int {
	n := 1 + len(d.Phases) - max(f.done-1, 0) - max(f.wait-1, 0)
	if f.names {
		n++
	}
	return n
}

// column is a stop from top to bottom: phases, the items of the one that runs, events. Where the height is short, ended
// phases are folded first, then waiting ones, then events go; the running phase and its items stay.
func (d *stopDraw) column(w, h int, withEvents bool) []string {
	events := d.stopEvents()
	least, items := 0, 0
	if withEvents && len(events) > 0 {
		least = 1 + min(len(events), 2)
	}
	if d.at >= 0 {
		items = 1 + max(waitedFor(d.phase.Items), 1)
	}
	f := d.fold(h - items - least)
	short := func() bool { return d.phaseLines(f)+items+least > h }
	if short() {
		least = 0
	}
	if short() {
		f.names = false
	}
	lines := d.phaseTable(f, w)
	left := h - len(lines)
	if left < 1 {
		return lines
	}
	var list []string
	if d.at >= 0 {
		list = d.itemList(w, left-least)
	}
	lines = append(lines, list...)
	if left -= len(list); withEvents && len(events) > 0 && left >= 2 {
		lines = append(lines, d.eventList(events, w, left)...)
	}
	return lines
}

// fold folds as few phases as it takes to draw them in room lines: first those at the beginning that are over, then those at the
// end that wait, and in a report the other way round.
func (d *stopDraw) fold(room int) folding {
	f, ended, waiting := folding{names: true}, 0, 0
	for ended < len(d.Phases) && d.Phases[ended].State.Over() {
		ended++
	}
	for waiting < len(d.Phases)-ended && d.Phases[len(d.Phases)-1-waiting].State == ops.StepPending {
		waiting++
	}
	type end struct {
		folded *int
		of     int
	}
	ends := []end{{&f.done, ended}, {&f.wait, waiting}}
	if d.kind != stopRuns {
		slices.Reverse(ends)
	}
	for _, e := range ends {
		for d.phaseLines(f) > room && e.of >= 2 && *e.folded < e.of {
			*e.folded = max(*e.folded+1, 2)
		}
	}
	return f
}

// Widths of the table's columns: what stands before the name, and each column with the blanks before it.
const (
	nameCol   = 11
	stateCol  = 10
	itemsCol  = 7
	timeCol   = 10
	budgetCol = 8
)

// phaseTable draws the phases under a rule and, if f says so, the names of the columns.
func (d *stopDraw) phaseTable(f folding, w int) []string {
	lines := []string{d.rule(fmt.Sprintf("phases %d/%d", d.reached(), len(d.Phases)), w)}
	wide := w >= 64
	if f.names {
		head := spaces(3) + d.cell(Muted, "PHASE", nameCol+3) + d.cell(Muted, " STATE", stateCol+1)
		if wide {
			head += d.right(Muted, "ITEMS", itemsCol)
		}
		head += d.right(Muted, "TIME / BUDGET", timeCol+budgetCol) + "  "
		result := "RESULT"
		if d.kind == stopRuns {
			result += ", NEXT STEP"
		}
		lines = append(lines, head+d.cell(Muted, result, w-cellsOf(head)))
	}
	n := len(d.Phases)
	for i := 0; i < n; i++ {
		switch {
		case f.done > 1 && i == 0:
			lines = append(lines, d.foldLine(0, f.done, "finished", wide, w))
			i = f.done - 1
		case f.wait > 1 && i == n-f.wait:
			lines = append(lines, d.foldLine(i, n, "waiting", wide, w))
			i = n
		default:
			lines = append(lines, d.phaseRow(i, wide, w))
		}
	}
	return lines
}

func (d *stopDraw) tableRow(selected bool, name string, m badge, items, took, budget, result string, wide bool, w int) string {
	role := Plain
	if selected {
		role = Accent
	}
	line := " " + pointer(selected) + d.cell(role, name, nameCol+4) + d.cell(m.role, d.badge(m), stateCol)
	used := 3 + nameCol + 4 + stateCol + timeCol + budgetCol + 2
	if wide {
		line += d.right(Plain, items, itemsCol)
		used += itemsCol
	}
	return line + d.right(Plain, took, timeCol) + " / " + d.right(Plain, budget, budgetCol-3) + "  " + d.cut(result, w-used)
}

func (d *stopDraw) phaseRow(i int, wide bool, w int) string {
	p := d.Phases[i]
	took := "-"
	if p.State != ops.StepPending && (p.State != ops.StepSkipped || p.ElapsedMS > 0) {
		took = tenths(d.elapsed(p.ElapsedMS, p.State))
	}
	items := "-"
	if total, done := p.Counts(); total > 0 {
		items = fmt.Sprintf("%d/%d", max(done, 0), total)
	}
	return d.tableRow(i == d.at, fmt.Sprintf("%2d %s", i+1, d.phaseName(p)), d.phaseBadge(p), items, took, budget(ops.Span(p.BudgetMS)), d.result(p), wide, w)
}

func (d *stopDraw) foldLine(i, end int, what string, wide bool, w int) string {
	var took, most time.Duration
	worst := badgeDone
	var bad []string
	for _, p := range d.Phases[i:end] {
		took += d.elapsed(p.ElapsedMS, p.State)
		if d.WillRun(p) || p.State.Over() {
			most += ops.Span(p.BudgetMS)
		}
		switch m := d.phaseBadge(p); m {
		case badgeDone, badgeSkipped:
		case badgeWait:
			worst = m
		default:
			if worst != badgeFailed {
				worst = m
			}
			bad = append(bad, d.phaseName(p)+" "+m.word)
		}
	}
	result, time := "", tenths(took)
	switch {
	case len(bad) > 0:
		result = names(bad, 2)
	case worst == badgeWait:
		time = "-"
		result = d.phaseName(d.Phases[i]) + " to " + d.phaseName(d.Phases[end-1])
	}
	return d.tableRow(false, fmt.Sprintf("%2d-%d %s", i+1, end, what), worst, "", time, budget(most), result, wide, w)
}

// result is how a phase ended, or what happens to it next.
func (d *stopDraw) result(p ops.Phase) string {
	switch p.State {
	case ops.StepPending:
		switch {
		case p.Detail == ops.WhenUnknown:
			return p.Detail
		case p.Detail != "":
			return "will be " + shown(p.Detail)
		case d.kind != stopRuns:
			return "not reached"
		case !d.WillRun(p):
			return "not part of a stop of mode " + term40(string(d.Mode))
		case p.Vital:
			return "never skipped"
		}
		return ""
	case ops.StepRunning:
		if d.kind != stopRuns {
			return "ran when the gateway was killed"
		}
		return d.nextOf(p)
	}
	var parts []string
	for _, g := range []struct {
		badge badge
		word  string
	}{{badgeLate, "interrupted: "}, {badgeAbandoned, "gave up: "}, {badgeFailed, "failed: "}} {
		list := d.named(p.Items, func(it ops.Item) bool { return d.itemBadge(p, it) == g.badge })
		if len(list) > 0 {
			parts = append(parts, g.word+names(list, 2))
		}
	}
	return or(strings.Join(parts, "; "), shown(p.Detail))
}

// itemList draws the items of the running phase in at most h lines, the selected one in sight.
func (d *stopDraw) itemList(w, h int) []string {
	items := drawn(d.phase)
	left := waitedFor(items)
	title := fmt.Sprintf("phase %d %s: %d of %d left", d.at+1, d.phaseName(d.phase), left, len(items))
	if n := len(d.NotAwaited); n > 0 && d.phase.Name == "drain" {
		title += ", not awaited: " + names(d.named(d.NotAwaited, func(ops.Item) bool { return true }), 2)
	}
	lines := []string{d.rule(title, w)}
	if len(items) == 0 {
		lines = append(lines, d.paint(Muted, "   nothing is waited for yet"))
	}
	width := 8
	for _, it := range slices.Concat(items, d.NotAwaited) {
		width = max(width, cellsOf(shown(it.ID)))
	}
	width = min(width, max(w/4, 8))
	sel := max(slices.IndexFunc(items, func(it ops.Item) bool { return d.has && it.Key() == d.item.Key() }), 0)
	total := len(items) + len(d.NotAwaited)
	room := max(h-len(lines), 1)
	rows := min(room, total)
	// The line that counts the rest takes no row from an item that runs, unless it stands for such.
	more := rows < total && rows > 1 && left != rows
	if more {
		rows--
	}
	at := min(max(sel-rows/2, 0), total-rows)
	if sel < rows { // no need to move as long as it is in sight
		at = 0
	}
	for i := at; i < at+rows; i++ {
		if i < len(items) {
			lines = append(lines, d.itemRow(items[i], i == sel && d.has, width, w))
			continue
		}
		it := d.NotAwaited[i-len(items)]
		lines = append(lines, "   "+d.glyph(glyphSkip)+" "+d.cell(Muted, shown(it.ID), width)+" "+d.cut("not awaited: "+or(shown(it.Detail), unknown), w-width-6))
	}
	if more {
		lines = append(lines, d.more(total-rows))
	}
	return lines
}

func (d *stopDraw) itemRow(it ops.Item, selected bool, width, w int) string {
	m := d.itemBadge(d.phase, it)
	const state, took = 9, 7
	line := d.paint(m.role, d.glyph(m.glyph)) + " " + d.cell(Plain, shown(it.ID), width) + " " +
		d.cell(m.role, m.word, state) + d.right(Plain, tenths(d.elapsed(it.ElapsedMS, it.State)), took) + "  "
	line = " " + pointer(selected) + line + d.cutKeepingTime(d.reason(d.phase, it), w-3-2-width-1-state-took-2)
	if selected {
		return d.highlight(fitLine(line, w))
	}
	return line
}

// reason is what an item waits on, in its own words where it has any, or how it ended.
func (d *stopDraw) reason(p ops.Phase, it ops.Item) string {
	text := shown(it.Detail)
	if it.State != ops.StepRunning {
		return text
	}
	if text == "" {
		text = d.guess(it)
	}
	wait := d.wait(p, it)
	if wait.Silent() && (wait.Quiet < wait.Used-500*time.Millisecond || wait.Quiet > wait.Used+500*time.Millisecond) {
		text += ", no progress for " + tenths(wait.Quiet)
	}
	return text
}

// guess describes an item without a detail: from the rows of the snapshot, or by what its phase does.
func (d *stopDraw) guess(it ops.Item) string {
	switch trees := d.s.Snap.Processes; {
	case it.Kind == "turn":
		if s := sessionOf(d.s, it.ID); s != nil && s.Doing != "" {
			return shown(s.Activity(d.s.Now))
		}
	case it.Kind == "processes" && len(trees) > 0:
		text := count(len(trees), "tree") + " left: " + number(trees[0].PID) + " " + d.cut(shown(trees[0].Command), 30)
		if len(trees) > 1 {
			text += ", …"
		}
		return text
	}
	return or(silent[it.Kind], "no status reported")
}

// silent says what an item of a kind does that reports nothing.
var silent = map[string]string{
	"turn":      "running",
	"adapter":   "disconnecting, no status reported",
	"agent":     "saving and closing",
	"processes": "ending process trees",
	"store":     "being closed",
	"task":      "cancelled, has not returned",
	"notice":    "being sent",
}
