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

// cellsOf is how many cells s takes on a terminal. Most of a screen is printable ASCII, box drawing characters and colours,
// which are counted here; anything else is left to ansi.StringWidth, which splits s into clusters at several times the
// price.
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
	case c == 0xe2: // the first byte of U+2500 to U+257F
		if r, size := utf8.DecodeRuneInString(s); r >= 0x2500 && r <= 0x257f {
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
