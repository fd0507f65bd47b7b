package views

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/term"
)

// maxShown is how much of one untrusted text is looked at, in runes: more than the widest screen has cells.
const maxShown = 600

// shown is untrusted text on its way into a cell.
func shown(s string) string { return term.Clean(s, maxShown) }

// or is s, or what stands for an empty one.
func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// wrap breaks text into lines of at most w cells, at spaces where there are any.
func wrap(text string, w int) []string {
	if w < 1 || text == "" {
		return nil
	}
	lines := strings.Split(ansi.Wrap(text, w, ""), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return lines
}

// wrapped is untrusted text in lines of at most w cells.
func (o *Opts) wrapped(r Role, text string, w int) []string {
	lines := wrap(shown(text), w)
	for i, line := range lines {
		lines[i] = o.paint(r, line)
	}
	return lines
}

// tenths is a short duration with one decimal: 10.5s. From 100 s on it is a clock.
func tenths(d time.Duration) string {
	d = max(d, 0)
	if d >= 100*time.Second {
		return clock(d)
	}
	return fmt.Sprintf("%d.%ds", d/time.Second, d%time.Second/(100*time.Millisecond))
}

// budget is a planned duration: 15s, 0.5s, 2:00.
func budget(d time.Duration) string {
	if d = max(d, 0); d%time.Second == 0 && d < 100*time.Second {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return tenths(d)
}

// millis is a count of milliseconds from the wire, which may be nonsense.
func millis(n int64) time.Duration {
	const most = int64(10 * 365 * 24 * time.Hour / time.Millisecond)
	return time.Duration(min(max(n, 0), most)) * time.Millisecond
}

// count is "1 adapter", "2 adapters"; a name that is a plural already stays.
func count(n int, what string) string {
	if n == 1 || strings.HasSuffix(what, "s") {
		return fmt.Sprintf("%d %s", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// names lists a few words: "a", "a and b", "a, b and 3 more".
func names(list []string, most int) string {
	switch n := len(list); {
	case n == 0:
		return ""
	case n == 1:
		return list[0]
	case n <= most:
		return strings.Join(list[:n-1], ", ") + " and " + list[n-1]
	default:
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), n-most)
	}
}
