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
	glyphTick    = glyph{"+", "┤"} // a mark of a scale
	glyphCorner  = glyph{"+", "└"} // where two scales meet
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

// dotted is text in a table, where a zero is a dot: "0", "0 B", "0%", and an empty text.
func (o *Opts) dotted(text string) (string, Role) {
	switch text {
	case "", "0", "0 B", "0%", "0.00", "0/0", "-":
		return o.glyph(glyphIdle), Muted
	}
	return text, Plain
}

// dot is dotted without its role.
func (o *Opts) dot(text string) string {
	text, _ = o.dotted(text)
	return text
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

// highlight gives a whole line, which may be painted, the look of the selected one.
func (o *Opts) highlight(line string) string {
	on := o.Theme.begin(Selected)
	switch {
	case on == "":
		return line
	case o.Theme.plainRow:
		return on + ansi.Strip(line) + off
	}
	return on + strings.ReplaceAll(line, off, off+on) + off
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

// titleRule is the line above a part of the overview: its title, and at the right what more there is to say.
func (o *Opts) titleRule(title, right string, w int) string {
	title = o.cut(title, w-2)
	line := " " + o.paint(Heading, title) + " "
	rest := w - cellsOf(title) - 2
	if n := cellsOf(right); right != "" && rest >= n+4 {
		dash := o.glyph(glyphLine)
		return line + o.paint(Muted, strings.Repeat(dash, rest-n-3)+" "+right+" "+dash)
	}
	return line + o.rule("", rest)
}

// more is the line that counts what a list has no room for.
func (o *Opts) more(n int) string {
	return o.paint(Muted, "   "+o.glyph(glyphMore)+" "+number(n)+" more")
}

// joined puts columns of the same height next to each other, with a bar between them.
func (o *Opts) joined(gap string, left, right []string) []string {
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

// fit makes exactly h lines of exactly w cells of lines: too many are cut at the end, long ones at the right with an
// ellipsis, short ones filled with blanks. Lines may be styled; a style never runs out of its line.
func fit(lines []string, w, h int) []string {
	out := make([]string, h)
	copy(out, lines)
	for i, line := range out {
		out[i] = fitLine(line, w)
	}
	return out
}

func fitLine(line string, w int) string {
	have := cellsOf(line)
	if have > w {
		line = cut(line, w, string(term.Ellipsis))
		have = cellsOf(line)
	}
	return line + spaces(w-have)
}

// blank saves an allocation for each run of spaces.
const blank = "                                                                                                    "

func spaces(n int) string {
	if n <= len(blank) {
		return blank[:max(n, 0)]
	}
	return strings.Repeat(" ", n)
}

// clean makes untrusted text fit for a cell of o's screen: term.Clean, and ASCII where nothing else can be shown.
func (o *Opts) clean(s string, runes int) string {
	s = term.Clean(s, runes)
	if o.ASCII {
		s = toASCII(s)
	}
	return s
}

// toASCII replaces what is not ASCII by question marks of the same width. Styles are ASCII and stay.
func toASCII(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	if i == len(s) {
		return s
	}
	out := append(make([]byte, 0, len(s)), s[:i]...)
	for _, r := range s[i:] {
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r == term.Ellipsis:
			out = append(out, '~')
		default:
			for range cellsOf(string(r)) {
				out = append(out, '?')
			}
		}
	}
	return string(out)
}

// cellsOf is how many cells s takes on a terminal. Most of a screen is printable ASCII, the characters of boxes, graphs and glyphs, and
// colours, which are counted here; anything else is left to ansi.StringWidth, which splits s into clusters at several times the price.
func cellsOf(s string) int {
	n := 0
	for i := 0; i < len(s); {
		size, cells := plain(s[i:])
		if size == 0 {
			return ansi.StringWidth(s)
		}
		i, n = i+size, n+cells
	}
	return n
}

// plain is the size in bytes and in cells of the character or colour that s begins with; size 0: it is something else.
func plain(s string) (size, cells int) {
	switch c := s[0]; {
	case c >= ' ' && c <= '~':
		return 1, 1
	case c == '\x1b':
		return colour(s), 0
	case c == 0xe2 || c == 0xc2: // the first byte of what follows
		switch r, size := utf8.DecodeRuneInString(s); {
		case r >= 0x2500 && r <= 0x259f, r == '…', r == '·', r == '●', r == '◐', r == '▲', r == '■', r == '✓', r == '→', r == '↑', r == '↓':
			return size, 1
		}
	}
	return 0, 0
}

// colour is the size of the SGR sequence (ECMA-48, 8.3.117) that s begins with; 0: there is none.
func colour(s string) int {
	if len(s) < 3 || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// pointer stands before a row and shows whether it is the selected one.
func pointer(selected bool) string {
	if selected {
		return "> "
	}
	return "  "
}

func (o *Opts) wrapped(r Role, text string, w int) []string {
	lines := wrap(shown(text), w)
	for i, line := range lines {
		lines[i] = o.paint(r, line)
	}
	return lines
}
