package views

import (
	"slices"
	"time"

	"gatewaytui/core/ops"
)

// pairs are labelled texts, two in a line where both are short and fit.
func (s *Screen) pairs(p pane, list []Fact) []string {
	const label = 10
	half := (p.w - 2) / 2
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
			lines = append(lines, s.facts(list[:1], label, p.w-2)...)
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

// timeOfDay is t where Now is.
func timeOfDay(now time.Time, t ops.Time) string { return t.In(now.Location()).Format(time.TimeOnly) }
