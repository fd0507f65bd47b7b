package slack

import (
	"strconv"
	"strings"
	"unicode/utf16"

	"gatewaytui/core/adapter/markdown"
)

// maxUnits is the most of one message in UTF-16 units, as Slack escapes it. Slack takes 4,000 characters where a message is changed
// (https://docs.slack.dev/reference/methods/chat.update), and 3,000 in one block.
const maxUnits = 3000

// element is a part of a rich text block (https://docs.slack.dev/reference/block-kit/blocks/rich-text-block). It has no markup: a text
// is shown as it is.
type element struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	URL   string `json:"url,omitempty"`
	Style any    `json:"style,omitempty"` // a word for a list, styles for a text
	// Indent and Offset are of a list; the first item has the number after Offset.
	Indent   int       `json:"indent,omitempty"`
	Offset   int       `json:"offset,omitempty"`
	Elements []element `json:"elements,omitempty"`
}

// The types of elements that hold others.
const (
	section = "rich_text_section"
	quote   = "rich_text_quote"
	list    = "rich_text_list"
	fence   = "rich_text_preformatted"
)

// styles is how a text is shown.
type styles struct {
	Bold   bool `json:"bold,omitempty"`
	Italic bool `json:"italic,omitempty"`
	Strike bool `json:"strike,omitempty"`
	Code   bool `json:"code,omitempty"`
}

// messagesOf is a text in the blocks of messages of at most maxUnits, without those that would be blank: Slack refuses them.
func messagesOf(text string, isMarkdown bool) (messages [][]markdown.Block) {
	read := markdown.Plain
	if isMarkdown {
		read = markdown.Parse
	}
	for _, blocks := range markdown.Cut(read(text), maxUnits, weigh) {
		if strings.TrimSpace(textOf(blocks)) != "" {
			messages = append(messages, blocks)
		}
	}
	return messages
}

// weigh is how much of a message the blocks take.
func weigh(blocks []markdown.Block) (units int) {
	for _, r := range escaped.Replace(textOf(blocks)) {
		units += utf16.RuneLen(r)
	}
	return units
}

// textOf is blocks as plain text: what a notification shows, and a message whose blocks Slack refuses.
func textOf(blocks []markdown.Block) string {
	var out strings.Builder
	for i, b := range blocks {
		if i > 0 {
			out.WriteString(gap(b))
		}
		lead := strings.Repeat("  ", max(b.Depth-1, 0))
		if b.Depth > 0 {
			lead += strings.TrimSpace(b.Marker+" ") + " "
		}
		out.WriteString(strings.TrimPrefix(lead, " "))
		if b.Kind == markdown.Rule {
			out.WriteString(rule)
		}
		for _, s := range b.Spans {
			out.WriteString(s.Text)
			if s.URL != "" && s.URL != strings.TrimSpace(s.Text) {
				out.WriteString(" (" + s.URL + ")")
			}
		}
	}
	return out.String()
}

// rule is a line across.
const rule = "———"

// gap is what is between a block and the one before it.
func gap(b markdown.Block) string {
	if b.Tight {
		return "\n"
	}
	return "\n\n"
}

// richText is blocks as the elements of one rich text block.
func richText(blocks []markdown.Block) (all []element) {
	for i, b := range blocks {
		last := len(all) - 1
		switch kind := kindOf(b); {
		case kind == fence:
			if text := b.Text(); text != "" {
				all = append(all, element{Type: fence, Elements: []element{{Type: "text", Text: text}}})
			}
		case kind == list:
			all = item(all, b)
		case last >= 0 && all[last].Type == list && b.Depth > 0 && kind == section: // more of the same item
			of := &all[last].Elements[len(all[last].Elements)-1]
			of.Elements = append(of.Elements, element{Type: "text", Text: "\n"})
			of.Elements = append(of.Elements, spansOf(b)...)
		case last >= 0 && all[last].Type == kind:
			all[last].Elements = append(all[last].Elements, element{Type: "text", Text: gap(b)})
			all[last].Elements = append(all[last].Elements, spansOf(b)...)
		default:
			if parts := spansOf(b); len(parts) > 0 {
				if kind == section && i > 0 && all != nil && all[last].Type == list { // a list has no margin below it
					parts = append([]element{{Type: "text", Text: "\n"}}, parts...)
				}
				all = append(all, element{Type: kind, Elements: parts})
			}
		}
	}
	return all
}

// kindOf is the type of element that a block becomes.
func kindOf(b markdown.Block) string {
	switch {
	case b.Kind == markdown.Fence:
		return fence
	case b.Quoted:
		return quote
	case b.Depth > 0 && b.Marker != "":
		return list
	}
	return section
}

// item adds an item to the last list, or begins a list.
func item(all []element, b markdown.Block) []element {
	style, indent, offset := "bullet", b.Depth-1, 0
	if n, err := strconv.Atoi(strings.TrimRight(b.Marker, ".)")); err == nil {
		style, offset = "ordered", max(n-1, 0)
	}
	parts := spansOf(markdown.Block{Kind: b.Kind, Level: b.Level, Spans: b.Spans})
	if len(parts) == 0 {
		parts = []element{{Type: "text", Text: " "}} // Slack refuses an empty one
	}
	one := element{Type: section, Elements: parts}
	if last := len(all) - 1; last >= 0 && all[last].Type == list && all[last].Style == style && all[last].Indent == indent && b.Tight {
		all[last].Elements = append(all[last].Elements, one)
		return all
	}
	return append(all, element{Type: list, Style: style, Indent: indent, Offset: offset, Elements: []element{one}})
}

// spansOf are the texts and links of a block that is not a fence. In a quote, a list keeps its markers.
func spansOf(b markdown.Block) (all []element) {
	if b.Kind == markdown.Rule {
		return []element{{Type: "text", Text: rule}}
	}
	if b.Quoted && b.Depth > 0 {
		all = append(all, element{Type: "text", Text: strings.Repeat("  ", b.Depth-1) + b.Marker + " "})
	}
	for _, s := range b.Spans {
		style := styles{
			Bold: s.Style&markdown.Bold != 0 || b.Kind == markdown.Heading, Italic: s.Style&markdown.Italic != 0,
			Strike: s.Style&markdown.Strike != 0, Code: s.Style&markdown.Code != 0,
		}
		var shown any
		if style != (styles{}) {
			shown = style
		}
		switch {
		case s.Text == "":
		case s.URL != "":
			all = append(all, element{Type: "link", URL: s.URL, Text: s.Text, Style: shown})
		case style.Code:
			all = append(all, element{Type: "text", Text: s.Text, Style: shown})
		default:
			all = append(all, linked(s.Text, shown)...)
		}
	}
	return all
}

// linked is a text in which addresses of pages are links.
func linked(text string, style any) (all []element) {
	add := func(s string) {
		if s != "" {
			all = append(all, element{Type: "text", Text: s, Style: style})
		}
	}
	for rest := text; ; {
		at := strings.Index(rest, "http")
		for at >= 0 && !strings.HasPrefix(rest[at:], "http://") && !strings.HasPrefix(rest[at:], "https://") {
			next := strings.Index(rest[at+4:], "http")
			if next < 0 {
				at = -1
				break
			}
			at += 4 + next
		}
		if at < 0 {
			add(rest)
			return all
		}
		end := strings.IndexAny(rest[at:], " \n\t<>\"")
		if end < 0 {
			end = len(rest) - at
		}
		address := strings.TrimRight(rest[at:at+end], ".,;:!?)'")
		add(rest[:at])
		all = append(all, element{Type: "link", URL: address, Text: address, Style: style})
		rest = rest[at+len(address):]
	}
}
