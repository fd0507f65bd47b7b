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
	from := min(max(s.Table.Offset, 0), len(rows))
	for i := from; i < min(from+s.H, len(rows)); i++ {
		if l.key(&rows[i]) == s.Table.Selected {
			return &rows[i]
		}
	}
	if i := l.index(&s.Snap, s.Table.Selected); i >= 0 {
		return &rows[i]
	}
	return nil
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

func sessionOf(s *Screen, key string) *ops.Session {
	for i := range s.Snap.Sessions {
		if s.Snap.Sessions[i].Key == key {
			return &s.Snap.Sessions[i]
		}
	}
	return nil
}

func agentOf(s *Screen, session string) *ops.Agent {
	for i := range s.Snap.Agents {
		if s.Snap.Agents[i].Session == session {
			return &s.Snap.Agents[i]
		}
	}
	return nil
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
		state := processBadges.of(r.State)
		b := s.appendCell([]byte{' '}, strconv.Itoa(r.PID), 7, true, false)
		b = append(b, ' ')
		b = append(b, s.paint(state.role, s.badge(state))...)
		b = append(b, spaces(13-cellsOf(s.badge(state)))...)
		b = s.appendCell(b, percent(r.CPUPct), 7, true, false)
		b = append(b, ' ')
		b = s.appendCell(b, size(r.RSSBytes), 8, true, false)
		b = append(b, "  "...)
		if deep[i] > 0 {
			b = append(b, s.indent(deep[i])...)
		}
		lines[i] = string(append(b, s.clean(r.Command, maxShown)...))
	}
	return lines
}

// timeOfDay is t where Now is.
func timeOfDay(now time.Time, t ops.Time) string { return t.In(now.Location()).Format(time.TimeOnly) }
