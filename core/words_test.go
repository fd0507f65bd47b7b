package core

import (
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
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
	"left behind at the end": "still running at exit", "untold": "unanswered",
}

// plainPhrases are checked like plain, but for the files of inDialect and for the texts of CONTRACT.md.
var plainPhrases = map[string]string{
	"nobody": "no user, no process, no caller", "somebody": "a user, a process, a caller",
	"whatever": "any, for any, even if", "whoever": "the user that, a process that", "of ours": "of the gateway", "wish": "request",
	"goodbye": "release", "farewell": "last message", "beside": "next to, with, while",
	"set aside": "quarantined", "sets aside": "quarantines", "moved aside": "quarantined", "puts it aside": "quarantines it",
	"is told": "receives, is reported", "are told": "receive", "was told": "received", "were told": "received", "be told": "be known, be reported",
	"being told": "learning", "takes up": "resumes", "taken up": "resumed",
	"is no pid": "is not a pid", "is no JSON": "is not JSON", "is no verb": "is not a verb", "is no command": "is not a command",
	"is no number": "is not a number", "is no file": "is not a file", "is no folder": "is not a folder", "is no home": "is not a home",
	"are no tools": "are not tools", "is no tool": "is not a tool", "is no text": "is not text", "is no URL": "is not a URL",
	"is no reason": "does not cause", "that is none": "that is invalid",
}

// thereIs begins what a noun with "no" may follow.
var thereIs = regexp.MustCompile(`(?i)\bthere (?:is|are)\b`)

// inDialect are the files that still have such phrases. It only shrinks.
var inDialect = map[string]bool{
	"core/CONTRACT.md": true, // the interface does not change
}

func TestNoTextHasAWordThatHasAPlainOne(t *testing.T) {
	either := func(list map[string]string) *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:` + strings.Join(slices.Collect(maps.Keys(list)), "|") + `)\b`)
	}
	words, phrases := either(plain), either(plainPhrases)
	check := func(at, text string) {
		for _, word := range words.FindAllString(text, -1) {
			t.Errorf("%s: %q is %q in plain English", at, word, plain[strings.ToLower(word)])
		}
		if file, _, _ := strings.Cut(at, ":"); inDialect[file] {
			return
		}
		for _, phrase := range phrases.FindAllString(thereIs.ReplaceAllString(text, ""), -1) {
			t.Errorf("%s: %q is %q in plain English", at, phrase, plainPhrases[strings.ToLower(phrase)])
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
