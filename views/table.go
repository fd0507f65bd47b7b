package views

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

// list is one kind of row: how it is drawn, filtered, sorted and told in detail. The four lists are values of it.
type list[T any] struct {
	// noun is what the rows are called.
	noun    string
	columns []column[T]
	// first is the column that rows are sorted by when no other is asked for.
	first string
	rows  func(*ops.Snapshot) *[]T
	key   func(*T) string
	// tie orders rows that a column leaves equal, by key.
	tie func(a, b *T) int
	// fields are what a filter looks at.
	fields []filter.Field[T]
	// arrange changes the order once more when rows are sorted by the first column; nil leaves it.
	arrange func(rows []*T)
	// depth is how far each of rows[from:to] stands under others in the name column; nil: none does.
	depth func(rows []T, from, to int) []int
	// pages are the pages of the detail of a row, at least one.
	pages []page[T]
	empty func(s *Screen) string
}

type column[T any] struct {
	// name is what a sort and a filter call it; title stands in the header, and is the name's words in capitals if empty.
	name, title string
	// width is in cells. The column with width 0, one in each list, takes what the others leave, and least at the least
	// as long as there is another one to drop.
	width, least int
	// drop says when the column goes as the screen gets narrower, the greatest first; 0 stays.
	drop int
	// wide takes what the column with width 0 does not need.
	wide bool
	// right aligns to the right; tail keeps the end of a text that is too long, not its beginning.
	right, tail bool
	// sign stands before the text of a cell, with a blank; nil: there is none.
	sign func(o *Opts, row *T) glyph
	// cell is what is drawn, nil for a column that only sorts or filters; it may be untrusted.
	cell func(o *Opts, row *T) (string, Role)
	// compare is the column's natural order, nil for none; down says that it goes from great to small.
	compare func(a, b *T) int
	down    bool
	// at is compare for a column whose order depends on the moment; urgent are the rows that it puts first, which never
	// wait for their place (TableState.Places).
	at     func(now time.Time) func(a, b *T) int
	urgent func(row *T, now time.Time) bool
}

func (c *column[T]) sorts() bool { return c.compare != nil || c.at != nil }

// named is a column of a text without a word for an empty one.
func named[T any](name string, width, drop int, of func(*T) string) column[T] {
	return column[T]{
		name: name, width: width, drop: drop,
		cell:    func(_ *Opts, r *T) (string, Role) { return or(of(r), unknown), Plain },
		compare: func(a, b *T) int { return strings.Compare(of(a), of(b)) },
	}
}

// worded is named with a dot for an empty text.
func worded[T any](name string, width, drop int, of func(*T) string) column[T] {
	c := named(name, width, drop, of)
	c.cell = func(o *Opts, r *T) (string, Role) { return o.dotted(of(r)) }
	return c
}

// keyed is the column of the key of a session, of which the end tells the most.
func keyed[T any](of func(*T) string) column[T] {
	c := named("session", 0, 0, of)
	c.least, c.tail = 22, true
	return c
}

// counted is a column of a number, the greatest first.
func counted[T any, N cmp.Ordered](name string, width, drop int, show func(N) string, of func(*T) N) column[T] {
	return column[T]{
		name: name, width: width, drop: drop, right: true, down: true,
		cell:    func(o *Opts, r *T) (string, Role) { return o.dotted(show(of(r))) },
		compare: func(a, b *T) int { return cmp.Compare(of(b), of(a)) },
	}
}

// happened is a column of a moment as its age, the newest first.
func happened[T any](name string, width, drop int, of func(*T) ops.Time) column[T] {
	return column[T]{
		name: name, width: width, drop: drop, right: true,
		cell:    func(o *Opts, r *T) (string, Role) { return o.dotted(sinceText(o.Now, of(r))) },
		compare: func(a, b *T) int { return of(b).Compare(of(a).Time) },
	}
}

// inState is the column of the badge, in the order of the table of badges.
func inState[T any](width int, of func(*Opts, *T) badge, rank func(*T) int) column[T] {
	return column[T]{
		name: "state", width: width,
		sign: func(o *Opts, r *T) glyph { return of(o, r).glyph },
		cell: func(o *Opts, r *T) (string, Role) {
			b := of(o, r)
			return b.word, b.role
		},
		compare: func(a, b *T) int { return cmp.Compare(rank(a), rank(b)) },
	}
}

// pagesOf are the pages of a row that belongs to a session; without says that the session is not listed.
func pagesOf[T any](details func(s *Screen, row *T, p pane) []string, session func(*T) string, without string) []page[T] {
	return []page[T]{
		{name: "details", lines: details},
		{name: "session", lines: func(s *Screen, row *T, p pane) []string {
			if of := sessionOf(s, session(row)); of != nil {
				return append([]string{s.heading(of.Key)}, sessionDetails(s, of, p)...)
			}
			return []string{without}
		}},
		{name: PageProcesses, lines: func(s *Screen, row *T, _ pane) []string {
			return append([]string{s.heading("all of " + or(session(row), "the gateway"))}, sessionProcesses(s, session(row))...)
		}},
		logPage[T](),
	}
}

const gutter = 3 // '>' of the selected row, '*' of a marked one, a blank

// placed is a column with the width that a screen gives it.
type placed[T any] struct {
	*column[T]
	cells int
}

// place chooses the columns for w cells.
func (l *list[T]) place(w int) []placed[T] {
	out := make([]placed[T], 0, len(l.columns))
	used, least := gutter, 0
	for i := range l.columns {
		c := &l.columns[i]
		if c.cell == nil {
			continue
		}
		out = append(out, placed[T]{c, c.width})
		used += c.width + 1
		least += c.least
	}
	for used+least > w {
		worst := -1
		for i, p := range out {
			if p.drop > 0 && (worst < 0 || p.drop > out[worst].drop) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		used -= out[worst].cells + 1
		least -= out[worst].least
		out = slices.Delete(out, worst, worst+1)
	}
	const enough = 40 // for a name, if another column can use the rest
	rest := max(w-used, 1)
	if i := slices.IndexFunc(out, func(p placed[T]) bool { return p.wide }); i >= 0 && rest > enough {
		out[i].cells += rest - enough
		rest = enough
	}
	for i := range out {
		if out[i].width == 0 {
			out[i].cells = rest
		}
	}
	return out
}

// table draws the header and the window of the rows that begins at the offset: at most h lines of at most w cells.
func (l *list[T]) table(s *Screen, w, h int) []string {
	if h < 1 {
		return nil
	}
	columns := l.place(w)
	lines := append(make([]string, 0, h), s.paint(Muted, string(l.header(s, nil, columns))))
	rows := *l.rows(&s.Snap)
	from := min(max(s.Table.Offset, 0), max(len(rows)-(h-1), 0))
	return append(lines, l.window(s, columns, rows, from, min(from+h-1, len(rows)), w)...)
}

func (l *list[T]) window(s *Screen, columns []placed[T], rows []T, from, to, w int) []string {
	var depth []int
	if l.depth != nil {
		depth = l.depth(rows, from, to)
	}
	lines := make([]string, 0, to-from)
	at := l.indexOf(rows[from:to], s.Table.Selected)
	b := make([]byte, 0, 4*w)
	for i := from; i < to; i++ {
		under := 0
		if depth != nil {
			under = depth[i-from]
		}
		selected := at >= 0 && i == from+at
		b = l.row(s, b[:0], columns, &rows[i], under, selected, len(s.Table.Marked) > 0 && s.Table.Marked[l.key(&rows[i])])
		if selected {
			lines = append(lines, s.highlight(fitLine(string(b), w)))
		} else {
			lines = append(lines, string(b))
		}
	}
	return lines
}

// indexOf is the index of the row with a key, -1 for none.
func (l *list[T]) indexOf(rows []T, key string) int {
	for i := range rows {
		if key != "" && l.key(&rows[i]) == key {
			return i
		}
	}
	return -1
}

// row draws one row onto b.
func (l *list[T]) row(s *Screen, b []byte, columns []placed[T], row *T, under int, selected, marked bool) []byte {
	b = append(b, "   "...)
	if selected {
		b[0] = '>'
	}
	if marked {
		b[1] = '*'
	}
	for _, c := range columns {
		text, role := c.cell(&s.Opts, row)
		if c.width == 0 && under > 0 {
			text = s.indent(under) + text
		}
		on := s.Theme.begin(role)
		b = append(b, on...)
		cells := c.cells
		if c.sign != nil && cells > 2 {
			b = append(append(b, s.glyph(c.sign(&s.Opts, row))...), ' ')
			cells -= 2
		}
		b = s.appendCell(b, text, cells, c.right, c.tail)
		if on != "" {
			b = append(b, off...)
		}
		b = append(b, ' ')
	}
	return b
}

// header names the columns and marks the one that sorts with its direction.
func (l *list[T]) header(s *Screen, b []byte, columns []placed[T]) []byte {
	by := l.column(s.Table.Sort)
	b = append(b, "   "...)
	for _, c := range columns {
		title := or(c.title, strings.ToUpper(strings.ReplaceAll(c.name, "-", " ")))
		if c.column == by {
			arrow := glyphUp
			if c.down != s.Table.Reverse {
				arrow = glyphDown
			}
			title += s.glyph(arrow)
		}
		b = append(s.appendCell(b, title, c.cells, c.right, false), ' ')
	}
	return b
}

// column is the one called name that can sort, else the first one.
func (l *list[T]) column(name string) *column[T] {
	sorter := func(name string) *column[T] {
		return find(l.columns, func(c *column[T]) bool { return c.sorts() && c.name == name })
	}
	if c := sorter(name); c != nil {
		return c
	}
	return sorter(l.first)
}

// indent stands before the name of a row that belongs under another one, depth at least 1.
func (o *Opts) indent(depth int) string {
	const deepest = 8 // a deeper one would leave no room for its name
	return spaces(2*min(depth-1, deepest)) + o.glyph(glyphBranch) + " "
}

// From sideWidth columns and sideHeight lines on a list has its detail next to it, from twoWidth on with two pages.
const (
	sideWidth, sideHeight = 120, 16
	twoWidth              = 180
)

// split is how wide a list, the open page and the second one are, each 0 if it is not shown.
type split struct{ lw, dw, bw int }

func (s *Screen) split(w int) split {
	open, second := s.openPages()
	both := s.W >= sideWidth && s.H >= sideHeight
	switch {
	case open == "", s.layout() == layoutLine, !both && !s.Detail.Open:
		return split{lw: w}
	case !both, s.Detail.Whole:
		return split{dw: w}
	case s.W < twoWidth || second == "":
		dw := (w - 1) / 2
		return split{lw: w - 1 - dw, dw: dw}
	}
	dw := (w - 2) / 3
	return split{lw: w - 2 - 2*dw, dw: dw, bw: dw}
}

func (l *list[T]) body(s *Screen, w, h int) []string {
	if len(*l.rows(&s.Snap)) == 0 {
		return l.emptyBody(s, w)
	}
	sp := s.split(w)
	if sp.dw == 0 {
		return l.table(s, sp.lw, h)
	}
	open, second := s.openPages()
	lines := l.detail(s, open, true, sp.dw, h)
	if sp.bw > 0 {
		lines = s.joined("", lines, l.detail(s, second, false, sp.bw, h))
	}
	if sp.lw > 0 {
		lines = s.joined("", fit(l.table(s, sp.lw, h), sp.lw, h), lines)
	}
	return lines
}

func (l *list[T]) emptyBody(s *Screen, w int) []string {
	text := wrongFilter(s.Table.Filter, l.fields)
	switch {
	case s.Link.State == LinkLoading:
		text = strings.TrimSpace("Waiting for the gateway's first answer. " + s.clean(s.Link.Err, maxShown))
	case text != "":
	case s.Table.Filter != "" && s.Table.Total > 0:
		text = "0 of " + number(s.Table.Total) + " match `" + s.clean(s.Table.Filter, maxWord) + "`; esc clears"
	case s.Link.State == LinkGone:
		text = "The gateway is gone; there were no " + l.noun + " when it was last seen."
	default:
		text = l.empty(s)
	}
	lines := indented(wrap(text, max(w-2, 1)))
	if s.layout() == layoutStrip {
		return lines
	}
	return append([]string{""}, lines...)
}

// wrongFilter says what is wrong with a filter, nothing if it can be read.
func wrongFilter[T any](text string, fields []filter.Field[T]) string {
	if _, err := filter.Parse(text, fields); err != nil {
		return shown(err.Error())
	}
	return ""
}

// selected looks where the row most likely is before it looks everywhere.
func (l *list[T]) selected(s *Screen) *T {
	rows := *l.rows(&s.Snap)
	is := func(r *T) bool { return l.key(r) == s.Table.Selected }
	from := min(max(s.Table.Offset, 0), len(rows))
	if row := find(rows[from:min(from+s.H, len(rows))], is); row != nil {
		return row
	}
	return find(rows, is)
}
