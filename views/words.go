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

// painter draws pieces of lines in one theme and one character set.
type painter struct {
	theme *Theme
	ascii bool
}

func painterOf(o Opts) painter { return painter{o.Theme, o.ASCII} }

// pick is the sign for the character set.
func (k painter) pick(ascii, fine string) string {
	if k.ascii {
		return ascii
	}
	return fine
}

func (k painter) ellipsis() string { return k.pick("~", string(term.Ellipsis)) }

// cut shortens text to w cells, with a sign that says so.
func (k painter) cut(text string, w int) string {
	if w < 1 {
		return ""
	}
	if printable(text) { // as most texts are, and the measuring of others costs most of a frame
		if len(text) <= w {
			return text
		}
		return text[:w-1] + k.ellipsis()
	}
	if cellsOf(text) <= w {
		return text
	}
	return cut(text, w, k.ellipsis())
}

// cutKeepingTime is cut for a text that may end with a time ("running make test 0:40"), which stays whole.
func (k painter) cutKeepingTime(text string, w int) string {
	at := strings.LastIndexByte(text, ' ')
	if at < 0 || cellsOf(text) <= w || strings.Trim(text[at+1:], "0123456789:") != "" || w < 2*len(text[at:]) {
		return k.cut(text, w)
	}
	return k.cut(text[:at], w-len(text[at:])) + text[at:]
}

// printable says that text is printable ASCII alone: as many cells as bytes.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// cell is text in exactly w cells, on the left; right has it on the right.
func (k painter) cell(r Role, text string, w int) string {
	text = k.cut(text, w)
	return k.theme.Paint(r, text) + spaces(w-cellsOf(text))
}

// put is cell onto a line that is being made.
func (k painter) put(b *strings.Builder, r Role, text string, w int) {
	text = k.cut(text, w)
	b.WriteString(k.theme.Paint(r, text))
	b.WriteString(spaces(w - cellsOf(text)))
}

func (k painter) right(r Role, text string, w int) string {
	text = k.cut(text, w)
	return spaces(w-cellsOf(text)) + k.theme.Paint(r, text)
}

// rule is a line across w cells with a title in it.
func (k painter) rule(title string, w int) string {
	dash := k.pick("-", "─")
	if title == "" {
		return k.theme.Paint(Muted, strings.Repeat(dash, max(w, 0)))
	}
	title = k.cut(title, w-4)
	lead := strings.Repeat(dash, 2) + " "
	rest := w - 4 - cellsOf(title)
	if rest < 0 {
		return k.cut(title, w)
	}
	return k.theme.Paint(Muted, lead) + k.theme.Paint(Heading, title) + k.theme.Paint(Muted, " "+strings.Repeat(dash, rest))
}

// bar is a progress bar of w cells with its brackets, part of whole filled.
func (k painter) bar(part, whole time.Duration, w int) string {
	inner := w - 2
	if inner < 1 || whole <= 0 {
		return ""
	}
	full := int(float64(inner) * min(1, max(0, float64(part)/float64(whole))))
	return "[" + strings.Repeat(k.pick("#", "█"), full) + strings.Repeat(k.pick(".", "░"), inner-full) + "]"
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
