package text

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// hole is a variable of a template: {{name}}.
var hole = regexp.MustCompile(`\{\{\s*([a-z][a-z0-9_]*)\s*\}\}`)

// Holes are the names of the variables in a template, in their order; what is written {{name}} is one.
func Holes(template string) (names []string) {
	for _, m := range hole.FindAllStringSubmatch(template, -1) {
		names = append(names, m[1])
	}
	return names
}

// Fill replaces the variables of a template. One without a value stays as it is written.
func Fill(template string, values map[string]string) string {
	return hole.ReplaceAllStringFunc(template, func(written string) string {
		if v, known := values[strings.TrimSpace(written[2:len(written)-2])]; known {
			return v
		}
		return written
	})
}

// GlobKey is Glob for the key of a session. A pattern that ends with ":*" also matches what is before that, and one that matches a
// group also matches its members, whose keys end with ":user:" and an id.
func GlobKey(pattern, key string) bool {
	if Glob(pattern, key) {
		return true
	}
	if all, is := strings.CutSuffix(pattern, ":*"); is && Glob(all, key) {
		return true
	}
	at := strings.LastIndex(key, ":user:")
	return at > 0 && strings.Contains(key[:at], ":") && GlobKey(pattern, key[:at])
}

// Glob reports whether name matches a pattern in which * is any text and ? any character. Every other character is itself.
func Glob(pattern, name string) bool {
	star, rest := -1, "" // the last * so far, and what of name it has not taken
	at := 0
	for {
		switch {
		case at < len(pattern) && pattern[at] == '*':
			star, rest = at, name
			at++
			continue
		case at < len(pattern) && name != "" && pattern[at] == '?':
			_, n := utf8.DecodeRuneInString(name)
			at, name = at+1, name[n:]
			continue
		case at < len(pattern) && name != "" && pattern[at] == name[0]:
			at, name = at+1, name[1:]
			continue
		case at == len(pattern) && name == "":
			return true
		case star < 0 || rest == "":
			return false
		}
		_, n := utf8.DecodeRuneInString(rest)
		at, rest = star+1, rest[n:]
		name = rest
	}
}
