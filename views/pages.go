package views

import (
	"slices"
	"strings"
)

// A detail has pages. To add one:
//
//  1. Write it in a file of its own, as a value of page for the kind of row that it is about (page[ops.Session]), and put
//     it into the pages of that list (sessionList.pages). Pages stand in the title in the order of that table, and the first
//     one is open until the person turns to another.
//  2. If it needs data that no snapshot has, make a struct for it (Talk, with the data as they are read) and a field of that
//     type in Screen. Its zero value is a page that has read nothing yet: say so in one line.
//  3. In package tui, write a reader that reads the data while the page is in sight, and name it in readerFor: see tui/reader.go.
//
// The wall cuts what a page draws to its pane, scrolls it, and shows why its data could not be read.

// page is one page of the detail of a row.
type page[T any] struct {
	// name stands in the title and in the palette: one short word.
	name string
	// lines draws all of the page for a pane that is p.w cells wide and shows p.h lines at a time, as many lines as it has.
	// Longer lines are cut. What comes from outside goes through s.clean or shown first.
	//
	// It is called for each frame and for each key that scrolls: a page that is costly to draw keeps its lines in its field of
	// Screen, drawn for a width when they were read.
	lines func(s *Screen, row *T, p pane) []string
	// second is the page that stands at its right where the screen has room for two; empty: the first other one.
	second string
	// ends says that the page opens at its end and stays there as it grows, until it is scrolled up.
	ends bool
	// folds says that the page draws more when Detail.Unfolded is set, which z then changes.
	folds bool
}

// pane is the room of one page, without its title, in cells and lines.
type pane struct{ w, h int }

// Detail is how the person looks at the detail of the selected row. It is the caller's; views only read it.
type Detail struct {
	// Open gives the detail the keys that move. Where list and detail do not fit next to each other, it lies over the list.
	Open bool
	// Page is the name of the open page (Pages). A name that the list does not have, or none, is its first page.
	Page string
	// Scroll is the first line of the open page in sight. With End the last ones are, and Scroll is not looked at.
	Scroll int
	End    bool
	// Whole gives the open page the whole body of the screen.
	Whole bool
	// Unfolded shows what a page folds.
	Unfolded bool
	// Errs say why the data of the pages in sight (InSight) could not be read, in their order; empty: they could.
	Errs [2]string
}

// PageInfo is what does not depend on a row: see page.
type PageInfo struct {
	Name, Second string
	Ends, Folds  bool
}

// Pages are the pages of the details of v, none for a view without a list.
func Pages(v View) []PageInfo { return infoOf(v).pages }

// InSight are the names of the pages that a screen of this size shows: none, the open one, or that and the second one.
// It looks at W, H, View and Detail alone.
func InSight(s Screen) []string {
	s.W, s.H = max(s.W, 1), max(s.H, 1)
	sp := s.split(s.W)
	open, second := s.openPages()
	switch {
	case sp.dw == 0:
		return nil
	case sp.bw == 0:
		return []string{open}
	}
	return []string{open, second}
}

// openPages are the names of the open page and of the second one; empty for a view without pages.
func (s *Screen) openPages() (open, second string) {
	pages := Pages(s.View)
	if len(pages) == 0 {
		return "", ""
	}
	at := max(slices.IndexFunc(pages, func(p PageInfo) bool { return p.Name == s.Detail.Page }), 0)
	other := max(slices.IndexFunc(pages, func(p PageInfo) bool { return p.Name == pages[at].Second && p.Name != pages[at].Name }), -1)
	if other < 0 {
		other = slices.IndexFunc(pages, func(p PageInfo) bool { return p.Name != pages[at].Name })
	}
	if other >= 0 {
		second = pages[other].Name
	}
	return pages[at].Name, second
}

// PageLines is how many lines the open page has on this screen, and how many of them it shows at a time; 0, 0 if no page is in
// sight.
func PageLines(s Screen) (all, shows int) {
	s.W, s.H = max(s.W, 1), max(s.H, 1)
	p, open := s.openPane()
	switch k := kinds[s.View]; {
	case open == "":
		return 0, 0
	case k != nil:
		return k.pageLines(&s, p), p.h
	}
	return len(streamDetail(&s, p)), p.h
}

// openPane is the room of the open page, and its name; empty: no page is in sight.
func (s *Screen) openPane() (pane, string) {
	p, sp := s.parts(), s.split(s.W)
	open, _ := s.openPages()
	h := s.H - len(p.head) - len(p.foot) - 1
	if sp.dw == 0 || h <= 0 {
		return pane{}, ""
	}
	return pane{sp.dw - 1, h}, open
}

// ScrollBy is d after its open page was scrolled down by lines, up if by is negative: within the page, and at its end with End.
func ScrollBy(s Screen, by int) Detail {
	all, shows := PageLines(s)
	d, last := s.Detail, max(all-shows, 0)
	at := min(max(d.Scroll, 0), last)
	if d.End {
		at = last
	}
	d.Scroll = min(max(at+by, 0), last)
	open, _ := s.openPages()
	i := slices.IndexFunc(Pages(s.View), func(p PageInfo) bool { return p.Name == open })
	d.End = i >= 0 && Pages(s.View)[i].Ends && d.Scroll == last
	return d
}

func (l *list[T]) page(name string) *page[T] {
	if p := find(l.pages, func(p *page[T]) bool { return p.name == name }); p != nil {
		return p
	}
	return &l.pages[0]
}

func (l *list[T]) pageLines(s *Screen, p pane) int {
	row := l.selected(s)
	if row == nil {
		return 0
	}
	return len(l.page(s.Detail.Page).lines(s, row, p))
}

// detail draws the page called name of the selected row: exactly h lines of w cells.
func (l *list[T]) detail(s *Screen, name string, open bool, w, h int) []string {
	pg := l.page(name)
	var lines []string
	if row := l.selected(s); row != nil {
		lines = pg.lines(s, row, pane{w - 1, h - 1})
	} else if s.Table.Selected == "" {
		lines = []string{" No row is selected."}
	} else {
		lines = []string{" It is not listed any more."}
	}
	return s.pane(s.Table.Selected, PageInfo{Name: pg.name, Ends: pg.ends}, open, lines, w, h)
}

// pane draws the lines of a page: exactly h lines of w cells. The open page has the title of its row with all pages and is scrolled.
// The second one has its own name as title and shows its begin, or its end if it ends.
func (s *Screen) pane(title string, pg PageInfo, open bool, lines []string, w, h int) []string {
	room := max(h-1, 0)
	last := max(len(lines)-room, 0)
	at, why := 0, s.Detail.Errs[1]
	if open {
		at, why = min(max(s.Detail.Scroll, 0), last), s.Detail.Errs[0]
	}
	if open && s.Detail.End || !open && pg.Ends {
		at = last
	}
	place := ""
	if last > 0 {
		place = number(at+1) + "-" + number(min(at+room, len(lines))) + "/" + number(len(lines))
	}
	out := append(make([]string, 0, h+1), s.paneTitle(title, pg.Name, open, place, w))
	out = append(out, lines[at:min(at+room, len(lines))]...)
	if why != "" && h > 1 {
		out = append(out[:min(len(out), h-1)], s.paint(Slow, " "+s.glyph(glyphSlow)+" "+s.cut(shown(why), w-4)))
	}
	return fit(out, w, h)
}

// paneTitle is the line above a page: of the open one the row and all pages, of the other one its name; and which lines are in
// sight if there are more.
func (s *Screen) paneTitle(title, name string, open bool, place string, w int) string {
	if !open {
		return s.line(w).add(0, Heading, " "+name).end(Muted, place)
	}
	var tabs strings.Builder
	used := 0
	for _, p := range Pages(s.View) {
		text, role := p.Name, Muted
		if p.Name == name {
			text, role = "["+p.Name+"]", Accent
		}
		if used += 1 + len(text); used > w-12 {
			break
		}
		if s.Detail.Open {
			role = Plain
		}
		tabs.WriteString(" " + s.paint(role, text))
	}
	title = s.cutHead(s.clean(title, maxShown), max(w-cellsOf(tabs.String())-3, 8))
	role := Heading
	if s.Detail.Open {
		role = Plain
	}
	line := " " + s.paint(role, title) + " " + tabs.String()
	if room := w - cellsOf(line); place != "" && room >= len(place)+2 {
		line += spaces(room-len(place)-1) + s.paint(Muted, place)
	}
	if s.Detail.Open {
		return s.highlight(fitLine(line, w))
	}
	return line
}
