package core

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
	"testing"
)

// plain maps words that readers stumble over to what says the same in plain English. A word is listed once no comment, no
// string and no page has it any more.
var plain = map[string]string{
	"anew": "again", "at the most": "at most", "mend": "fix", "mends": "fixes", "mended": "fixed", "everybody": "everyone",
	"as it likes": "without a limit", "likewise": "also", "hush": "rate limit", "confess": "reply", "excuse": "message for the user",
	"doom": "kill notice", "errand": "task", "thereof": "of it", "whosoever": "whoever", "deed": "act",
	"argument too many": "unexpected argument", "taken up from earlier lives": "recovered pending work",
	"left behind at the end": "still running at exit",
}

func TestNoTextHasAWordThatHasAPlainOne(t *testing.T) {
	words := make([]string, 0, len(plain))
	for word := range plain {
		words = append(words, word)
	}
	found := regexp.MustCompile(`(?i)\b(?:` + strings.Join(words, "|") + `)\b`)
	check := func(at, text string) {
		for _, word := range found.FindAllString(text, -1) {
			t.Errorf("%s: %q is %q in plain English", at, word, plain[strings.ToLower(word)])
		}
	}
	for _, s := range sources(t) {
		if path.Base(s.path) == "words_test.go" {
			continue
		}
		for _, group := range s.file.Comments {
			check(s.at(group), lineBreak.ReplaceAllString(group.Text(), " "))
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok {
				text, _ := stringOf(lit)
				check(s.at(lit), text)
			}
			return true
		})
	}
	err := eachFile(func(file string) error {
		if path.Ext(file) == ".md" {
			check(file, page(t, file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
