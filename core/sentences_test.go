package core

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// mostWords is the longest sentence of a comment or a page.
const mostWords = 35

var (
	sentenceEnd  = regexp.MustCompile(`[.:;!?](?:["')\]]*)(?:\s+|$)`)
	listItem     = regexp.MustCompile(`(?m)^\s*(?:[-*]|\d+\.)\s+`)
	fence        = regexp.MustCompile("(?s)```.*?```")
	tableRow     = regexp.MustCompile(`(?m)^\s*\|.*$`)
	preformatted = regexp.MustCompile(`(?m)^(?:\t| {4,}).*$`)
)

// longSentences returns the sentences of a text that are too long. Paragraphs, list items, a colon and a semicolon end one.
func longSentences(text string) (long []string) {
	text = listItem.ReplaceAllString(fence.ReplaceAllString(text, ""), "\n\n")
	text = tableRow.ReplaceAllStringFunc(text, func(row string) string { return "\n\n" + strings.ReplaceAll(row, "|", ".\n\n") })
	for _, paragraph := range strings.Split(text, "\n\n") {
		for _, sentence := range sentenceEnd.Split(paragraph, -1) {
			if words := strings.Fields(sentence); len(words) > mostWords {
				long = append(long, strings.Join(words, " "))
			}
		}
	}
	return long
}

func TestNoSentenceOfACommentOrAPageIsLong(t *testing.T) {
	if got := longSentences(strings.Repeat("word ", 36) + ". " + strings.Repeat("word ", 35)); len(got) != 1 {
		t.Errorf("of two sentences, of 36 and 35 words, it finds %d", len(got))
	}
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, long := range longSentences(preformatted.ReplaceAllString(group.Text(), "\n\n")) {
				t.Errorf("%s: %d words: %.60q", s.at(group), len(strings.Fields(long)), long)
			}
		}
	}
	err := eachFile(func(file string) error {
		if path.Ext(file) == ".md" {
			for _, long := range longSentences(page(t, file)) {
				t.Errorf("%s: %d words: %.60q", file, len(strings.Fields(long)), long)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
