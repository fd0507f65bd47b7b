package mail

import (
	"fmt"
	"html"
	"net/url"
	"strings"

	"gatewaytui/core/adapter/markdown"
)

// formatted is Markdown as HTML. All text in it is escaped, so that a model writes no element of its own, and nothing is fetched
// when it is shown.
func formatted(text string) string {
	var b strings.Builder
	b.WriteString("<html><body>\n")
	for _, block := range markdown.Parse(text) {
		writeBlock(&b, block)
	}
	b.WriteString("</body></html>\n")
	return b.String()
}

func writeBlock(b *strings.Builder, block markdown.Block) {
	if block.Quoted {
		b.WriteString("<blockquote>")
		defer b.WriteString("</blockquote>\n")
	}
	indent := ""
	if block.Depth > 0 {
		indent = fmt.Sprintf(` style="margin:0.2em 0 0.2em %dem"`, 2*block.Depth)
	}
	switch block.Kind {
	case markdown.Fence:
		fmt.Fprintf(b, "<pre%s><code>%s</code></pre>\n", indent, html.EscapeString(block.Text()))
		return
	case markdown.Rule:
		b.WriteString("<hr>\n")
		return
	}
	tag := "p"
	if block.Kind == markdown.Heading {
		tag = fmt.Sprintf("h%d", min(max(block.Level, 1), 6))
	}
	fmt.Fprintf(b, "<%s%s>", tag, indent)
	if block.Marker != "" {
		b.WriteString(html.EscapeString(block.Marker) + " ")
	}
	for _, s := range block.Spans {
		b.WriteString(span(s))
	}
	fmt.Fprintf(b, "</%s>\n", tag)
}

// span is a piece of text with its style.
func span(s markdown.Span) string {
	text := strings.ReplaceAll(html.EscapeString(s.Text), "\n", "<br>\n")
	for _, style := range []struct {
		is  markdown.Style
		tag string
	}{{markdown.Code, "code"}, {markdown.Strike, "s"}, {markdown.Italic, "i"}, {markdown.Bold, "b"}} {
		if s.Style&style.is != 0 {
			text = "<" + style.tag + ">" + text + "</" + style.tag + ">"
		}
	}
	if s.URL == "" {
		return text
	}
	if u, err := url.Parse(s.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "mailto" {
		return text + " (" + html.EscapeString(s.URL) + ")"
	}
	return `<a href="` + html.EscapeString(s.URL) + `">` + text + "</a>"
}
