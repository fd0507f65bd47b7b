package media

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"gatewaytui/core/term"
)

const (
	// maxName and maxExtension bound the name of a saved file, and the extension in it, in bytes.
	maxName      = 100
	maxExtension = 12
	// maxShownName is the room for a name in a text, in cells.
	maxShownName = 80
)

// fileName makes the name of a received file fit for the work folder: one component of letters, digits and . _ - + = @ that
// begins with none of . and -. A model may write it into a shell without quotes. fallback is for a name of which nothing is
// left.
func fileName(name, fallback string) string {
	name = path.Base(path.Clean("/" + strings.ReplaceAll(name, `\`, "/")))
	name = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r), strings.ContainsRune("._-+=@", r):
			return r
		}
		return '_'
	}, name)
	if name = strings.TrimLeft(name, ".-+=@"); strings.Trim(name, "._-+=@") == "" {
		return fallback
	}
	extension := path.Ext(name)
	if len(extension) > maxExtension || len(extension) == len(name) {
		extension = ""
	}
	return cut(strings.TrimSuffix(name, extension), maxName-len(extension)) + extension
}

// numbered is the n-th name to try for a file, from 1 on.
func numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	extension := path.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, extension), n, extension)
}

// cut is the longest beginning of s in at most n bytes that ends with a whole character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// shownName is a name for people and models, in quotes.
func shownName(name, fallback string) string {
	if name = strings.TrimSpace(term.Clean(name, maxShownName)); name == "" {
		return fallback
	}
	return `"` + strings.ReplaceAll(name, `"`, "'") + `"`
}
