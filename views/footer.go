package views

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
)

// prompt is what takes the status line when there is one: what is being typed, else what was done or why not.
func (s *Screen) prompt(w int) (string, bool) {
	switch {
	case s.Input != "":
		return s.input(w), true
	case s.Message != "":
		role, text := Plain, s.clean(s.Message, maxShown)
		if s.Failed {
			role, text = Bad, s.glyph(glyphBad)+" "+text
		}
		return s.paint(role, " "+text), true
	}
	return "", false
}

// input is the prompt with its cursor at the end; of one that is too long the end is seen.
func (s *Screen) input(w int) string {
	cursor := "_"
	if !s.ASCII {
		cursor = "█"
	}
	text := s.clean(s.Input, 0)
	if over := cellsOf(text) - (w - 2); over > 0 {
		text = ansi.TruncateLeft(text, over, "")
	}
	return " " + s.paint(Accent, text+cursor)
}

// status is the line above the keys: the prompt or message, else how many rows there are and in which order; and how fresh
// they are. An active filter is always shown.
func (s *Screen) status(w int) string {
	fresh, role := s.freshness()
	right := ""
	switch {
	case s.Input != "":
		right = s.rows()
	case s.Table.Filter != "":
		right = s.filter()
	}
	room := max(w-cellsOf(right)-3, w/2)
	if text, ok := s.prompt(room); ok {
		return s.line(w).add(0, Plain, cut(text, room, s.ellipsis())).end(Muted, right)
	}
	l := s.line(w).add(0, Plain, " ")
	gap := 0
	for _, text := range []string{s.rows(), s.sort(), s.filter()} {
		l.add(gap, Plain, text)
		if text != "" {
			gap = 3
		}
	}
	if n := len(s.Table.Marked); n > 0 {
		l.add(gap, Accent, strconv.Itoa(n)+" marked")
	}
	l.add(gap, role, fresh)
	if s.Link.Missed > 0 {
		l.add(3, Slow, count(s.Link.Missed, "event")+" missed")
	}
	return l.String()
}

// listed is what the rows of the view are called; empty for a view without a list, and before the first answer.
func (s *Screen) listed() string {
	if s.Link.State == LinkLoading {
		return ""
	}
	return infoOf(s.View).noun
}

// rows is "12 of 340 sessions".
func (s *Screen) rows() string {
	noun := s.listed()
	if noun == "" {
		return ""
	}
	n := Rows(&s.Snap, s.View)
	return strconv.Itoa(n) + " of " + strconv.Itoa(max(n, s.Table.Total)) + " " + noun
}

func (s *Screen) sort() string {
	if s.listed() == "" {
		return ""
	}
	text := "sort " + s.clean(or(s.Table.Sort, DefaultSort(s.View)), maxWord)
	if s.Table.Reverse {
		text += " reversed"
	}
	return text
}

func (s *Screen) filter() string {
	switch {
	case s.Table.Filter != "":
		return "filter " + s.clean(s.Table.Filter, maxWord)
	case s.listed() != "":
		return "filter off"
	}
	return ""
}

// freshness is how old the picture is.
func (s *Screen) freshness() (string, Role) {
	age := s.Now.Sub(s.Link.At)
	switch {
	case s.Replay != nil:
		return "a replay: not live; esc leaves", Accent
	case s.Link.State == LinkLoading:
		return "connecting", Busy
	case s.Link.State == LinkGone:
		return "gone", Danger
	case s.Link.State == LinkStale:
		return "STALE " + s.staleFor(), Bad
	case s.Link.Paused:
		return "paused " + clockSince(s.Now, ops.At(s.Link.At)), Slow
	case s.Link.At.IsZero():
		return "live", Muted
	case age < 10*time.Second:
		return fmt.Sprintf("live, %.1fs ago", max(age, 0).Seconds()), Muted
	}
	return "live, " + clock(age) + " ago", Muted
}

// keys are at most n lines of hints. Where they do not all fit the last ones go, but the very last, which leads to the
// others, stays.
func (s *Screen) keys(w, n int) []string {
	lines, hints, room := make([]string, 0, n), s.Hints, w-1
	for len(lines) < n && (len(hints) > 0 || len(lines) == 0) {
		row := hints[:fitting(hints, room)]
		if n := len(hints); len(lines) == cap(lines)-1 && len(row) < n && n > 1 {
			last := hints[n-1]
			if row = hints[:fitting(hints, room-hintWidth(last)-2)]; len(row) > 0 {
				row = append(row[:len(row):len(row)], last)
			}
		}
		texts := make([]string, len(row))
		for i, h := range row {
			texts[i] = strings.TrimSuffix(s.paint(Accent, h.Key)+" "+h.Label, " ")
		}
		lines = append(lines, " "+strings.Join(texts, "  "))
		hints = hints[min(len(row), len(hints)):]
	}
	return lines
}

func fitting(hints []Hint, room int) int {
	for i, h := range hints {
		if room -= hintWidth(h); room < 0 {
			return i
		}
		room -= 2 // to the next one
	}
	return len(hints)
}

func hintWidth(h Hint) int {
	w := cellsOf(h.Key)
	if h.Label != "" {
		w += 1 + cellsOf(h.Label)
	}
	return w
}
