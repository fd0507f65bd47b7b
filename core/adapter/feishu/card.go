package feishu

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/markdown"
	"gatewaytui/core/term"
)

const (
	// maxUnits is the most of one message in UTF-16 units. A card may have 30 KB as JSON in JSON, where a unit has 7 bytes at most.
	maxUnits = 4000
	// What a card has room for: rows, buttons in a row, characters of a label and of what a press says.
	maxRows    = 5
	maxButtons = 5
	maxLabel   = 80
	maxPress   = 1000
)

// text is the text of one message. plain is what it reads as without Markdown.
type text struct {
	said, plain string
	markdown    bool
}

// textsOf is a text in the texts of messages, without those that would be blank.
func textsOf(s string, isMarkdown bool) (texts []text) {
	if !isMarkdown {
		for _, part := range adapter.Split(strings.ToValidUTF8(s, "\uFFFD"), maxUnits) {
			texts = append(texts, text{plain: part})
		}
	} else {
		for _, blocks := range markdown.Cut(markdown.Parse(s), maxUnits, func(b []markdown.Block) int { return units(format(b)) }) {
			texts = append(texts, text{said: format(blocks), plain: plain(blocks), markdown: true})
		}
	}
	return slices.DeleteFunc(texts, func(t text) bool { return strings.TrimSpace(t.plain+t.said) == "" })
}

// repeated is t with the mark that it may have arrived before, if it has room for that.
func (t text) repeated() text {
	marked := t
	marked.plain = adapter.RepeatMark + "\n\n" + t.plain
	if marked.markdown {
		marked.said = escape(adapter.RepeatMark) + "\n\n" + t.said
	}
	if units(marked.said) > maxUnits || units(marked.plain) > maxUnits {
		return t
	}
	return marked
}

// piece is a piece of a card of the structure 2.0 (https://open.feishu.cn/document/feishu-cards/card-json-v2-structure), which
// refuses what it does not know.
type piece = map[string]any

// element is the text as a piece of a card.
func (t text) element() piece {
	if t.markdown {
		return piece{"tag": "markdown", "content": t.said}
	}
	return piece{"tag": "div", "text": piece{"tag": "plain_text", "content": t.plain}}
}

// cardOf is a card as the content of a message.
func cardOf(first piece, rows []piece) string {
	card := piece{
		"schema": "2.0", "config": piece{"update_multi": true},
		"body": piece{"elements": append([]piece{first}, rows...)},
	}
	content, err := encode(card)
	if err != nil {
		panic(err) // texts in maps
	}
	return string(content)
}

// button is what a press of a button brings back: what it says, and the chat that the button is in.
type button struct {
	Say string `json:"say"`
	At  string `json:"at"`
}

// rowsOf are buttons below a message in a chat. What a card has no room for is left out: the text says it in words.
func rowsOf(buttons [][]adapter.Button, at address) (rows []piece) {
	for _, line := range buttons[:min(len(buttons), maxRows)] {
		var columns []piece
		for _, b := range line {
			label := term.Clean(b.Label, maxLabel)
			if label == "" || b.Text == "" || utf8.RuneCountInString(b.Text) > maxPress || len(columns) == maxButtons {
				continue
			}
			columns = append(columns, piece{"tag": "column", "width": "auto", "elements": []piece{{
				"tag": "button", "text": piece{"tag": "plain_text", "content": label},
				"behaviors": []piece{{"type": "callback", "value": button{Say: b.Text, At: at.String()}}},
			}}})
		}
		if len(columns) > 0 {
			rows = append(rows, piece{"tag": "column_set", "flex_mode": "flow", "columns": columns})
		}
	}
	return rows
}

func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// plain is what blocks read as without Markdown.
func plain(blocks []markdown.Block) string {
	return write(blocks, func(b markdown.Block) string {
		var out strings.Builder
		for i, s := range b.Spans {
			out.WriteString(s.Text)
			if last := i == len(b.Spans)-1 || b.Spans[i+1].URL != s.URL; last && s.URL != "" && s.URL != s.Text {
				out.WriteString(" (" + s.URL + ")")
			}
		}
		return out.String()
	})
}

// format writes blocks as the Markdown of a card
// (https://open.feishu.cn/document/feishu-cards/card-json-v2-components/content-components/rich-text). What has a meaning there and none
// in the block is escaped.
func format(blocks []markdown.Block) string {
	return write(blocks, func(b markdown.Block) string {
		switch b.Kind {
		case markdown.Fence:
			return "```" + language(b.Language) + "\n" + calm(strings.ReplaceAll(b.Text(), "```", "`\u200b``")) + "\n```"
		case markdown.Rule:
			return "<hr>"
		}
		var out strings.Builder
		if b.Kind == markdown.Heading {
			out.WriteString(strings.Repeat("#", min(max(b.Level, 1), 6)) + " ")
		}
		for _, s := range b.Spans {
			out.WriteString(span(s))
		}
		return out.String()
	})
}

// write puts blocks below each other, each as text says, with the marks of lists and quotes.
func write(blocks []markdown.Block, text func(markdown.Block) string) string {
	var out strings.Builder
	for i, b := range blocks {
		if i > 0 {
			out.WriteString("\n")
			if !b.Tight {
				out.WriteString("\n")
			}
		}
		line := text(b)
		if b.Kind != markdown.Fence && b.Kind != markdown.Rule {
			line = lead(b) + line
			if b.Quoted {
				line = "> " + strings.ReplaceAll(line, "\n", "\n> ")
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// lead is what a block of a list begins with.
func lead(b markdown.Block) string {
	indent := strings.Repeat("    ", max(b.Depth-1, 0))
	switch {
	case b.Marker == "•":
		return indent + "- "
	case b.Marker != "":
		return indent + b.Marker + " "
	case b.Depth > 0:
		return indent + "    "
	}
	return ""
}

// language is the language of a fence, empty if it is not a word.
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
	if s.Style&markdown.Code != 0 && !strings.Contains(text, "`") {
		text = "`" + calm(text) + "`"
	} else {
		text = linked(text, s.URL == "")
		for _, style := range []struct {
			is   markdown.Style
			sign string
		}{{markdown.Strike, "~~"}, {markdown.Italic, "*"}, {markdown.Bold, "**"}} {
			if s.Style&style.is != 0 {
				text = style.sign + text + style.sign
			}
		}
	}
	switch {
	case s.URL != "" && !strings.ContainsAny(s.URL, "() \n<>"):
		text = "[" + text + "](" + s.URL + ")"
	case s.URL != "" && s.URL != s.Text:
		text += " (" + escape(s.URL) + ")"
	}
	return before + text + after
}

// webAddress is an address of a page in a text.
var webAddress = regexp.MustCompile(`https?://[^\s()<>\[\]"'\x60*]+`)

// linked is text that a card shows as it is. Its addresses are links, if it is none itself.
func linked(text string, links bool) string {
	if !links {
		return escape(text)
	}
	var out strings.Builder
	for {
		at := webAddress.FindStringIndex(text)
		if at == nil {
			return out.String() + escape(text)
		}
		found := strings.TrimRight(text[at[0]:at[1]], ".,;:!?")
		out.WriteString(escape(text[:at[0]]) + "[" + escape(found) + "](" + found + ")")
		text = text[at[0]+len(found):]
	}
}

// escape is text that a card shows as it is. A tag would name people, who would be notified, and a picture would be fetched.
var escape = strings.NewReplacer(
	"&", "&#38;", "<", "&#60;", ">", "&#62;", "*", "&#42;", "~", "&#126;", "`", "&#96;", "_", "&#95;", "[", "&#91;", "]", "&#93;",
	"#", "&#35;", "$", "&#36;", "\n-", "\n&#45;", "\n+", "\n&#43;", "|", "&#124;",
).Replace

// calm is code in which no tag names people.
var calm = strings.NewReplacer("<at", "<\u200bat", "<AT", "<\u200bAT", "<person", "<\u200bperson").Replace
