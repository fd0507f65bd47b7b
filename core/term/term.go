// Package term makes untrusted text fit to be seen: chat names, messages, tool output, process titles, file paths and
// errors from the network are all written by someone else.
//
// What it promises: nothing that Clean returns moves a cursor, changes a terminal's state, reorders or hides text next to
// it, or is longer than the given limit (I4). Redact returns nothing that it recognises as a secret (I1, I3). Every function
// takes any string, valid UTF-8 or not, in time linear in its length, and may be called from any goroutine.
package term

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks one base may carry; more of them climb over the lines above.
const maxMarks = 4

// Ellipsis ends what Clean cut.
const Ellipsis = '…'

// Clean returns s as one line that is safe to show: what would act on a terminal is shown as a sign (ESC as ␛, newline as
// ⏎, CR as ␍). A tab is a space; other control characters, private use and broken UTF-8 are U+FFFD. What is invisible is
// dropped: format characters such as bidi controls, line and paragraph separators, variation selectors, the enclosing keycap. A base keeps at most four combining marks.
//
// max bounds the result in runes, the ellipsis that stands for what was cut included; max <= 0 does not. Clean of what
// Clean returned is the same string.
func Clean(s string, max int) string {
	i := 0
	for i < len(s) && s[i] >= ' ' && s[i] < 0x7f {
		i++
	}
	if i == len(s) && (max <= 0 || i <= max) {
		return s
	}
	return clean(s, max)
}

func clean(s string, max int) string {
	var short [512]byte // so that most texts cost no memory
	out := short[:0]
	runes, marks := 0, 0
	cut := 0 // bytes of out that stay when the ellipsis takes the place of its last rune
	for _, r := range s {
		shown := show(r)
		if shown >= 0x300 && unicode.Is(unicode.M, shown) {
			if marks++; marks > maxMarks {
				shown = dropped
			}
		} else if shown != dropped {
			marks = 0
		}
		if shown == dropped {
			continue
		}
		if runes++; runes == max {
			cut = len(out)
		} else if runes > max && max > 0 {
			return string(utf8.AppendRune(out[:cut], Ellipsis))
		}
		out = utf8.AppendRune(out, shown)
	}
	if string(out) == s {
		return s
	}
	return string(out)
}

// dropped is what show returns for a rune that is not shown at all.
const dropped rune = -1

// show is the rune that stands for r. Variation selectors go because width tables disagree about them, so that a cell
// count made with them is wrong in some library.
func show(r rune) rune {
	switch {
	case r < ' ':
		switch r {
		case 0x1b:
			return '␛'
		case '\n':
			return '⏎'
		case '\r':
			return '␍'
		case '\t':
			return ' '
		}
		return utf8.RuneError
	case r < 0x7f:
		return r
	case r < 0xa0:
		return utf8.RuneError
	case r < 0x300 && r != 0xad, r >= 0x3400 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3:
		return r // the letters of most texts, without a table
	case r == 0x20e3, unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector):
		return dropped
	case unicode.Is(unicode.Co, r):
		return utf8.RuneError
	}
	return r
}

// sgr is a well-formed colour sequence: ESC [ digits ; : m (ECMA-48 8.3.117).
var sgr = regexp.MustCompile("\x1b\\[[0-9:;]*m")

// StripSGR returns s without its colour sequences, which the output of programs is full of. Everything else that begins with
// ESC stays, for Clean to show.
func StripSGR(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return s
	}
	return sgr.ReplaceAllString(s, "")
}

// Quote is an untrusted name inside a sentence: clean, at most 80 runes, in double quotes.
func Quote(s string) string { return strconv.Quote(Clean(s, 80)) }
