package search

import (
	"fmt"
	"hash/fnv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/ops"
	"gatewaytui/core/search/words"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// Bounds of what is looked for.
const (
	maxQuery = 1000 // bytes
	maxTerms = 16
	// leastBegin is how many letters the beginning of a word needs: all words that begin with fewer are too many to be merged.
	leastBegin = 4
)

// terms cuts what a person typed: words, and "several words" in a row. A word that ends with * stands for all that begin with it.
func terms(text string) (out []string) {
	for len(text) > 0 {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if quoted, is := strings.CutPrefix(text, `"`); is {
			phrase, rest, _ := strings.Cut(quoted, `"`)
			out, text = append(out, phrase), rest
			continue
		}
		end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
		if end < 0 {
			end = len(text)
		}
		if end > 0 {
			out = append(out, text[:end])
		}
		text = text[end:]
	}
	return out
}

// parse makes the query of SQLite that finds messages with all terms of text within a scope, and the words to show in a snippet.
func parse(text, scope string) (match string, shown []string, err error) {
	if len(text) > maxQuery {
		return "", nil, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("the search has %d bytes; at most %d are taken", len(text), maxQuery), Hint: "look for fewer words"}
	}
	var parts []string
	for _, wanted := range terms(strings.ToValidUTF8(text, " ")) {
		plain := strings.TrimRight(wanted, "*")
		if plain != wanted && strings.IndexFunc(plain, words.Dense) < 0 && utf8.RuneCountInString(plain) < leastBegin {
			return "", nil, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("%s has fewer than %d letters before the *", term.Quote(wanted), leastBegin), Hint: "give more of the word, or all of it"}
		}
		for i, all := 0, words.Runs(plain); i < len(all); i++ {
			if m := all[i].Match(plain != wanted && i == len(all)-1); m != "" {
				parts, shown = append(parts, m), append(shown, strings.TrimSpace(all[i].Text))
			}
		}
	}
	switch {
	case len(parts) == 0:
		return "", nil, &ops.Error{Code: ops.CodeInvalid, Message: "there is no word to look for", Hint: `give words, "words in a row" or the beginning of a word with a *`}
	case len(parts) > maxTerms:
		return "", nil, &ops.Error{Code: ops.CodeInvalid, Message: fmt.Sprintf("the search has %d words; at most %d are taken", len(parts), maxTerms), Hint: "look for fewer words"}
	}
	match = "{text} : (" + strings.Join(parts, " AND ") + ")"
	if scope != "" {
		match = `{scope} : "` + scope + `" AND ` + match
	}
	return match, shown, nil
}

// scopeOf is the word that stands for a name in the column scope.
func scopeOf(kind string, names ...string) string {
	h := fnv.New64a()
	for _, name := range names {
		_, _ = h.Write([]byte(name + "\x00")) // it never fails
	}
	return fmt.Sprintf("%s%016x", kind, h.Sum64())
}

// sessionScope is the scope of a session, ownerScope that of all messages of the turns of one user of a platform.
func sessionScope(key string) string { return scopeOf("s", key) }

func ownerScope(platform, user string) string { return scopeOf("o", platform, session.PersonOf(user)) }
