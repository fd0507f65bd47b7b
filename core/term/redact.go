package term

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// Mask stands for a secret.
const Mask = "[redacted]"

// minSecret is the length in bytes from which a Redactor looks for a value: a shorter one would blot out common text
// and protects nothing.
const minSecret = 6

// How far ahead, in bytes, a value of curl's -u and the label of a PEM block are looked for, so that hostile text cannot
// make Redact read itself again and again.
const (
	maxUserinfo = 128
	maxLabel    = 64
)

// Redactor replaces known secrets, and what Redact finds. It may be used from any goroutine; a nil *Redactor does what Redact does.
type Redactor struct{ known atomic.Pointer[secrets] }

// secrets are what a Redactor knows. They do not change: Learn replaces them.
type secrets struct {
	plain  []string
	values []string // longest first, so that a secret that contains another goes whole
	masked []string // those that Mask masks, in the same order
	masker *strings.Replacer
}

// NewRedactor knows values, each also in the forms in which it stands in a URL and in JSON. Values under six bytes are left
// out.
func NewRedactor(values ...string) *Redactor {
	r := &Redactor{}
	r.known.Store(secretsOf(values))
	return r
}

// Learn adds values to those that are known. Calls come one after the other.
func (r *Redactor) Learn(values ...string) {
	r.known.Store(secretsOf(append(slices.Clone(r.known.Load().plain), values...)))
}

func secretsOf(values []string) *secrets {
	r := &secrets{plain: values}
	for _, v := range values {
		forms := append(quotedForms(v), v, url.QueryEscape(v), url.PathEscape(v))
		if len(v) >= minSecret {
			r.values = append(r.values, forms...)
		}
		if len(v) >= MinMasked {
			r.masked = append(r.masked, forms...)
		}
	}
	r.values, r.masked = longestFirst(r.values), longestFirst(r.masked)
	var pairs []string
	for _, v := range r.masked {
		pairs = append(pairs, v, Mask)
	}
	r.masker = strings.NewReplacer(pairs...)
	return r
}

func longestFirst(values []string) []string {
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(values)
}

// Redact returns s with every known value masked, and then what the function Redact masks.
func (r *Redactor) Redact(s string) string {
	if r != nil {
		for _, v := range r.known.Load().values {
			if strings.Contains(s, v) {
				s = strings.ReplaceAll(s, v, Mask)
			}
		}
	}
	return Redact(s)
}

// Redact masks what looks like a secret in a command line, an error or a URL: the values of flags, assignments, JSON
// members and headers that are named like one (SecretName), bearer and basic credentials, passwords in URLs, private
// key blocks, and keys of well-known shapes. It is a second line: it cannot know a secret that looks like nothing, and
// masks a word too much rather than one too few.
func Redact(s string) string {
	var b strings.Builder
	kept := 0 // s[:kept] is in b
	for i := 0; i < len(s); {
		if !wordByte(s[i]) {
			i++
			continue
		}
		end := wordEnd(s, i)
		from, to := find(s, i, end)
		if from >= to {
			i = end
			continue
		}
		b.WriteString(s[kept:from])
		b.WriteString(Mask)
		kept, i = to, to
	}
	if kept == 0 {
		return s
	}
	b.WriteString(s[kept:])
	return b.String()
}

// find returns the bounds of the secret that the word s[i:end] is or announces; from >= to if there is none.
func find(s string, i, end int) (from, to int) {
	word := s[i:end]
	if keyShape(word) {
		return i, end
	}
	if end == len(s) {
		return 0, 0
	}
	switch s[end] {
	case ':':
		if from, to := botToken(s, i, end); from < to {
			return from, to
		}
		if strings.HasPrefix(s[end:], "://") {
			return userinfo(s, end+len("://"))
		}
	case ' ':
		switch {
		case strings.EqualFold(word, "bearer"), strings.EqualFold(word, "basic"):
			from, to := value(s, skip(s, end, " "))
			if to-from >= 8 && keyLike(s[from:to]) {
				return from, to
			}
			return 0, 0
		case strings.HasPrefix(word, "-----BEGIN"):
			return pemBlock(s, i, end)
		}
	}
	return named(s, i, end)
}

// named finds the value of a flag, an assignment, a JSON member or a header.
func named(s string, i, end int) (from, to int) {
	name := strings.TrimLeft(s[i:end], "-")
	flag := len(name) < end-i
	sep := skip(s, end, `\"'`) // the end of a quoted name
	from, spaced, is := separator(s, sep, flag)
	if !is {
		return 0, 0
	}
	switch {
	case strings.EqualFold(name, "authorization"), strings.EqualFold(name, "proxy-authorization"):
		return value(s, afterScheme(s, from))
	case strings.EqualFold(name, "cookie"), strings.EqualFold(name, "set-cookie"):
		return from, from + indexAny(s[from:], "\"'\r\n")
	case flag && (name == "u" || name == "user" || name == "proxy-user"): // curl's user:password
		return password(s, from)
	case SecretName(name):
	case name == "key" && (flag || i > 0 && (s[i-1] == '?' || s[i-1] == '&')):
	default:
		return 0, 0
	}
	from, to = value(s, from)
	// "unexpected token: end of file" is prose; "token: 8f2c…" is not.
	prose := spaced && sep == end && !flag && (strings.EqualFold(name, "token") || strings.EqualFold(name, "secret"))
	if prose && !keyLike(s[from:to]) {
		return 0, 0
	}
	return from, to
}

// separator finds what stands at sep between a name and its value: an equals sign, a colon, or the blank behind a flag. from
// is where the value begins, and spaced says that blanks are around the sign.
func separator(s string, sep int, flag bool) (from int, spaced, is bool) {
	if sep == len(s) {
		return 0, false, false
	}
	if at := skip(s, sep, " \t"); at > sep && at < len(s) && s[at] == '=' { // name = value
		return skip(s, at+1, " \t"), false, true
	}
	switch c := s[sep]; {
	case c == '=':
		return sep + 1, false, true
	case c == ':':
		from = skip(s, sep+1, " \t")
		return from, from > sep+1, true
	case flag && (c == ' ' || c == ',' || c == '\t'):
		from = skip(s, sep, " ,\t")
		return from, false, from == len(s) || s[from] != '-'
	}
	return 0, false, false
}

// password returns the bounds of the part behind the colon of user:password at from.
func password(s string, from int) (int, int) {
	from, to := value(s[:min(len(s), from+maxUserinfo)], from)
	colon := strings.IndexByte(s[from:to], ':')
	if colon < 0 {
		return 0, 0
	}
	return from + colon + 1, to
}

// value returns the bounds of the value that begins at i: what is inside its quotes, or up to where a shell, a URL or
// an enclosing quote ends it.
func value(s string, i int) (from, to int) {
	open := skip(s, i, `\`)
	if open < len(s) && (s[open] == '"' || s[open] == '\'') {
		from = open + 1
		if open > i { // \"…\": text that was quoted as a whole
			return from, from + indexAny(s[from:], `\`+s[open:open+1])
		}
		for to = from; to < len(s) && s[to] != s[open]; to++ {
			if s[to] == '\\' && to+1 < len(s) {
				to++
			}
		}
		return from, to
	}
	for to = i; to < len(s); to++ {
		switch s[to] {
		case ' ', '\t', '\r', '\n', '"', '\'', '`', '&', ';', '<', '>', '|':
			return i, to
		case '\\':
			if to+1 < len(s) && (s[to+1] == '"' || s[to+1] == '\'') {
				return i, to
			}
			if to+1 < len(s) {
				to++
			}
		}
	}
	return i, to
}

// afterScheme steps over the name of an HTTP authentication scheme (RFC 9110, 11.4).
func afterScheme(s string, i int) int {
	if end := wordEnd(s, i); end > i && end < len(s) && s[end] == ' ' {
		return skip(s, end, " ")
	}
	return i
}

// userinfo finds the password in the authority of a URL, which begins at i (RFC 3986, 3.2.1).
func userinfo(s string, i int) (from, to int) {
	authority := s[i : i+indexAny(s[i:], "/?#\"'` \t\r\n<>")]
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return 0, 0
	}
	colon := strings.IndexByte(authority[:at], ':')
	if colon < 0 {
		return 0, 0
	}
	return i + colon + 1, i + at
}

// botToken finds a Telegram bot token, digits:secret, which stands in every URL of the Bot API.
func botToken(s string, i, colon int) (from, to int) {
	from = colon
	for from > i && s[from-1] >= '0' && s[from-1] <= '9' {
		from--
	}
	to = wordEnd(s, colon+1)
	if colon-from < 6 || to-colon-1 < 30 {
		return 0, 0
	}
	return from, to
}

// pemBlock finds a private key, whole or cut off (RFC 7468).
func pemBlock(s string, i, end int) (from, to int) {
	label := s[end:min(len(s), end+maxLabel)]
	if !strings.Contains(label, "PRIVATE KEY-----") {
		return 0, 0
	}
	const last = "-----END"
	if n := strings.Index(s[end:], last); n >= 0 {
		to = end + n + len(last)
		return i, to + indexAny(s[to:], "\r\n\\\"'")
	}
	return i, len(s)
}

// keyPrefixes begin the keys of services that mark theirs, by the least length of the whole.
var keyPrefixes = []struct {
	length   int
	prefixes []string
}{
	{12, []string{"xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"}},
	{16, []string{"sk-", "sk_live_", "sk_test_", "rk_live_", "glpat-"}},
	{20, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "hf_", "gsk_", "xai-", "nvapi-", "AKIA", "ASIA", "ya29."}},
	{24, []string{"github_pat_"}},
	{30, []string{"npm_"}},
	{35, []string{"AIza"}},
}

// keyShape reports whether word is a key of a well-known shape.
func keyShape(word string) bool {
	for _, k := range keyPrefixes {
		if len(word) < k.length {
			break
		}
		for _, prefix := range k.prefixes {
			if rest, ok := strings.CutPrefix(word, prefix); ok {
				return keyLike(rest)
			}
		}
	}
	// A JSON web token: three parts, the first an object in base64 (RFC 7519).
	return len(word) >= 30 && strings.HasPrefix(word, "eyJ") && strings.Count(word, ".") == 2
}

// keyLike tells a key from a word of a language: it has a digit or padding, or is long.
func keyLike(s string) bool {
	return len(s) >= 20 || strings.ContainsAny(s, "0123456789=")
}

// SecretName reports whether what is called name (an environment variable, a flag without its dashes, a JSON member, a
// header, a log attribute) is a secret by its name: API_KEY, token, clientSecret, but not token_env, tokens_in or the
// key of a session.
func SecretName(name string) bool {
	var last, before string
	found := false
	for rest := name; rest != ""; {
		var part string
		part, rest = namePart(rest)
		if part == "" {
			continue
		}
		before, last = last, part
		found = found || oneOf(part, secretWords)
	}
	switch {
	case oneOf(last, aboutWords):
		return false
	case found, strings.EqualFold(last, "auth"):
		return true
	case strings.EqualFold(last, "key"):
		return oneOf(before, keyWords) || name == strings.ToUpper(name)
	}
	return false
}

var (
	secretWords = []string{
		"token", "secret", "secrets", "password", "passwords", "passwd", "pwd", "passphrase", "credential", "credentials",
		"apikey", "accesskey", "secretkey", "privatekey", "accesstoken", "authtoken", "authorization",
	}
	// keyWords before "key" make it a secret one.
	keyWords = []string{
		"api", "access", "private", "secret", "auth", "encryption", "signing", "master", "service", "account", "client",
		"consumer", "deploy", "license", "ssh", "app", "bot",
	}
	// aboutWords at the end name something about a secret: where it is, how many there are.
	aboutWords = []string{
		"env", "file", "path", "dir", "url", "uri", "name", "id", "type", "count", "limit", "max", "min", "len", "length",
		"size", "ttl", "expires", "expiry", "in", "out", "usage", "ms",
	}
)

func oneOf(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(s, w) })
}

// namePart splits the first word off a name in snake, kebab or camel case.
func namePart(s string) (part, rest string) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case !alphanumeric(c):
			return s[:i], s[i+1:]
		case i == 0 || !upper(c):
		case !upper(s[i-1]): // apiKey
			return s[:i], s[i:]
		case i+1 < len(s) && s[i+1] >= 'a' && s[i+1] <= 'z': // APIKey
			return s[:i], s[i:]
		}
	}
	return s, ""
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || upper(c) || c >= '0' && c <= '9'
}

// wordByte reports whether c belongs to a name or a key.
func wordByte(c byte) bool {
	return alphanumeric(c) || c == '_' || c == '-' || c == '.'
}

func wordEnd(s string, i int) int {
	for i < len(s) && wordByte(s[i]) {
		i++
	}
	return i
}

// skip returns the first index from i on whose byte is none of set.
func skip(s string, i int, set string) int {
	return len(s) - len(strings.TrimLeft(s[i:], set))
}

// indexAny is strings.IndexAny, and len(s) where nothing is found.
func indexAny(s, chars string) int {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return i
	}
	return len(s)
}
