package external

import (
	"strings"

	"gatewaytui/core/adapter"
)

const (
	// maxOpener is the longest line that begins a fence and is repeated where the fence is cut, in bytes.
	maxOpener = 20
	// fenceRoom is what both ends of a fence that is cut take, in UTF-16 units.
	fenceRoom = 2*maxOpener + 4
)

// split is a text as messages of at most most UTF-16 units; 0: of any length. A fence of Markdown that is cut is a fence in both messages. A
// blank text has none.
func split(text string, most int, markdown bool) []string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	switch {
	case strings.TrimSpace(text) == "":
		return nil
	case most == 0:
		return []string{text}
	}
	parts := adapter.Split(text, most)
	if markdown && len(parts) > 1 {
		parts = adapter.Split(text, most-fenceRoom)
		repairFences(parts)
	}
	return parts
}

// repairFences ends each fence that goes on in the next part, and begins it there again.
func repairFences(parts []string) {
	opener := ""
	for i, part := range parts {
		begin := opener
		for line := range strings.Lines(part) {
			opener = fenceAfter(opener, strings.TrimSpace(line))
		}
		if begin != "" {
			parts[i] = begin + "\n" + part
		}
		if opener != "" && i < len(parts)-1 {
			parts[i] = strings.TrimSuffix(parts[i], "\n") + "\n" + closer(opener)
		}
	}
}

// fenceAfter is the line that began the fence in which the next line stands; empty: it stands in none.
func fenceAfter(opener, line string) string {
	switch {
	case opener == "" && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")):
		if len(line) > maxOpener {
			return closer(line)
		}
		return line
	case opener != "" && line != "" && strings.HasPrefix(line, closer(opener)) && strings.Trim(line, line[:1]) == "":
		return ""
	}
	return opener
}

// closer is the line that ends a fence.
func closer(opener string) string {
	n := len(opener) - len(strings.TrimLeft(opener, opener[:1]))
	return strings.Repeat(opener[:1], min(n, maxOpener))
}
