package views

import (
	"fmt"
	"slices"
	"strings"

	"gatewaytui/core/ops"
)

// rows are the lines of the items. If they are more than most, equal neighbours are one line; 0: each has its own.
func (d *turnDraw) rows(most int) []turnRow {
	items := d.t.Items
	var rows []turnRow
	for i := range items {
		rows = append(rows, turnRow{items: []int{i}, of: 1, times: 1})
	}
	if most <= 0 || len(rows) <= most {
		return rows
	}
	rows = rows[:0]
	for i := 0; i < len(items); {
		best := turnRow{items: []int{i}, of: 1, times: 1}
		for of := 1; of <= 3; of++ {
			times := 1
			for d.repeats(i, of, times) {
				times++
			}
			if times > 1 && of*times >= 3 && of*times > len(best.items) {
				best = turnRow{of: of, times: times}
				for n := range of * times {
					best.items = append(best.items, i+n)
				}
			}
		}
		rows = append(rows, best)
		i += len(best.items)
	}
	return unfolded(rows, most)
}

// unfolded divides the lines with the most calls until there are as many as fit: each line then says when its calls were.
func unfolded(rows []turnRow, most int) []turnRow {
	for len(rows) < most {
		at := 0
		for i := range rows {
			if rows[i].times > rows[at].times {
				at = i
			}
		}
		r := rows[at]
		if r.times < 6 {
			break
		}
		half := r.times / 2
		rows = slices.Replace(rows, at, at+1, turnRow{r.items[:half*r.of], r.of, half}, turnRow{r.items[half*r.of:], r.of, r.times - half})
	}
	return rows
}

// repeats reports whether the pattern of so many items from i on occurs once more after it has occurred so many times.
func (d *turnDraw) repeats(i, of, times int) bool {
	items, next := d.t.Items, i+of*times
	if next+of > len(items) {
		return false
	}
	for n := range of {
		a, b := items[i+n], items[next+n]
		if a.Kind != b.Kind || a.Name != b.Name || a.Child != b.Child || d.goesOn(b) || a.Kind == ops.TimelineApproval {
			return false
		}
	}
	return true
}

// label is what stands in the second column of a line: "main + terminal ×14" for several calls.
func (d *turnDraw) label(r turnRow) string {
	if len(r.items) == 1 {
		return d.named(d.t.Items[r.items[0]])
	}
	times := d.glyph(glyph{" x", " ×"}) + number(r.times)
	var parts []string
	for _, i := range r.items[:r.of] {
		parts = append(parts, d.clean(d.t.Items[i].Name, 40))
	}
	name := strings.Join(parts, " + ")
	if d.name > 0 {
		name = d.cut(name, max(d.name-cellsOf(times), 1))
	}
	return name + times
}

// row draws one line.
func (d *turnDraw) row(r turnRow) string {
	first := d.t.Items[r.items[0]]
	kind := or(kindNames[first.Kind], term40(string(first.Kind)))
	var took int64
	for _, i := range r.items {
		took += d.elapsed(d.t.Items[i])
	}
	if r.of > 1 {
		kind = "calls"
	}
	var b strings.Builder
	role := d.role(r)
	if d.kind > 0 {
		b.WriteString(d.cell(Muted, kind, d.kind) + " ")
	}
	b.WriteString(d.cell(Plain, d.label(r), d.name) + " ")
	if d.bars > 0 {
		b.WriteString(d.paint(role, d.bar(r)) + " ")
	}
	text := lasted(took)
	if first.StartedAt.IsZero() {
		text = "-"
	}
	slowest := slices.Contains(r.items, d.slowest)
	if slowest {
		b.WriteString(d.right(Heading, text, d.took))
	} else {
		b.WriteString(d.right(Plain, text, d.took))
	}
	if d.info > 0 {
		b.WriteString("  " + d.about(r, slowest))
	}
	return b.String()
}

// role is how the bar of a line looks: what waits is grey, what goes on blue, a person who is asked amber, what failed red.
func (d *turnDraw) role(r turnRow) Role {
	for _, n := range r.items {
		i := d.t.Items[n]
		switch {
		case d.goesOn(i) && i.Kind == ops.TimelineApproval:
			return Slow
		case d.goesOn(i):
			return Busy
		case failed(i):
			return Bad
		case i.Kind == ops.TimelineWait || i.Kind == ops.TimelineApproval:
			return Muted
		}
	}
	return Plain
}

// failed reports whether a call ended badly.
func failed(i ops.TimelineItem) bool {
	switch {
	case strings.HasPrefix(i.Result, ops.TimelineFailed), i.Result == ops.TimelineInterrupted, i.Result == "timed out":
		return true
	case strings.HasPrefix(i.Result, "exit "):
		return i.Result != "exit 0"
	}
	return false
}

var (
	glyphSliver = glyph{"|", "▏"} // less than half a cell
	glyphWait   = glyph{"=", "▒"} // time that waits
)

// bar is the bar of a line: exactly d.bars cells. A cell is full if a call took half of its time.
func (d *turnDraw) bar(r turnRow) string {
	works, waits := make([]int64, d.bars), make([]int64, d.bars) // a cell is d.total long
	cells := make([]string, d.bars)
	n := int64(d.bars)
	for _, at := range r.items {
		i := d.t.Items[at]
		if i.Kind == ops.TimelineWait && i.Name == ops.TimelineQueue {
			cells[0] = "<"
			continue
		}
		covered := works
		if i.Kind == ops.TimelineWait || i.Kind == ops.TimelineApproval {
			covered = waits
		}
		from, to := d.from(i)*n, (d.from(i)+d.elapsed(i))*n
		first := min(from/d.total, n-1)
		cells[first] = or(cells[first], d.glyph(glyphSliver))
		for c := first; c < n && c*d.total < to; c++ {
			covered[c] += min(to, (c+1)*d.total) - max(from, c*d.total)
		}
		if d.goesOn(i) {
			cells[min((to-1)/d.total, n-1)] = ">"
		}
	}
	var b strings.Builder
	for c, mark := range cells {
		switch half := d.total / 2; {
		case mark == ">":
		case works[c] > half:
			mark = d.glyph(glyphFull)
		case works[c]+waits[c] > half:
			mark = d.glyph(glyphWait)
		case mark == "" && works[c]+waits[c] > 0 && len(r.items) > 1:
			mark = d.glyph(glyphSliver)
		}
		b.WriteString(or(mark, " "))
	}
	return b.String()
}

// about is what is known of the calls of a line: the most important first.
func (d *turnDraw) about(r turnRow, slowest bool) string {
	l := d.line(d.info)
	if slowest {
		l.add(0, Accent, "slowest")
	}
	room := d.info
	if slowest {
		room -= len("slowest") + 2
	}
	first := d.t.Items[r.items[0]]
	var in, cached, out int64
	var cost float64
	priced, bad := false, 0
	for _, n := range r.items {
		i := d.t.Items[n]
		in, cached, out = in+i.TokensIn, cached+i.TokensCached, out+i.TokensOut
		if i.Cost != nil {
			cost, priced = cost+*i.Cost, true
		}
		if failed(i) {
			bad++
		}
	}
	switch {
	case len(r.items) == 1 && first.Result != "":
		role := Plain
		if failed(first) {
			role = Bad
		}
		l.add(2, role, d.cut(d.clean(first.Result, 60), max(room, 1)))
	case len(r.items) == 1 && d.goesOn(first) && first.Kind == ops.TimelineApproval:
		l.add(2, Slow, d.cut("no answer yet", d.info))
	case len(r.items) == 1 && d.goesOn(first):
		l.add(2, Busy, "now")
	case bad > 0:
		l.add(2, Bad, fmt.Sprintf("%d failed", bad))
	}
	if in+out > 0 {
		tokens := short(in) + " in"
		if cached > 0 && d.info >= 40 {
			tokens += " (" + short(cached) + " cached)"
		}
		l.add(2, Muted, tokens).add(2, Muted, short(out)+" out")
	}
	if priced {
		l.add(2, Plain, money(cost, d.currency))
	}
	return l.String()
}
