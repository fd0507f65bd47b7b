package views

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// OverviewRow is a row of the overview that can be selected.
type OverviewRow struct {
	// Name is what TableState.Selected holds for it.
	Name string
	// View lists the thing that the row is about, under Key; 0: no view does, and Text is all there is to know.
	View View
	Key  string
	// Turn is the turn that the row is about, in the session Key; empty: it is about the session itself.
	Turn string
	Text string
}

// OverviewRows are the rows of the overview in their order: what needs a person, what runs, what has run lately, the adapters. s needs
// its snapshot, its rates and its moment.
func OverviewRows(s Screen) []OverviewRow {
	p := overviewSections(&s)
	for i, a := range p.alerts {
		if a.view == 0 {
			_, what, text := a.words(&s)
			p.needs.rows[i].Text = shown(what) + ": " + shown(text)
		}
	}
	return slices.Concat(p.needs.rows, p.running.rows, p.lately.rows, p.adapters.rows)
}

// section is a part of the overview with rows that can be selected. selected is the index of the selected one, -1 if it is not here;
// total counts the rows that are not in rows as well.
type section struct {
	title    string
	role     Role
	rows     []OverviewRow
	total    int
	selected int
	// none is drawn where there are no rows.
	none string
	// draw draws a row in w cells. If it may take a second line, rest is what there was no room for.
	draw func(o *Opts, i, w int, second bool) (line, rest string)
}

// sections are the parts of the overview that have rows.
type sections struct {
	needs, running, lately, adapters section
	alerts                           []alert
}

func overviewSections(s *Screen) sections {
	var p sections
	p.alerts, p.needs = needsSection(s)
	p.running, p.lately, p.adapters = runningSection(s), latelySection(s), adapterSection(s)
	found := false
	for _, sec := range []*section{&p.needs, &p.running, &p.lately, &p.adapters} {
		sec.selected = slices.IndexFunc(sec.rows, func(r OverviewRow) bool { return r.Name == s.Table.Selected })
		found = found || sec.selected >= 0
	}
	if !found { // until the person has chosen a row, it is the first one
		for _, sec := range []*section{&p.needs, &p.running, &p.lately, &p.adapters} {
			if len(sec.rows) > 0 {
				sec.selected = 0
				break
			}
		}
	}
	return p
}

// want is how many lines a section takes, from a least on, with the second lines of rows that are too long for w cells.
func (p *section) want(s *Screen, least, w int) want {
	all := 1 + max(p.total, 1)
	most := all
	for i := range p.rows[:min(len(p.rows), s.H)] {
		if _, rest := p.draw(&s.Opts, i, w-2, true); rest != "" {
			most++
		}
	}
	return want{min(least, all), most}
}

// lines draws a section in h lines. Lines that its rows do not need show what is too long for one line.
func (p *section) lines(s *Screen, w, h int) []string {
	if h < 1 {
		return nil
	}
	title := s.titleRule(p.title, "", w)
	if p.total > 0 && p.role != Plain {
		title = s.countedRule(p.title, p.total, p.role, w)
	}
	if len(p.rows) == 0 {
		return []string{title, s.paint(Muted, "   "+p.none)}[:min(h, 2)]
	}
	from, rows := windowOf(len(p.rows), p.total, p.selected, h)
	spare := h - 1 - p.total
	lines := []string{title}
	for i := from; i < from+rows; i++ {
		line, rest := p.draw(&s.Opts, i, w-2, spare > 0)
		lines = append(lines, s.selectable(line, i == p.selected, w))
		if rest != "" {
			spare--
			lines = append(lines, s.paint(Muted, "      "+s.cut(rest, w-6)))
		}
	}
	if n := p.total - rows; n > 0 && h > len(lines) {
		lines = append(lines, s.more(n))
	}
	return lines
}

// countedRule is a titleRule that says how many there are, in a role of its own.
func (s *Screen) countedRule(title string, n int, role Role, w int) string {
	count := strconv.Itoa(n)
	rest := w - cellsOf(title) - len(count) - 3
	return " " + s.paint(Heading, title) + " " + s.paint(role, count) + " " + s.rule("", rest)
}

// selectable is a row behind its pointer, with the look of the selected one.
func (s *Screen) selectable(line string, selected bool, w int) string {
	if !selected {
		return pointer(false) + line
	}
	return s.highlight(fitLine(pointer(true)+line, w))
}

// windowOf is how many of n rows are drawn in h lines under a title, and the first of them: the selected one, at, is in
// sight (-1: none is), and where rows are left out a line that counts them takes the place of one.
func windowOf(n, total, at, h int) (from, rows int) {
	rows = min(n, max(h-1, 1))
	if rows < total && rows > 1 {
		rows--
	}
	if at >= rows {
		from = min(at-rows+1, n-rows)
	}
	return from, rows
}

// cutRest is text in w cells, and what of it had no room if that has a second line.
func (o *Opts) cutRest(text string, w int, second bool) (line, rest string) {
	if !second || w < 8 || cellsOf(text) <= w {
		return o.cut(text, w), ""
	}
	wrapped := wrap(text, w)
	return wrapped[0], strings.Join(wrapped[1:], " ")
}

// needsSection is what needs a person.
func needsSection(s *Screen) ([]alert, section) {
	list, total := alerts(s)
	p := section{title: "NEEDS YOU", role: Slow, total: total, none: s.glyph(glyphDone) + " nothing"}
	type words struct {
		badge      badge
		what, text string
	}
	told := make([]*words, len(list))
	for i, a := range list {
		p.rows = append(p.rows, OverviewRow{Name: a.name, View: a.view, Key: a.key})
		if a.rank <= rankBroken && i == 0 {
			p.role = Bad
		}
	}
	word := 0
	p.draw = func(o *Opts, i, w int, second bool) (string, string) {
		if told[i] == nil {
			b, what, text := list[i].words(s)
			told[i] = &words{b, shown(what), shown(text)}
		}
		for ; word == 0; word = max(word, 9) {
			for j := range min(len(list), s.H) {
				b, _, _ := list[j].words(s)
				word = max(word, len(b.word))
			}
		}
		t := told[i]
		age := ""
		if d, ok := ago(s.Now, ops.At(list[i].since)); ok {
			age = coarseOr(d)
		}
		name := min(max(w*3/10, 8), 30)
		room := w - 2 - word - 1 - name - 1
		line := o.cell(t.badge.role, o.glyph(t.badge.glyph), 2) + o.cell(t.badge.role, t.badge.word, word+1) + o.cell(Plain, o.cutHead(t.what, name), name) + " "
		if age != "" && room >= 24 {
			text, rest := o.cutRest(t.text, room-8, second)
			return line + o.cell(Plain, text, room-8) + o.right(Muted, age, 8), rest
		}
		text, rest := o.cutRest(t.text, room, second)
		return line + text, rest
	}
	return list, p
}

func coarseOr(d time.Duration) string {
	if d < time.Minute {
		return "<1m"
	}
	return coarse(d)
}

// runningSection is the turns that run, that which has run longest first.
func runningSection(s *Screen) section {
	var list []*ops.Session
	for i := range s.Snap.Sessions {
		if r := &s.Snap.Sessions[i]; working(r) {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *ops.Session) int { return oldestFirst(a.TurnStartedAt, b.TurnStartedAt) })
	total := max(s.Snap.Counts.RunningTurns, len(list))
	list = list[:min(len(list), perRank)]
	p := section{title: "RUNNING", role: Busy, total: total, none: s.glyph(glyphIdle) + " no turn runs"}
	agents := false
	for _, r := range list {
		p.rows = append(p.rows, OverviewRow{Name: "running/" + r.Key, View: Sessions, Key: r.Key})
		agents = agents || r.Agent != ""
	}
	if len(list) == 0 {
		p.total = 0
	}
	p.draw = func(o *Opts, i, w int, second bool) (string, string) {
		r := list[i]
		b := sessionBadge(s.Now, r)
		line, room := o.turnCells(b, r.Key, r.Agent, agents, w)
		line += o.right(Plain, clockSince(s.Now, r.TurnStartedAt), 8) + "  "
		text := shown(r.Activity(s.Now))
		if r.Queued > 0 {
			text += ", " + number(r.Queued) + " behind it"
		}
		if second {
			text, rest := o.cutRest(text, room-10, true)
			return line + text, rest
		}
		return line + o.cutKeepingTime(text, room-10), ""
	}
	return p
}

// turnCells begins the row of a turn: its badge, its session and its agent. room is what they leave of w cells.
func (o *Opts) turnCells(b badge, key, agent string, agents bool, w int) (line string, room int) {
	name := min(max(w*3/10, 8), 34)
	line = o.cell(b.role, o.glyph(b.glyph), 2) + o.cell(Plain, o.cutHead(shown(key), name), name) + " "
	room = w - 3 - name
	if agents && w >= 84 {
		line, room = line+o.cell(Muted, shown(agent), 9)+" ", room-10
	}
	return line, room
}

// turnBadges are how a turn has ended.
var turnBadges = badges[string]{
	{"failed", badge{glyphFail, "failed", Bad}},
	{"interrupted", badge{glyphSlow, "interrupted", Slow}},
	{"done", badge{glyphDone, "done", Good}},
}

// latelySection is the turns that ended last.
func latelySection(s *Screen) section {
	p := section{title: "LATELY", none: s.glyph(glyphIdle) + " no turn has ended yet"}
	if s.Rates == nil {
		return p
	}
	list, agents := s.Rates.Lately, false
	for _, t := range list {
		p.rows = append(p.rows, OverviewRow{Name: "ended/" + t.Turn, View: Sessions, Key: t.Session, Turn: t.Turn})
		agents = agents || t.Agent != ""
	}
	p.total = len(list)
	p.draw = func(o *Opts, i, w int, _ bool) (string, string) {
		t := &list[i]
		b := turnBadges.of(t.State)
		age := unknown
		if d, ok := ago(s.Now, t.EndedAt); ok {
			age = clock(d)
		}
		line, room := o.turnCells(b, t.Session, t.Agent, agents, w)
		line += o.right(Muted, age, 8) + "  "
		text := latency(max(t.ElapsedMS, 1))
		if t.State != "done" {
			text = b.word + " after " + text
		}
		if t.Tokens > 0 {
			text += ", " + short(t.Tokens) + " tokens"
		}
		if t.Cost != nil && *t.Cost > 0 {
			text += ", " + money(*t.Cost, s.currency())
		}
		return line + o.cut(text, room-10), ""
	}
	return p
}

// adapterSection is every adapter, those in trouble first.
func adapterSection(s *Screen) section {
	order := adapterRows(s)
	p := section{none: s.glyph(glyphIdle) + " none is configured", total: len(order)}
	name := 8
	for _, i := range order {
		a := &s.Snap.Adapters[i]
		name = min(max(name, cellsOf(shown(a.Name))), 20)
		p.rows = append(p.rows, OverviewRow{Name: "adapter/" + a.Name, View: Adapters, Key: a.Name})
	}
	p.draw = func(o *Opts, i, w int, _ bool) (string, string) {
		a := &s.Snap.Adapters[order[i]]
		b := adapterBadges.of(a.State)
		const word = 13
		line := o.cell(b.role, o.glyph(b.glyph), 2) + o.cell(Plain, shown(a.Name), name) + "  " + o.cell(b.role, b.word, word) + "  "
		return line + o.cut(adapterTimes(s.Now, a), w-6-name-word), ""
	}
	return p
}

// packedCell is how wide an adapter is where several stand in a line.
const packedCell = 19

func (s *Screen) packedHeight(w int) int {
	per := max((w-1)/packedCell, 1)
	return 1 + min(max((len(s.Snap.Adapters)+per-1)/per, 1), 4)
}

// adapterLines are the adapters in h lines: one each where there is room, else several in a line.
func (s *Screen) adapterLines(p section, w, h int) []string {
	c, n := s.Snap.Counts, len(p.rows)
	if h < 2 {
		return nil
	}
	p.title = "ADAPTERS " + number(c.AdaptersConnected) + " of " + number(max(c.Adapters, n))
	if n == 0 {
		return []string{s.titleRule(p.title, "", w), s.paint(Muted, "   "+p.none)}
	}
	lines := []string{s.titleRule(p.title, "", w)}
	if n+1 <= h {
		for i := range p.rows {
			line, _ := p.draw(&s.Opts, i, w-2, false)
			lines = append(lines, s.selectable(line, i == p.selected, w))
		}
		return lines
	}
	per := max((w-1)/packedCell, 1)
	shown, order := min(per*(h-1), n), adapterRows(s)
	from := 0
	if p.selected >= shown {
		from = min((p.selected-shown)/per+1, (n-shown+per-1)/per) * per
	}
	for at := from; at < min(from+shown, n); at += per {
		line := " "
		for i := at; i < min(at+per, n); i++ {
			line += s.packedAdapter(&s.Snap.Adapters[order[i]], i == p.selected)
		}
		lines = append(lines, line)
	}
	if left := n - min(from+shown, n); left > 0 {
		lines[0] = s.titleRule(p.title, "and "+number(left)+" more", w)
	}
	return lines
}

// packedAdapter is an adapter in packedCell cells: its sign, its name, and when it tries again.
func (s *Screen) packedAdapter(a *ops.Adapter, selected bool) string {
	b := adapterBadges.of(a.State)
	name := shown(a.Name)
	if in := a.NextAttemptAt.Sub(s.Now); !a.NextAttemptAt.IsZero() && in > 0 {
		name = s.cut(name, packedCell-10) + " " + clock(in)
	}
	cell := s.cell(b.role, s.glyph(b.glyph), 2) + s.cell(Plain, name, packedCell-4)
	if selected {
		cell = s.highlight(cell)
	}
	return cell + "  "
}

// adapterTimes is what an adapter's line says after its state.
func adapterTimes(now time.Time, a *ops.Adapter) string {
	var parts []string
	if in := a.NextAttemptAt.Sub(now); !a.NextAttemptAt.IsZero() && in > 0 {
		parts = append(parts, "retry in "+clock(in))
	}
	if in := a.RateLimitedUntil.Sub(now); !a.RateLimitedUntil.IsZero() && in > 0 {
		parts = append(parts, "rate limited for "+clock(in))
	}
	switch last := sinceText(now, a.LastInboundAt); last {
	case "-":
	case "now":
		parts = append(parts, "last message just now")
	default:
		parts = append(parts, "last message "+last+" ago")
	}
	if a.Queue != 0 {
		parts = append(parts, number(a.Queue)+" to send")
	}
	return strings.Join(parts, ", ")
}

func plainNumber(v float64) string {
	if !(v >= 0 && v <= 1e12) { // NaN is neither
		return unknown
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func bytesNumber(v float64) string {
	if !(v >= 0 && v <= 1e18) {
		return unknown
	}
	return size(int64(v))
}
