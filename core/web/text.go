package web

import (
	"io"
	"mime"
	"strings"

	"golang.org/x/net/html/charset"

	"gatewaytui/core/term"
)

// clean is text without what acts on a terminal or is invisible, with its lines and tabs.
func clean(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for k := range cells {
			cells[k] = term.Clean(cells[k], 0)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// squeezed is text with at most one empty line in a row, and none at its ends.
func squeezed(text string) string {
	var b strings.Builder
	empty := 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t")
		if line == "" {
			empty++
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n"[:min(empty+1, 2)])
		}
		b.WriteString(line)
		empty = 0
	}
	return b.String()
}

// oneLine is text as one clean line of at most n runes.
func oneLine(text string, n int) string {
	return term.Clean(strings.Join(strings.Fields(text), " "), n)
}

// decoded is in as UTF-8, by the charset of its media type, its byte order mark or its own declaration. An unknown one is read as it is.
func decoded(in io.Reader, mediaType string) (io.Reader, error) {
	return charset.NewReader(in, mediaType)
}

// textual reports whether a media type is one that is read as text; html says that it is a page.
func textual(mediaType string) (is, html bool) {
	name, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		name, _, _ = strings.Cut(strings.ToLower(mediaType), ";")
		name = strings.TrimSpace(name)
	}
	switch name {
	case "text/html", "application/xhtml+xml":
		return true, true
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/yaml", "application/x-yaml", "application/toml",
		"application/x-ndjson", "application/graphql", "application/sql", "image/svg+xml", "application/x-sh", "application/rtf", "message/rfc822":
		return true, false
	}
	return strings.HasPrefix(name, "text/") || strings.HasSuffix(name, "+json") || strings.HasSuffix(name, "+xml") || strings.HasSuffix(name, "+yaml"), false
}
