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
	// View lists the thing that the row is about, under Key; 0: no view does, and Text is all there is to know of a selected row.
	View View
	Key  string
	// Turn is the turn that the row is about, in the session Key; empty: it is about the session itself.
	Turn string
	Text string
}

// OverviewRows are the rows of the overview in their order: what needs a person, what runs, what has run lately, the adapters. s needs
// its snapshot, its rates and its moment.
func OverviewRows(s Screen) (out []OverviewRow) {
	for _, p := range overviewSections(&s).all() {
		for i := range p.n {
			out = append(out, p.row(i))
		}
	}
	return out
}

// SelectedOverviewRow is the selected one of OverviewRows, the first one if none is; ok is false where there is none.
func SelectedOverviewRow(s Screen) (row OverviewRow, ok bool) {
	for _, p := range overviewSections(&s).all() {
		if p.selected >= 0 {
			row = p.row(p.selected)
			if row.View == 0 {
				_, what, text := p.alerts[p.selected].words(&s)
				row.Text = shown(what) + ": " + shown(text)
			}
			return row, true
		}
	}
	return row, false
}

// section is a part of the overview with rows that can be selected. It makes what is drawn alone.
type section struct {
	title string
	role  Role
	// n is how many rows can be selected, total how many there are in all. selected is the index of the selected one, -1 if that is not
	// here.
	n, total, selected int
	// about is what a row is about, without its name, which is made of a kind and an id.
	about func(i int) (kind, id string, row OverviewRow)
	// alerts are the rows of what needs a person.
	alerts []alert
	// none is drawn where there are no rows.
	none string
	// draw draws a row in w cells. If it may take a second line, rest is what there was no room for.
	draw func(o *Opts, i, w int, second bool) (line, rest string)
}

func (p *section) row(i int) OverviewRow {
	kind, id, row := p.about(i)
	row.Name = kind + "/" + id
	return row
}

// find is the index of the row with a name, -1 if there is none. It makes no names.
func (p *section) find(name string) int {
	for i := range p.n {
		kind, id, _ := p.about(i)
		if rest, ok := strings.CutPrefix(name, kind); ok && len(rest) == 1+len(id) && rest[0] == '/' && rest[1:] == id {
			return i
		}
	}
	return -1
}

// sections are the parts of the overview that have rows.
type sections struct{ needs, running, lately, adapters section }

func (p *sections) all() []*section { return []*section{&p.needs, &p.running, &p.lately, &p.adapters} }

func overviewSections(s *Screen) *sections {
	p := &sections{needsSection(s), runningSection(s), latelySection(s), adapterSection(s)}
	found := false
	for _, sec := range p.all() {
		sec.selected = -1
		if !found && s.Table.Selected != "" {
			sec.selected = sec.find(s.Table.Selected)
			found = sec.selected >= 0
		}
	}
	for _, sec := range p.all() { // until the person has chosen a row, it is the first one
		if !found && sec.n > 0 {
			sec.selected, found = 0, true
		}
	}
	return p
}

// want is how many lines a section takes, from a least on, with the second lines of rows that are too long for w cells.
func (p *section) want(s *Screen, least, w int) want {
	all := 1 + max(p.total, 1)
	most := all
	if all < s.H { // else there is no room for second lines
		for i := range p.n {
			if _, rest := p.draw(&s.Opts, i, w-2, true); rest != "" {
				most++
			}
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
	if p.n == 0 {
		return []string{title, s.paint(Muted, "   "+p.none)}[:min(h, 2)]
	}
	from, rows := windowOf(p.n, p.total, p.selected, h)
	spare := h - 1 - p.total
	lines := append(make([]string, 0, h), title)
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
func needsSection(s *Screen) section {
	list, total := alerts(s)
	p := section{title: "NEEDS YOU", role: Slow, n: len(list), total: total, alerts: list, none: s.glyph(glyphDone) + " nothing"}
	if len(list) > 0 && list[0].rank <= rankBroken {
		p.role = Bad
	}
	type words struct {
		badge      badge
		what, text string
	}
	told := map[int]words{}
	tell := func(i int) words {
		t, ok := told[i]
		if !ok {
			b, what, text := list[i].words(s)
			t = words{b, shown(what), shown(text)}
			told[i] = t
		}
		return t
	}
	word := 0
	p.about = func(i int) (string, string, OverviewRow) {
		return list[i].kind, list[i].key, OverviewRow{View: list[i].view, Key: list[i].key}
	}
	p.draw = func(o *Opts, i, w int, second bool) (string, string) {
		if word == 0 { // as wide as the first screenful needs
			word = 9
			for j := range min(len(list), s.H) {
				word = max(word, len(tell(j).badge.word))
			}
		}
		t := tell(i)
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
	return p
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
	p := section{title: "RUNNING", role: Busy, n: len(list), total: total, none: s.glyph(glyphIdle) + " no turn runs"}
	agents := slices.ContainsFunc(list, func(r *ops.Session) bool { return r.Agent != "" })
	if len(list) == 0 {
		p.total = 0
	}
	p.about = func(i int) (string, string, OverviewRow) {
		return "running", list[i].Key, OverviewRow{View: Sessions, Key: list[i].Key}
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
	list := s.Rates.Lately
	agents := slices.ContainsFunc(list, func(t ops.TurnEnded) bool { return t.Agent != "" })
	p.n, p.total = len(list), len(list)
	p.about = func(i int) (string, string, OverviewRow) {
		return "ended", list[i].Turn, OverviewRow{View: Sessions, Key: list[i].Session, Turn: list[i].Turn}
	}
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
	p := section{none: s.glyph(glyphIdle) + " none is configured", n: len(order), total: len(order)}
	name := 8
	for _, i := range order {
		name = min(max(name, cellsOf(shown(s.Snap.Adapters[i].Name))), 20)
	}
	p.about = func(i int) (string, string, OverviewRow) {
		name := s.Snap.Adapters[order[i]].Name
		return "adapter", name, OverviewRow{View: Adapters, Key: name}
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
	c, n := s.Snap.Counts, p.n
	if h < 2 {
		return nil
	}
	p.title = "ADAPTERS " + number(c.AdaptersConnected) + " of " + number(max(c.Adapters, n))
	if n == 0 {
		return []string{s.titleRule(p.title, "", w), s.paint(Muted, "   "+p.none)}
	}
	lines := []string{s.titleRule(p.title, "", w)}
	if n+1 <= h {
		for i := range n {
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
