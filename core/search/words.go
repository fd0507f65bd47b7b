package search

import (
	"slices"
	"strings"
	"unicode"
)

// dense reports whether r is of a script that is written without spaces, or whose words a reader looks for in parts: Chinese,
// Japanese and Korean.
func dense(r rune) bool {
	return r >= 0x1100 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || slices.Contains(longVowels, r))
}

// longVowels are the marks of a long vowel, which stand within words of Japanese and belong to no script (Scripts.txt of Unicode).
var longVowels = []rune{'ー', 'ｰ'}

// indexed is text as the index gets it: each character of a dense script becomes a word of it and its successor, the last one
// a word of its own. So any two characters in a row are a word, and a longer part is words in a row. All other words are left to
// the tokenizer of SQLite, which folds case and drops diacritics.
//
// Measured with 100,000 messages of 150 bytes, a fifth of them Chinese: SQLite's trigrams take four times as long and four times
// the space, and find no word of two characters, which most words of Chinese are.
func indexed(text string) string {
	if strings.IndexFunc(text, dense) < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(3 * len(text))
	var last rune // the dense character that waits for its successor; 0: none
	for _, r := range text {
		isDense := dense(r)
		if last != 0 {
			b.WriteByte(' ')
			b.WriteRune(last)
			if isDense {
				b.WriteRune(r)
			} else {
				b.WriteByte(' ')
			}
		}
		if last = 0; isDense {
			last = r
			continue
		}
		b.WriteRune(r)
	}
	if last != 0 {
		b.WriteByte(' ')
		b.WriteRune(last)
	}
	return b.String()
}

// run is a part of a search term in scripts of one kind.
type run struct {
	text  string
	dense bool
}

// runs cuts a term where the kind of its script changes.
func runs(term string) (out []run) {
	for _, r := range term {
		if d := dense(r); len(out) == 0 || out[len(out)-1].dense != d {
			out = append(out, run{dense: d})
		}
		out[len(out)-1].text += string(r)
	}
	return out
}

// match is a run as a query of SQLite (https://www.sqlite.org/fts5.html, 3): a phrase, or all words that begin with it. It is
// empty for a run without a letter or a digit.
func (r run) match(prefix bool) string {
	if !strings.ContainsFunc(r.text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
		return ""
	}
	text := r.text
	if r.dense {
		chars := []rune(text)
		if len(chars) == 1 {
			return `"` + text + `" *`
		}
		var b strings.Builder
		for i := range len(chars) - 1 {
			b.WriteString(string(chars[i : i+2]))
			b.WriteByte(' ')
		}
		text, prefix = strings.TrimSuffix(b.String(), " "), false
	}
	text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	if prefix {
		text += " *"
	}
	return text
}
