package views

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// details tell of the selected row: a line with its key and the tabs, then the open tab.
func (l *list[T]) details(s *Screen, w int) []string {
	if s.Table.Selected == "" {
		return []string{s.rule("details", w), " No row is selected."}
	}
	row := l.selected(s)
	title := s.clean(s.Table.Selected, maxShown)
	if row == nil {
		return []string{s.rule(title, w), " It is not listed any more."}
	}
	open := min(max(s.DetailTab, 0), len(l.tabs)-1)
	return append([]string{l.tabRule(s, title, open, w)}, l.tabs[open].lines(s, row, w)...)
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

func (l *list[T]) tabRule(s *Screen, title string, open, w int) string {
	var tabs strings.Builder
	room := w - 5
	for i, t := range l.tabs {
		name := " " + t.name
		if i == open {
			name = " [" + t.name + "]"
		}
		if room -= len(name); room < 1 {
			break
		}
		if i == open {
			name = s.paint(Accent, name)
		}
		tabs.WriteString(name)
	}
	dash := s.glyph(glyphLine)
	title = cut(title, room-1, s.ellipsis())
	line := s.paint(Muted, dash+dash) + " " + s.paint(Heading, title) + " " + tabs.String() + " "
	return line + s.paint(Muted, strings.Repeat(dash, max(w-cellsOf(line), 0)))
}

// pairs are labelled texts, two in a line where both are short and fit.
func (s *Screen) pairs(w int, list []Fact) []string {
	const label = 10
	half := (w - 2) / 2
	var lines []string
	for list = s.cleaned(list); len(list) > 0; {
		n := min(len(list), 2)
		if half < 3*label || slices.ContainsFunc(list[:n], func(f Fact) bool { return cellsOf(f.Text) >= half-label }) {
			n = 1
		}
		if n == 2 {
			left, right := s.facts(list[:1], label, half), s.facts(list[1:2], label, half)
			lines = append(lines, fitLine(left[0], half)+right[0])
		} else {
			lines = append(lines, s.facts(list[:1], label, w-2)...)
		}
		list = list[n:]
	}
	return indented(lines)
}

// cleaned is list with its texts as they will be drawn, so that they can be measured.
func (s *Screen) cleaned(list []Fact) []Fact {
	for i := range list {
		list[i].Text = s.clean(list[i].Text, maxShown)
	}
	return list
}

func indented(lines []string) []string {
	for i := range lines {
		lines[i] = " " + lines[i]
	}
	return lines
}

// when is a moment and how long ago it was.
func when(now time.Time, t ops.Time) string {
	if t.IsZero() {
		return "never"
	}
	d, ok := ago(now, t)
	if !ok {
		return unknown
	}
	return clock(d) + " ago, at " + timeOfDay(now, t)
}

// find is the first row that is meant, nil if none is.
func find[T any](rows []T, is func(*T) bool) *T {
	for i := range rows {
		if is(&rows[i]) {
			return &rows[i]
		}
	}
	return nil
}

func sessionOf(s *Screen, key string) *ops.Session {
	return find(s.Snap.Sessions, func(r *ops.Session) bool { return r.Key == key })
}

func agentOf(s *Screen, session string) *ops.Agent {
	return find(s.Snap.Agents, func(r *ops.Agent) bool { return r.Session == session })
}

// sessionProcesses are the trees of one session, in as few columns as tell what they do.
func sessionProcesses(s *Screen, session string, w int) []string {
	var rows []*ops.Process
	for i := range s.Snap.Processes {
		if s.Snap.Processes[i].Session == session {
			rows = append(rows, &s.Snap.Processes[i])
		}
	}
	if len(rows) == 0 {
		return []string{" No processes."}
	}
	tree(rows)
	own := make([]ops.Process, min(len(rows), s.H))
	for i := range own {
		own[i] = *rows[i]
	}
	deep := depths(own, 0, len(own))
	lines := make([]string, len(own))
	for i := range own {
		r := &own[i]
		state, under := processBadges.of(r.State), ""
		if deep[i] > 0 {
			under = s.indent(deep[i])
		}
		lines[i] = " " + s.right(Plain, strconv.Itoa(r.PID), 7) + " " + s.cell(state.role, s.badge(state), 13) + s.right(Plain, percent(r.CPUPct), 7) + " " +
			s.right(Plain, size(r.RSSBytes), 8) + "  " + under + s.clean(r.Command, maxShown)
	}
	return lines
}

// timeOfDay is t where Now is.
func timeOfDay(now time.Time, t ops.Time) string { return t.In(now.Location()).Format(time.TimeOnly) }
