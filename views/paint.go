package views

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/term"
)

// glyph is a sign that stands before a word, or part of a line. It is one cell wide in both character sets, but for glyphMore
// and glyphTo.
type glyph struct{ ascii, fine string }

var (
	glyphIdle    = glyph{".", "·"} // nothing happens, nothing is wrong
	glyphRun     = glyph{">", "●"} // it works
	glyphSlow    = glyph{"~", "◐"} // it works, but not well
	glyphBad     = glyph{"!", "▲"} // it needs someone
	glyphDone    = glyph{"+", "✓"} // it ended well
	glyphFail    = glyph{"x", "■"} // it ended badly
	glyphSkip    = glyph{"-", "-"} // it was left out
	glyphUnknown = glyph{"?", "?"} // unknown
	glyphLine    = glyph{"-", "─"} // a horizontal line
	glyphBar     = glyph{"|", "│"} // a vertical line
	glyphUp      = glyph{"^", "↑"} // sorted from small to great
	glyphDown    = glyph{"v", "↓"} // sorted from great to small
	glyphBranch  = glyph{"`", "└"} // a child with later siblings or none: the corner of a tree
	glyphFull    = glyph{"#", "█"} // time that has gone by
	glyphMore    = glyph{"...", "…"}
	glyphTo      = glyph{"-> ", "→ "}
)

// glyph is g in the form that the screen can show.
func (o *Opts) glyph(g glyph) string {
	if o.ASCII {
		return g.ascii
	}
	return g.fine
}

// ellipsis stands for what was cut.
func (o *Opts) ellipsis() string { return o.glyph(glyph{"~", string(term.Ellipsis)}) }

// paint gives text the look of a role. A role does not reach into text that is painted already.
func (o *Opts) paint(r Role, text string) string {
	if on := o.Theme.begin(r); on != "" && text != "" {
		return on + text + off
	}
	return text
}

// cut shortens text to w cells, with a sign that says so.
func (o *Opts) cut(text string, w int) string {
	switch {
	case w < 1:
		return ""
	case len(text) <= w && printable(text): // as most texts are, and the measuring of others costs most of a frame
		return text
	case printable(text):
		return text[:w-1] + o.ellipsis()
	case cellsOf(text) <= w:
		return text
	}
	return cut(text, w, o.ellipsis())
}

// cutHead keeps the end of text, in at most w cells.
func (o *Opts) cutHead(text string, w int) string {
	have := cellsOf(text)
	if have <= w {
		return text
	}
	for n := have - w + 1; n <= have; n++ {
		if t := o.ellipsis() + ansi.TruncateLeft(text, n, ""); cellsOf(t) <= w {
			return t
		}
	}
	return o.ellipsis()
}

// cutKeepingTime is cut for a text that may end with a time ("running make test 0:40"), which stays whole.
func (o *Opts) cutKeepingTime(text string, w int) string {
	at := strings.LastIndexByte(text, ' ')
	if at < 0 || cellsOf(text) <= w || strings.Trim(text[at+1:], "0123456789:") != "" || w < 2*len(text[at:]) {
		return o.cut(text, w)
	}
	return o.cut(text[:at], w-len(text[at:])) + text[at:]
}

// cut shortens s to at most w cells; tail ends what was cut. ansi.Truncate alone returns too much for some clusters.
func cut(s string, w int, tail string) string {
	for n := w; n > 0; n-- {
		if t := ansi.Truncate(s, n, tail); cellsOf(t) <= w {
			return t
		}
	}
	return ""
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
func (o *Opts) cell(r Role, text string, w int) string {
	text = o.cut(text, w)
	return o.paint(r, text) + spaces(w-cellsOf(text))
}

func (o *Opts) right(r Role, text string, w int) string {
	text = o.cut(text, w)
	return spaces(w-cellsOf(text)) + o.paint(r, text)
}

// appendCell adds text, which may be anything, to a line: exactly w cells, without an allocation for most texts.
func (o *Opts) appendCell(b []byte, text string, w int, right, tail bool) []byte {
	if most := maxShown * utf8.UTFMax; tail {
		text = o.cutHead(o.clean(text[max(len(text)-most, 0):], 0), w)
	} else {
		text = o.cut(o.clean(text, maxShown), w)
	}
	if right {
		b = append(b, spaces(w-cellsOf(text))...)
	}
	b = append(b, text...)
	if !right {
		b = append(b, spaces(w-cellsOf(text))...)
	}
	return b
}

// line gathers pieces of a line, the one that matters most first. What no longer fits is left out whole.
type line struct {
	o *Opts
	strings.Builder
	w    int // cells that are left
	full bool
}

func (o *Opts) line(w int) *line { return &line{o: o, w: w} }

// add puts a piece after gap blanks, unless it or a piece before it had no room. The first piece is always taken; fit
// cuts it.
func (l *line) add(gap int, r Role, text string) *line {
	if text == "" || l.full {
		return l
	}
	if l.Len() == 0 {
		gap = 0
	}
	need := gap + cellsOf(text)
	if l.full = need > l.w && l.Len() > 0; !l.full {
		l.w -= need
		l.WriteString(spaces(gap) + l.o.paint(r, text))
	}
	return l
}

// end puts a piece at the right end, if there is room for it.
func (l *line) end(r Role, text string) string {
	if need := cellsOf(text); text != "" && l.w >= need+2 {
		l.WriteString(spaces(l.w-need) + l.o.paint(r, text))
	}
	return l.String()
}

// rule is a line across w cells with a title in it.
func (o *Opts) rule(title string, w int) string {
	dash := o.glyph(glyphLine)
	if title == "" {
		return o.paint(Muted, strings.Repeat(dash, max(w, 0)))
	}
	title = o.cut(title, w-4)
	rest := w - 4 - cellsOf(title)
	if rest < 0 {
		return o.cut(title, w)
	}
	return o.paint(Muted, dash+dash+" ") + o.paint(Heading, title) + o.paint(Muted, " "+strings.Repeat(dash, rest))
}

// more is the line that counts what a list has no room for.
func (o *Opts) more(n int) string {
	return o.paint(Muted, "   "+o.glyph(glyphMore)+" "+number(n)+" more")
}

// beside puts columns of the same height next to each other, with a bar between them.
func (o *Opts) beside(gap string, left, right []string) []string {
	bar := gap + o.paint(Muted, o.glyph(glyphBar)) + gap
	for i := range left {
		left[i] += bar + right[i]
	}
	return left
}

// bar is a progress bar of w cells with its brackets, part of whole filled.
func (o *Opts) bar(part, whole time.Duration, w int) string {
	inner := w - 2
	if inner < 1 || whole <= 0 {
		return ""
	}
	full := int(float64(inner) * min(1, max(0, float64(part)/float64(whole))))
	return "[" + strings.Repeat(o.glyph(glyphFull), full) + strings.Repeat(o.glyph(glyph{".", "░"}), inner-full) + "]"
}

// sparkline draws the last w samples in eight levels, from 0 to the greatest of them; a sample that is not a number is a
// blank. It is as wide as there are samples, at most w.
func (o *Opts) sparkline(samples []float64, w int) string {
	samples = samples[max(len(samples)-max(w, 0), 0):]
	levels := []rune(o.glyph(glyph{" .:-=+*#", "▁▂▃▄▅▆▇█"}))
	top := greatest(samples)
	out := make([]rune, len(samples))
	for i, v := range samples {
		switch {
		case !finite(v):
			out[i] = ' '
		case top <= 0 || v <= 0:
			out[i] = levels[0]
		default: // a value above zero is visible
			out[i] = levels[min(max(int(math.Ceil(v/top*float64(len(levels)-1))), 1), len(levels)-1)]
		}
	}
	return string(out)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// greatest is the greatest sample, at least 0.
func greatest(samples []float64) float64 {
	top := 0.0
	for _, v := range samples {
		if finite(v) {
			top = max(top, v)
		}
	}
	return top
}
