package matrix

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/markdown"
)

const (
	// maxUnits is the most of one message in UTF-16 units. An event has at most 65,536 bytes
	// (https://spec.matrix.org/latest/client-server-api/#size-limits), in which an edit has its text twice.
	maxUnits = 4000
	// maxBytes is the most bytes that the text and its format take as JSON: twice that is an event with room for the rest.
	maxBytes = 30000
	// customHTML is the format of a formatted body.
	customHTML = "org.matrix.custom.html"
)

// textsOf is text in the contents of messages of at most maxUnits, without those that would be blank.
func textsOf(text string, isMarkdown bool) (messages []content) {
	text = printable(text)
	if !isMarkdown {
		for _, part := range adapter.Split(text, maxUnits) {
			messages = append(messages, message(part))
		}
	} else {
		for _, blocks := range markdown.Cut(markdown.Parse(text), maxUnits, weigh) {
			m := message(plain(blocks))
			if styled(blocks) {
				m.Format, m.Formatted = customHTML, format(blocks)
			}
			messages = append(messages, m)
		}
	}
	return slices.DeleteFunc(messages, func(c content) bool { return strings.TrimSpace(c.Body) == "" })
}

// message is a text that mentions no user and whose links have no preview.
func message(text string) content {
	return content{Kind: "m.text", Body: text, Mentions: &mentions{}, Previews: json.RawMessage("[]")}
}

// plain is the message without its format.
func (c content) plain() content {
	c.Format, c.Formatted = "", ""
	if c.New != nil {
		p := c.New.plain()
		c.New = &p
	}
	return c
}

// behind is the message behind a line of its own.
func (c content) behind(line string) content {
	c.Body = line + "\n\n" + c.Body
	if c.Formatted != "" {
		c.Formatted = "<p>" + html.EscapeString(line) + "</p>" + c.Formatted
	}
	return c
}

// printable is text without what is not UTF-8 and without control characters, which homeservers refuse or which take six bytes.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// weigh is how much of a message the blocks take.
func weigh(blocks []markdown.Block) int {
	text := plain(blocks)
	bytes := written(text) + written(format(blocks))
	return max(units(text), (bytes*maxUnits+maxBytes-1)/maxBytes)
}

func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// written is the length of printable text as JSON in bytes.
func written(s string) int {
	return len(s) + strings.Count(s, `"`) + strings.Count(s, `\`) + strings.Count(s, "\n") + strings.Count(s, "\t") + 3*(strings.Count(s, "\u2028")+strings.Count(s, "\u2029"))
}

// styled reports whether the blocks show something that plain text does not.
func styled(blocks []markdown.Block) bool {
	return slices.ContainsFunc(blocks, func(b markdown.Block) bool {
		return b.Kind != markdown.Paragraph || b.Quoted || b.Depth > 0 || slices.ContainsFunc(b.Spans, func(s markdown.Span) bool { return s.Style != 0 || s.URL != "" && s.URL != s.Text })
	})
}

// plain writes blocks as text for programs without formats.
func plain(blocks []markdown.Block) string {
	var out strings.Builder
	for i, b := range blocks {
		if i > 0 {
			out.WriteString("\n")
			if !b.Tight {
				out.WriteString("\n")
			}
		}
		text := plainBlock(b)
		if b.Quoted {
			text = "> " + strings.ReplaceAll(text, "\n", "\n> ")
		}
		out.WriteString(text)
	}
	return out.String()
}

func plainBlock(b markdown.Block) string {
	switch b.Kind {
	case markdown.Fence:
		return "```" + b.Language + "\n" + b.Text() + "\n```"
	case markdown.Rule:
		return "———"
	}
	var text strings.Builder
	text.WriteString(strings.Repeat("  ", max(b.Depth-1, 0)))
	switch {
	case b.Marker != "":
		text.WriteString(b.Marker + " ")
	case b.Depth > 0:
		text.WriteString("  ")
	}
	for i, s := range b.Spans {
		text.WriteString(s.Text)
		if s.URL != "" && s.URL != s.Text && (i == len(b.Spans)-1 || b.Spans[i+1].URL != s.URL) {
			text.WriteString(" (" + s.URL + ")")
		}
	}
	return text.String()
}

// formatter writes blocks as the HTML that programs for Matrix show
// (https://spec.matrix.org/latest/client-server-api/#mroommessage-msgtypes).
type formatter struct {
	strings.Builder
	lists  []string // the open lists, outermost first: "ul" or "ol"
	quoted bool
}

// format writes blocks as HTML. Nothing in a text can break it: all of it is escaped.
func format(blocks []markdown.Block) string {
	var f formatter
	for _, b := range blocks {
		f.block(b)
	}
	f.quote(false)
	return f.String()
}

// quote begins or ends a quote. Lists end with it.
func (f *formatter) quote(on bool) {
	if f.quoted != on || !on {
		f.close(0)
	}
	if f.quoted == on {
		return
	}
	f.quoted = on
	if on {
		f.WriteString("<blockquote>")
	} else {
		f.WriteString("</blockquote>")
	}
}

// close ends the lists that are deeper than depth.
func (f *formatter) close(depth int) {
	for len(f.lists) > depth {
		last := len(f.lists) - 1
		f.WriteString("</li></" + f.lists[last] + ">")
		f.lists = f.lists[:last]
	}
}

// item begins an item of a list at this depth.
func (f *formatter) item(depth int, marker string) {
	kind, start := "ul", ""
	if marker != "•" {
		kind = "ol"
		if number := strings.TrimRight(marker, ".)"); number != "1" {
			start = fmt.Sprintf(` start="%s"`, html.EscapeString(number))
		}
	}
	if len(f.lists) == depth && f.lists[depth-1] == kind {
		f.WriteString("</li><li>")
		return
	}
	f.close(depth - 1)
	for len(f.lists) < depth-1 {
		f.WriteString("<ul><li>")
		f.lists = append(f.lists, "ul")
	}
	f.WriteString("<" + kind + start + "><li>")
	f.lists = append(f.lists, kind)
}

func (f *formatter) block(b markdown.Block) {
	if b.Quoted != f.quoted {
		f.quote(b.Quoted)
	}
	f.close(b.Depth)
	if b.Marker != "" && b.Depth > 0 {
		f.item(b.Depth, b.Marker)
	}
	switch {
	case b.Kind == markdown.Fence:
		class := ""
		if b.Language != "" {
			class = ` class="language-` + html.EscapeString(b.Language) + `"`
		}
		f.WriteString("<pre><code" + class + ">" + html.EscapeString(b.Text()) + "\n</code></pre>")
	case b.Kind == markdown.Rule:
		f.WriteString("<hr>")
	case b.Kind == markdown.Heading:
		f.in(fmt.Sprintf("h%d", min(max(b.Level, 1), 6)), b)
	case b.Marker != "":
		f.spans(b.Spans)
	default:
		f.in("p", b)
	}
}

func (f *formatter) in(tag string, b markdown.Block) {
	f.WriteString("<" + tag + ">")
	f.spans(b.Spans)
	f.WriteString("</" + tag + ">")
}

// tags are those of styles, the outermost first.
var tags = []struct {
	is  markdown.Style
	tag string
}{{markdown.Bold, "strong"}, {markdown.Italic, "em"}, {markdown.Strike, "del"}, {markdown.Code, "code"}}

func (f *formatter) spans(spans []markdown.Span) {
	for _, s := range spans {
		var before, after string
		if s.URL != "" {
			before, after = `<a href="`+html.EscapeString(s.URL)+`">`, "</a>"
		}
		for _, t := range tags {
			if s.Style&t.is != 0 {
				before, after = before+"<"+t.tag+">", "</"+t.tag+">"+after
			}
		}
		f.WriteString(before + strings.ReplaceAll(html.EscapeString(s.Text), "\n", "<br>") + after)
	}
}
