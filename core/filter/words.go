package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is one word of a filter with its quotes resolved: marks ("!", "~", "key:") count only outside of quotes, which is
// before plain.
type word struct {
	text  string
	plain int // the length of the beginning that was not quoted
}

// cut takes an unquoted mark off the beginning.
func (w *word) cut(mark string) bool {
	if w.plain < len(mark) || !strings.HasPrefix(w.text, mark) {
		return false
	}
	w.drop(len(mark))
	return true
}

// drop takes n unquoted bytes off the beginning.
func (w *word) drop(n int) {
	w.text = w.text[n:]
	w.plain -= n
}

// key is what stands before the first unquoted colon, if it is letters: "10:30" and ":x" have none.
func (w *word) key() (string, bool) {
	at := strings.IndexByte(w.text[:w.plain], ':')
	if at <= 0 || strings.ContainsFunc(w.text[:at], func(r rune) bool { return !unicode.IsLetter(r) && r != '_' && r != '-' }) {
		return "", false
	}
	return w.text[:at], true
}

// split takes a filter apart at its spaces. A quote that is not closed goes to the end; inside quotes a backslash keeps the
// next character as it is.
func split(s string) []word {
	var words []word
	var b strings.Builder
	plain, quoted, escaped, open := 0, false, false, false // open: a word has begun
	end := func() {
		if open {
			w := word{b.String(), plain}
			if !quoted {
				w.plain = len(w.text)
			}
			words = append(words, w)
		}
		b.Reset()
		plain, quoted, open = 0, false, false
	}
	inside := false
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		raw := s[i : i+size]
		i += size
		switch {
		case escaped:
			escaped = false
			b.WriteString(raw)
		case inside && r == '\\':
			escaped = true
		case r == '"':
			if !quoted {
				plain, quoted = b.Len(), true
			}
			inside, open = !inside, true
		case !inside && unicode.IsSpace(r):
			end()
		default:
			open = true
			b.WriteString(raw)
		}
	}
	end()
	return words
}

// Quote is a filter that looks for s as it is.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
