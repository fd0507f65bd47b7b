package views

import (
	"slices"
	"time"

	"gatewaytui/core/ops"
)

// labels is how wide the labels of a detail are, in cells.
const labels = 11

// told draws groups of labelled texts, each in one column, or in two where the pane is wide and the texts are short. A text that
// is empty is left out with its label. Groups are apart by a blank line where the pane has the height.
func (s *Screen) told(p pane, groups ...[]Fact) []string {
	var parts [][]string
	lines := 0
	for _, g := range groups {
		if part := s.told1(p, g); len(part) > 0 {
			parts = append(parts, part)
			lines += len(part)
		}
	}
	var out []string
	for i, part := range parts {
		if i > 0 && lines+len(parts)-1 <= p.h {
			out = append(out, "")
		}
		out = append(out, part...)
	}
	return out
}

// told1 is one group.
func (s *Screen) told1(p pane, list []Fact) []string {
	const two = 76 // cells, from which on two texts fit next to each other
	half, room := (p.w-2)/2, max(p.w-2, 1)
	list = s.cleaned(list)
	if p.w < two {
		return indented(s.facts(list, labels, room))
	}
	lines := make([]string, 0, len(list))
	for len(list) > 0 {
		n := min(len(list), 2)
		if slices.ContainsFunc(list[:n], func(f Fact) bool { return cellsOf(f.Text) >= half-labels }) {
			n = 1
		}
		if n == 2 {
			left, right := s.facts(list[:1], labels, half), s.facts(list[1:2], labels, half)
			lines = append(lines, fitLine(left[0], half)+right[0])
		} else {
			lines = append(lines, s.facts(list[:1], labels, room)...)
		}
		list = list[n:]
	}
	return indented(lines)
}

// cleaned is list with its texts as they will be drawn, so that they can be measured, without the empty ones.
func (s *Screen) cleaned(list []Fact) []Fact {
	out := make([]Fact, 0, len(list))
	for _, f := range list {
		if f.Text = s.clean(f.Text, maxShown); f.Text != "" {
			out = append(out, f)
		}
	}
	return out
}

func indented(lines []string) []string {
	for i := range lines {
		lines[i] = " " + lines[i]
	}
	return lines
}

// heading stands above a part of a page that lists rows.
func (s *Screen) heading(text string) string { return " " + s.paint(Heading, s.clean(text, maxWord)) }

// when is a moment and how long ago it was.
func when(now time.Time, t ops.Time) string {
	if t.IsZero() {
		return "never"
	}
	d, ok := ago(now, t)
	if !ok {
		return unknown
	}
	at := timeOfDay(now, t)
	if d >= 24*time.Hour {
		at = t.In(now.Location()).Format("2 Jan 15:04")
	}
	return span(d) + " ago, at " + at
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

// timeOfDay is t where Now is.
func timeOfDay(now time.Time, t ops.Time) string { return t.In(now.Location()).Format(time.TimeOnly) }
