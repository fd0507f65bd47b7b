package views

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

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

// truncate is ansi.Truncate for w > 0: s up to w cells, of which the last ones are the tail if s is longer. Colours behind
// the cut are kept.
func truncate(s string, w int, tail string) string {
	if cellsOf(s) <= w {
		return s
	}
	room := w - cellsOf(tail)
	if room < 0 {
		return ansi.Truncate(s, w, tail)
	}
	var b strings.Builder
	b.Grow(len(s) + len(tail))
	whole := true
	for i := 0; i < len(s); {
		size, cells := plain(s[i:])
		if size == 0 {
			return ansi.Truncate(s, w, tail)
		}
		if whole && cells > room {
			b.WriteString(tail)
			whole = false
		}
		if whole || cells == 0 {
			b.WriteString(s[i : i+size])
			room -= cells
		}
		i += size
	}
	return b.String()
}
