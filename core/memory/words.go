package memory

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"gatewaytui/core/search/words"
	"gatewaytui/core/store"
)

const (
	// maxWords is the most words by which a note is found, maxWanted the most of a search.
	maxWords  = MaxText
	maxWanted = 16
	// leastBegin is from how many letters on a word of a search stands for all words that begin with it.
	leastBegin = 3
)

// last is behind every other character.
const last = "\U0010ffff"

// plain is a text in lower case and without diacritics.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
}

// cut cuts a text into words of letters and digits.
func cut(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !words.Dense(r) })
}

// folded is a text as words see it. Hangul is composed again, because a syllable is what readers look for.
func folded(text string) string { return norm.NFKC.String(plain(text)) }

// wordsOf are the words by which a note is found, each once.
func wordsOf(text string) (all []string) {
	seen := map[string]bool{}
	for _, w := range cut(words.Indexed(folded(text))) {
		if !seen[w] && len(all) < maxWords {
			seen[w] = true
			all = append(all, w)
		}
	}
	return all
}

// wantedOf are the words that a search looks for. A word stands for all that begin with it; one character of a script without spaces
// stands for all words that begin with that.
func wantedOf(text string) (all []store.Wanted) {
	add := func(least, below string) {
		if w := (store.Wanted{least, below}); len(all) < maxWanted && !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	for _, w := range cut(folded(text)) {
		for _, run := range words.Runs(w) {
			chars := []rune(run.Text)
			switch {
			case run.Dense && len(chars) > 1:
				for i := range len(chars) - 1 {
					pair := string(chars[i : i+2])
					add(pair, pair+"\x00")
				}
			case run.Dense || len(chars) >= leastBegin:
				add(run.Text, run.Text+last)
			default:
				add(run.Text, run.Text+"\x00")
			}
		}
	}
	return all
}
