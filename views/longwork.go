package views

import (
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// longAfter is how long a task runs before it is shown on every screen.
const longAfter = 2 * time.Second

// A screen of at least barFrom cells has a bar of barCells for a task that can tell its share.
const (
	barFrom  = 100
	barCells = 14
)

// longWork says of the oldest task that can tell how far it is, such as a backup, what it is and how far; empty if none runs
// for long.
func (s *Screen) longWork() string {
	rows := slices.DeleteFunc(slices.Clone(s.Snap.Background), func(b ops.Background) bool {
		return b.Progress == "" || b.StartedAt.IsZero() || s.Now.Sub(b.StartedAt.Time) < longAfter
	})
	if len(rows) == 0 {
		return ""
	}
	b := slices.MinFunc(rows, func(a, b ops.Background) int { return a.StartedAt.Compare(b.StartedAt.Time) })
	text := s.clean(strings.TrimPrefix(strings.TrimPrefix(b.Name, "request "), "gateway."), maxWord) +
		": " + s.clean(b.Progress, maxShown) + ", for " + clockSince(s.Now, b.StartedAt)
	if b.Percent > 0 && s.W >= barFrom {
		text = s.bar(time.Duration(b.Percent), 100, barCells) + " " + text
	}
	if more := len(rows) - 1; more > 0 {
		text += "; and " + count(more, "other long task")
	}
	return text
}
