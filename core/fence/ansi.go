package fence

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ansiC is the text of $'…' (Bash manual, 3.1.2.4).
func ansiC(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if k := strings.IndexByte(`abefnrtvE`, s[i]); k >= 0 {
			b.WriteByte("\a\b\x1b\f\n\r\t\v\x1b"[k])
			continue
		}
		switch c := s[i]; {
		case c >= '0' && c <= '7':
			i = number(&b, s, i, 3, 8, false) - 1
		case c == 'x':
			i = number(&b, s, i+1, 2, 16, false) - 1
		case c == 'u':
			i = number(&b, s, i+1, 4, 16, true) - 1
		case c == 'U':
			i = number(&b, s, i+1, 8, 16, true) - 1
		case c == 'c' && i+1 < len(s):
			i++
			b.WriteByte(s[i] & 0x1f)
		case strings.IndexByte(`\'"?`, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	text, _, _ := strings.Cut(b.String(), "\x00") // bash ends the text there
	return text
}

// number writes the character of up to most digits that begin at s[i], and returns where they end.
func number(b *strings.Builder, s string, i, most, base int, character bool) int {
	end := i
	for end < len(s) && end < i+most {
		if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
			break
		}
		end++
	}
	n, err := strconv.ParseUint(s[i:end], base, 32)
	switch {
	case err != nil:
	case character:
		b.Write(utf8.AppendRune(nil, rune(n)))
	default:
		b.WriteByte(byte(n))
	}
	return end
}
