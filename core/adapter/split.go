package adapter

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Split cuts s, which is valid UTF-8, into parts of at most limit UTF-16 units, limit being at least 2. The parts joined
// are s. A cut is after the last newline in the second half of a part, else after the last white space there, else after
// the last whole character, so that no surrogate pair is torn.
func Split(s string, limit int) []string {
	var parts []string
	for s != "" {
		n := cut(s, limit)
		parts = append(parts, s[:n])
		s = s[n:]
	}
	return parts
}

// cut is the length in bytes of the first part of s.
func cut(s string, limit int) int {
	units, line, word := 0, 0, 0
	for i, r := range s {
		size := utf16.RuneLen(r)
		if units+size > limit {
			switch {
			case line > 0:
				return line
			case word > 0:
				return word
			}
			return i
		}
		units += size
		if 2*units >= limit && unicode.IsSpace(r) {
			word = i + utf8.RuneLen(r)
			if r == '\n' {
				line = word
			}
		}
	}
	return len(s)
}
