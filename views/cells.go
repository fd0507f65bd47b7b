package views

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/term"
)

// fit makes exactly h lines of exactly w cells of lines: too many are cut at the end, long ones at the right with an
// ellipsis, short ones filled with blanks. Lines may be styled; a style never runs out of its line.
func fit(lines []string, w, h int) []string {
	out := make([]string, h)
	for i := range out {
		line := ""
		if i < len(lines) {
			line = lines[i]
		}
		out[i] = fitLine(line, w)
	}
	return out
}

func fitLine(line string, w int) string {
	have := cellsOf(line)
	if have == w {
		return line
	}
	if have > w {
		line = cut(line, w, string(term.Ellipsis))
		have = cellsOf(line)
	}
	return line + spaces(w-have)
}

// cut shortens s to at most w cells; tail ends what was cut. ansi.Truncate alone returns too much for some clusters.
func cut(s string, w int, tail string) string {
	for n := w; n > 0; n-- {
		if t := truncate(s, n, tail); cellsOf(t) <= w {
			return t
		}
	}
	return ""
}

// blank saves an allocation for each run of spaces.
const blank = "                                                                                                    "

func spaces(n int) string {
	switch {
	case n <= 0:
		return ""
	case n <= len(blank):
		return blank[:n]
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

// appendCell adds text, which may be anything, to a line: exactly w cells.
func (o *Opts) appendCell(b []byte, text string, w int, right, tail bool) []byte {
	if most := maxShown * utf8.UTFMax; tail && len(text) > most {
		text = text[len(text)-most:]
	}
	limit := maxShown
	if tail {
		limit = 0
	}
	text = o.clean(text, limit)
	have := width(text)
	if have > w {
		text = o.shorten(text, have, w, tail)
		have = width(text)
	}
	if right {
		b = append(b, spaces(w-have)...)
	}
	b = append(b, text...)
	if !right {
		b = append(b, spaces(w-have)...)
	}
	return b
}

// shorten cuts text of have cells to at most w, with an ellipsis for what was cut.
func (o *Opts) shorten(text string, have, w int, tail bool) string {
	ell := o.ellipsis()
	if !tail {
		if have == len(text) { // ASCII
			return text[:w-1] + ell
		}
		return cut(text, w, ell)
	}
	if have == len(text) {
		return ell + text[have-w+1:]
	}
	for n := have - w + 1; n <= have; n++ {
		if t := ell + ansi.TruncateLeft(text, n, ""); cellsOf(t) <= w {
			return t
		}
	}
	return ell
}

// width is how many cells clean text takes.
func width(text string) int {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return cellsOf(text)
		}
	}
	return len(text)
}

// ellipsis stands for what was cut.
func (o *Opts) ellipsis() string {
	if o.ASCII {
		return "~"
	}
	return "…"
}
