// Package term makes untrusted text fit to be seen: chat names, messages, tool output, process titles, file paths and
// errors from the network are all written by someone else.
//
// What it promises: nothing that Clean returns moves a cursor, changes a terminal's state, reorders or hides text next to
// it, or is longer than the given limit (I4). Redact returns nothing that it recognises as a secret (I1, I3). Every function
// takes any string, valid UTF-8 or not, in time linear in its length, and may be called from any goroutine.
package term

import (
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
	var (
		out     []byte // what is returned, once it differs from s
		differs bool
		runes   int
		marks   int
		cut     int // bytes of the result that stay when the ellipsis takes the place of its last rune
	)
	head := func(i int) string {
		if differs {
			return string(out[:i])
		}
		return s[:i]
	}
	for i, size := 0, 0; i < len(s); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(s[i:])
		shown := show(r)
		if shown >= 0x300 && unicode.Is(unicode.M, shown) {
			if marks++; marks > maxMarks {
				shown = dropped
			}
		} else if shown != dropped {
			marks = 0
		}
		// A broken byte decodes as U+FFFD of size 1, which is not what stands in s.
		if !differs && (shown != r || r == utf8.RuneError && size == 1) {
			differs = true
			out = append(make([]byte, 0, len(s)+2*utf8.UTFMax), s[:i]...)
		}
		if shown == dropped {
			continue
		}
		if runes++; max > 0 {
			switch {
			case runes > max:
				return head(cut) + string(Ellipsis)
			case runes == max && differs:
				cut = len(out)
			case runes == max:
				cut = i
			}
		}
		if differs {
			out = utf8.AppendRune(out, shown)
		}
	}
	if !differs {
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

// StripSGR returns s without its well-formed colour sequences (ESC [ digits ; : m, ECMA-48 8.3.117), which the output of
// programs is full of. Whatever else begins with ESC stays, for Clean to show.
func StripSGR(s string) string {
	esc := strings.IndexByte(s, 0x1b)
	if esc < 0 {
		return s
	}
	var b strings.Builder
	for esc >= 0 {
		end := esc + 1
		if end < len(s) && s[end] == '[' {
			end++
			for end < len(s) && (s[end] >= '0' && s[end] <= ';') { // digits, colon, semicolon
				end++
			}
			if end < len(s) && s[end] == 'm' {
				b.WriteString(s[:esc])
				s = s[end+1:]
				esc = strings.IndexByte(s, 0x1b)
				continue
			}
		}
		b.WriteString(s[:end])
		s = s[end:]
		esc = strings.IndexByte(s, 0x1b)
	}
	b.WriteString(s)
	return b.String()
}
