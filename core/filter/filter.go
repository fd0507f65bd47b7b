// Package filter is the one language in which rows are picked: by the console's "/", by --filter on the command line, and
// by filter= on the control socket.
//
// A filter is words, and a row must match all of them:
//
//	word          the word occurs in one of the row's columns; upper and lower case are alike
//	key:word      the word occurs in this column: state:stalled, user:maria
//	~word         the letters of the word occur in this order: ~tgdm; also key:~word
//	!word         the row does not match the word; also !key:word, !~word
//	"two words"   double quotes hold spaces and colons together; also key:"two words"
//
// A session's key has colons too: telegram:dm:4711 is a word, because telegram is not a column and a key has a second colon.
// Any other unknown word before a colon is an error that names the nearest column, never an empty list.
package filter

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
)

// Summary is the language in one line, for help texts.
const Summary = `words that all must match: word, key:word, ~fuzzy, !not, "two words"`

// Field is one column that a filter can name.
type Field[T any] struct {
	// Name is what a filter calls it; Also are further names for it.
	Name string
	Also []string
	// Text is what the filter looks at. It does not allocate where that can be helped: it is called for every row.
	Text func(*T) string
}

// MaxLength bounds a filter, in bytes.
const MaxLength = 1 << 10

// Filter is a filter that was read. The zero value matches every row. It may be used from several goroutines.
type Filter[T any] struct {
	fields []Field[T]
	terms  []term
}

// term is one word of a filter.
type term struct {
	// field is the column, -1 for all of them.
	field          int
	inverse, fuzzy bool
	low            string // what is looked for, in lower case
}

// Parse reads a filter for rows with these fields. A word that is not finished yet, such as a lone "!" or "state:", is left
// out, so that a filter can be used while it is typed. The error is an *ops.Error with CodeInvalid.
func Parse[T any](s string, fields []Field[T]) (Filter[T], error) {
	f := Filter[T]{fields: fields}
	if len(s) > MaxLength {
		return f, invalid(fmt.Sprintf("the filter has %d bytes", len(s)), fmt.Sprintf("write it with at most %d", MaxLength))
	}
	for _, w := range split(s) {
		t, err := f.term(w)
		if err != nil {
			return Filter[T]{fields: fields}, err
		}
		if t.low != "" {
			f.terms = append(f.terms, t)
		}
	}
	return f, nil
}

func invalid(message, hint string) error {
	return &ops.Error{Code: ops.CodeInvalid, Message: message, Hint: hint}
}

// term reads one word.
func (f *Filter[T]) term(w word) (term, error) {
	t := term{field: -1}
	t.inverse = w.cut("!")
	if key, found := w.key(); found {
		low := strings.ToLower(key)
		at := slices.IndexFunc(f.fields, func(c Field[T]) bool { return c.Name == low || slices.Contains(c.Also, low) })
		switch {
		case at >= 0:
			t.field = at
			w.drop(len(key) + 1)
		case !ofSessionKey(low, w.text[len(key)+1:]):
			return t, f.unknown(key)
		}
	}
	t.fuzzy = w.cut("~")
	t.low = strings.ToLower(w.text)
	return t, nil
}

func (f *Filter[T]) unknown(key string) error {
	names := Names(f.fields)
	return invalid(fmt.Sprintf("unknown filter key %q", key),
		fmt.Sprintf("did you mean %s:? The keys are %s; put a text with a colon in double quotes", text.Nearest(strings.ToLower(key), names), strings.Join(names, ", ")))
}

// Names are the keys that a filter for these fields knows, without further names.
func Names[T any](fields []Field[T]) []string {
	names := make([]string, len(fields))
	for i := range fields {
		names[i] = fields[i].Name
	}
	return names
}

// segments are the words that stand before a colon in session keys: platforms, and kinds of chats.
var segments = []string{
	"api", "cli", "demo", "discord", "feishu", "irc", "mail", "matrix", "mattermost", "slack", "telegram", "webhook", "xmpp",
	"bg", "channel", "chat", "dm", "group", "guild", "job", "local", "room", "space", "thread", "topic",
}

// ofSessionKey reports whether key and the rest behind its colon are a part of a session's key: it begins with a word of
// such keys, or goes on with another colon, as the key of a platform that this build does not know.
func ofSessionKey(key, rest string) bool {
	return slices.Contains(segments, key) || strings.Contains(rest, ":")
}

// All reports whether f matches every row.
func (f Filter[T]) All() bool { return len(f.terms) == 0 }

// Match reports whether row matches.
func (f Filter[T]) Match(row *T) bool {
	for i := range f.terms {
		t := &f.terms[i]
		fields := f.fields
		if t.field >= 0 {
			fields = fields[t.field : t.field+1]
		}
		if slices.ContainsFunc(fields, func(c Field[T]) bool { return t.in(c.Text(row)) }) == t.inverse {
			return false
		}
	}
	return true
}

// Could reports whether a row can match whose field of this name has this text: false only if a word about that field
// rules it out. It lets a caller leave out whole groups of rows.
func (f Filter[T]) Could(name, fieldText string) bool {
	for i := range f.terms {
		t := &f.terms[i]
		if t.field >= 0 && f.fields[t.field].Name == name && t.in(fieldText) == t.inverse {
			return false
		}
	}
	return true
}

// in reports whether t is in s.
func (t *term) in(s string) bool {
	s = strings.ToLower(s)
	if !t.fuzzy {
		return strings.Contains(s, t.low)
	}
	low := t.low
	for _, r := range s { // the letters of low in their order
		want, n := utf8.DecodeRuneInString(low)
		if n > 0 && r == want {
			low = low[n:]
		}
	}
	return low == ""
}

// word is one word of a filter with its quotes resolved: marks ("!", "~", "key:") count only outside of quotes, which is
// before plain.
type word struct {
	text  string
	plain int // the length of the beginning that was not quoted
}

// cut takes an unquoted mark off the beginning.
func (w *word) cut(mark string) bool {
	found := strings.HasPrefix(w.text[:w.plain], mark)
	if found {
		w.drop(len(mark))
	}
	return found
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
	inWord, quoted, escaped := false, false, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) && !quoted:
			inWord = false
			continue
		case !inWord:
			words, inWord = append(words, word{plain: -1}), true
		}
		w := &words[len(words)-1]
		switch {
		case quoted && r == '\\' && !escaped:
			escaped = true
		case r == '"' && !escaped:
			if quoted = !quoted; w.plain < 0 {
				w.plain = len(w.text)
			}
		default:
			w.text += string(r)
			escaped = false
		}
	}
	for i := range words {
		if w := &words[i]; w.plain < 0 {
			w.plain = len(w.text)
		}
	}
	return words
}

// Quote is a filter that looks for s as it is.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
