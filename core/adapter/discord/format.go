package discord

import (
	"slices"
	"strings"
	"unicode/utf16"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/markdown"
)

// textsOf is text in the texts of messages of at most maxUnits, without those that would be blank: Discord refuses them.
func textsOf(text string, isMarkdown bool) (texts []string) {
	if !isMarkdown {
		texts = adapter.Split(strings.ToValidUTF8(text, "\uFFFD"), maxUnits)
	} else {
		for _, blocks := range markdown.Cut(markdown.Parse(text), maxUnits, weigh) {
			texts = append(texts, format(blocks))
		}
	}
	return slices.DeleteFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// weigh is how much of a message the blocks take, in UTF-16 units.
func weigh(blocks []markdown.Block) int { return units(format(blocks)) }

func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// format writes blocks as Discord's own Markdown. What has a meaning there and none in the block is escaped.
func format(blocks []markdown.Block) string {
	var out strings.Builder
	for i, b := range blocks {
		if i > 0 {
			out.WriteString("\n")
			if !b.Tight && blocks[i-1].Kind != markdown.Fence { // a fence has a margin of its own
				out.WriteString("\n")
			}
		}
		text := block(b)
		if b.Quoted && b.Kind != markdown.Fence {
			text = "> " + strings.ReplaceAll(text, "\n", "\n> ")
		}
		out.WriteString(text)
	}
	return out.String()
}

func block(b markdown.Block) string {
	switch b.Kind {
	case markdown.Fence:
		return "```" + language(b.Language) + "\n" + strings.ReplaceAll(b.Text(), "```", "`\u200b``") + "\n```"
	case markdown.Rule:
		return "———"
	}
	var text strings.Builder
	if b.Kind == markdown.Heading {
		text.WriteString(strings.Repeat("#", min(max(b.Level, 1), 3)) + " ")
	}
	indent := strings.Repeat("  ", max(b.Depth-1, 0))
	switch {
	case b.Marker == "•":
		text.WriteString(indent + "- ")
	case b.Marker != "":
		text.WriteString(indent + b.Marker + " ")
	case b.Depth > 0:
		text.WriteString(indent + "  ")
	}
	for _, s := range b.Spans {
		text.WriteString(span(s))
	}
	return text.String()
}

// language is the language of a fence, empty if it is not a word: a fence's first line is then part of the code.
func language(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("+-_.#", r)
	}) {
		return ""
	}
	return s
}

// span writes a piece of text with its style. White space at its ends is outside of the signs, which would not count next to it.
func span(s markdown.Span) string {
	text := strings.TrimSpace(s.Text)
	if text == "" {
		return s.Text
	}
	from := strings.Index(s.Text, text)
	before, after := s.Text[:from], s.Text[from+len(text):]
	switch {
	case s.URL != "" && s.URL == text:
		return s.Text
	case s.Style&markdown.Code != 0:
		text = code(text)
	default:
		text = escape(text)
		for _, style := range []struct {
			is   markdown.Style
			sign string
		}{{markdown.Strike, "~~"}, {markdown.Italic, "*"}, {markdown.Bold, "**"}} {
			if s.Style&style.is != 0 {
				text = style.sign + text + style.sign
			}
		}
	}
	if s.URL != "" && !strings.ContainsAny(s.URL, "() \n<>") {
		text = "[" + text + "](<" + s.URL + ">)"
	} else if s.URL != "" {
		text += " (" + escape(s.URL) + ")"
	}
	return before + text + after
}

// code is text between the shortest row of backticks that is not in it.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) && len(fence) < 3 {
		fence += "`"
	}
	if strings.Contains(text, fence) {
		return escape(text)
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// signs are the characters that style a text wherever they stand, and lead those that do so at the beginning of a line.
var (
	signs = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, "[", `\[`)
	leads = strings.NewReplacer("\n#", "\n\\#", "\n>", "\n\\>", "\n-", "\n\\-", "\n+", "\n\\+")
)

// escape is text that Discord shows as it is, but for addresses, which stay links.
func escape(text string) string {
	var out strings.Builder
	for rest := text; rest != ""; {
		at := strings.Index(rest, "http")
		if at < 0 || !strings.HasPrefix(rest[at:], "http://") && !strings.HasPrefix(rest[at:], "https://") {
			end := len(rest)
			if at >= 0 {
				end = at + len("http")
			}
			out.WriteString(signs.Replace(rest[:end]))
			rest = rest[end:]
			continue
		}
		end := strings.IndexAny(rest[at:], " \n\t")
		if end < 0 {
			end = len(rest) - at
		}
		out.WriteString(signs.Replace(rest[:at]))
		out.WriteString(rest[at : at+end])
		rest = rest[at+end:]
	}
	return strings.TrimPrefix(leads.Replace("\n"+out.String()), "\n")
}
