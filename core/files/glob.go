package files

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// maxPattern is the longest pattern, in bytes.
const maxPattern = 1 << 10

// glob is a pattern of paths: * is any text without a slash, ** any text, ? one character, [abc] one of them and {a,b} one of the
// two. One without a slash is compared with the name alone. The zero value is true of every path.
type glob struct {
	re   *regexp.Regexp
	base bool
}

// parseGlob reads a pattern; the empty one is true of every path.
func parseGlob(pattern string) (glob, error) {
	if pattern == "" {
		return glob{}, nil
	}
	if len(pattern) > maxPattern {
		return glob{}, fmt.Errorf("argument %q has more than %d bytes", "glob", maxPattern)
	}
	text, err := globRegexp(strings.TrimPrefix(pattern, "./"))
	if err != nil {
		return glob{}, fmt.Errorf("argument %q: %w; an example is **/*.go", "glob", err)
	}
	re, err := regexp.Compile(`(?s)\A(?:` + text + `)\z`)
	if err != nil {
		return glob{}, fmt.Errorf("argument %q cannot be used: %w; an example is **/*.go", "glob", err)
	}
	return glob{re: re, base: !strings.Contains(pattern, "/")}, nil
}

// globRegexp is a pattern as a regular expression.
func globRegexp(pattern string) (string, error) {
	var b strings.Builder
	open := 0 // braces
	for rest := pattern; rest != ""; {
		used := 1
		switch c := rest[0]; {
		case strings.HasPrefix(rest, "**/"):
			used = 3
			b.WriteString(`(?:.*/)?`)
		case strings.HasPrefix(rest, "**"):
			used = 2
			b.WriteString(`.*`)
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '[':
			end := strings.IndexByte(rest, ']')
			if end < 2 {
				return "", errors.New("a [ without the characters and the ] that belong to it")
			}
			used = end + 1
			class, not := rest[1:end], ""
			if strings.HasPrefix(class, "!") {
				class, not = class[1:], "^"
			}
			b.WriteString("[" + not + strings.NewReplacer(`\`, `\\`, `[`, `\[`).Replace(class) + "]")
		case c == '{':
			open++
			b.WriteString("(?:")
		case c == '}' && open > 0:
			open--
			b.WriteString(")")
		case c == ',' && open > 0:
			b.WriteString("|")
		case c == '\\' && len(rest) > 1:
			used = 2
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
		rest = rest[used:]
	}
	if open > 0 {
		return "", errors.New("a { without its }")
	}
	return b.String(), nil
}

// matches reports whether the pattern is true of a path.
func (g glob) matches(name string) bool {
	if g.re == nil {
		return true
	}
	if g.base {
		name = path.Base(name)
	}
	return g.re.MatchString(name)
}
