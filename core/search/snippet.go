package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/term"
)

// What a snippet shows before what was found, and in all, in characters.
const (
	snippetLead = 40
	snippetLong = 160
)

// snippet is the part of a text around the first of the words in it, on one line and fit to be shown.
func snippet(text string, words []string) string {
	lower, at := strings.Map(unicode.ToLower, text), -1
	for _, w := range words {
		if i := strings.Index(lower, strings.Map(unicode.ToLower, w)); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	runes := []rune(text)
	from := 0
	if at >= 0 {
		at = utf8.RuneCountInString(lower[:at])
		from = max(at-snippetLead, 0)
		if i := slices.IndexFunc(runes[from:at], unicode.IsSpace); from > 0 && i >= 0 { // not within a word
			from += i + 1
		}
	}
	part := string(runes[from:min(len(runes), from+4*snippetLong)])
	part = term.Clean(strings.Join(strings.Fields(part), " "), 0)
	if from > 0 {
		part = string(term.Ellipsis) + part
	}
	return term.Clean(part, snippetLong)
}
