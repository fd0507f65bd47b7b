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
		role := Plain
		if s.Failed {
			role = Bad
		}
		text := s.clean(s.Message, maxShown)
		if s.Failed {
			text = s.glyph(glyphBad) + " " + text
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
	age := ""
	if !s.Link.At.IsZero() {
		if d := s.Now.Sub(s.Link.At); d < 10*time.Second {
			age = fmt.Sprintf("%.1fs", max(d, 0).Seconds())
		} else {
			age = clock(d)
		}
	}
	switch {
	case s.Link.State == LinkLoading:
		return "connecting", Busy
	case s.Link.State == LinkGone:
		return "gone", Danger
	case s.Link.State == LinkStale:
		return "STALE " + s.staleFor(), Bad
	case s.Link.Paused:
		return "paused " + clockSince(s.Now, ops.At(s.Link.At)), Slow
	case age == "":
		return "live", Muted
	}
	return "live, " + age + " ago", Muted
}

// keys are at most n lines of hints. Where they do not all fit the last ones go, but the very last, which leads to the
// others, stays.
func (s *Screen) keys(w, n int) []string {
	lines := make([]string, 0, n)
	hints := s.Hints
	for len(lines) < n {
		room := w - 1
		last := len(lines) == n-1
		var reserve int
		if last && len(hints) > 1 {
			reserve = hintWidth(hints[len(hints)-1]) + 2
		}
		var b strings.Builder
		taken := 0
		for i, h := range hints {
			need := hintWidth(h)
			if taken > 0 {
				need += 2
			}
			keep := 0
			if i < len(hints)-1 && !fits(hints[i:], room) {
				keep = reserve
			}
			if need > room-keep {
				break
			}
			s.hint(&b, h, taken > 0)
			room -= need
			taken++
		}
		hints = hints[taken:]
		if last && len(hints) > 0 && taken > 0 {
			s.hint(&b, hints[len(hints)-1], true)
		}
		lines = append(lines, " "+b.String())
		if len(hints) == 0 {
			break
		}
	}
	return lines
}

// fits reports whether all of hints fit into room cells after others.
func fits(hints []Hint, room int) bool {
	for _, h := range hints {
		room -= hintWidth(h) + 2
	}
	return room >= 0
}

func hintWidth(h Hint) int {
	w := cellsOf(h.Key)
	if h.Label != "" {
		w += 1 + cellsOf(h.Label)
	}
	return w
}

func (s *Screen) hint(b *strings.Builder, h Hint, more bool) {
	if more {
		b.WriteString("  ")
	}
	b.WriteString(s.paint(Accent, h.Key))
	if h.Label != "" {
		b.WriteByte(' ')
		b.WriteString(h.Label)
	}
}
