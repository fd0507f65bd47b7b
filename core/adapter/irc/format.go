package irc

import (
	"strings"
	"unicode/utf8"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/markdown"
)

const (
	// maxText is the most bytes of text in a line, and leastText what there is of it for any name of a chat.
	maxText, leastText = 400, 100
	// maxWire is a line with its end (RFC 1459, 2.3), and maxPrefix what the server may add of user@host: ngircd ends a connection whose
	// line is longer, and others cut it.
	maxWire, maxPrefix = 512, 76
)

// The control codes of a style (https://modern.ircdocs.horse/formatting). Each begins the style or ends it.
const (
	bold   = "\x02"
	italic = "\x1d"
	strike = "\x1e"
)

// lines are the lines of a message to a chat: none is blank.
func (c *conn) lines(to chat, answered string, m adapter.Outgoing) (all []string) {
	var nick, host string
	c.locked(func() { nick, host = c.nick, c.host })
	used := len(":! PRIVMSG  :\r\n") + len(nick) + max(len(host), maxPrefix) + len(to.name)
	most := max(min(maxText, maxWire-used), leastText)
	text := clean(m.Text)
	if m.Markdown {
		text = styled(clean(m.Text))
	}
	if answered != "" {
		text = answered + ": " + strings.TrimLeft(text, "\n ")
	}
	for one := range strings.SplitSeq(text, "\n") {
		all = append(all, cut(strings.TrimRight(one, " "), most)...)
	}
	return all
}

// clean is text of the gateway without control codes but for the ends of lines.
func clean(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		rows[i] = plain(row)
	}
	return strings.Join(rows, "\n")
}

// cut divides a line into parts of at most most bytes: between words where it can, and never in a character. A style that is open at
// the end of a part begins again in the next one, because it ends with its message.
func cut(text string, most int) (parts []string) {
	open := ""
	for strings.Trim(text, " "+bold+italic+strike) != "" {
		room := most - len(open)
		end := len(text)
		if end > room {
			end = room
			for !utf8.RuneStart(text[end]) {
				end--
			}
			if blank := strings.LastIndexByte(text[end/2:end], ' '); blank >= 0 {
				end = end/2 + blank + 1
			}
		}
		part := open + text[:end]
		parts = append(parts, strings.TrimRight(part, " "))
		text, open = text[end:], ""
		for _, code := range []string{bold, italic, strike} {
			if strings.Count(part, code)%2 == 1 {
				open += code
			}
		}
	}
	return parts
}

// styled is Markdown as text with control codes. Code has none: it is to be copied.
func styled(text string) string {
	var b strings.Builder
	for _, block := range markdown.Parse(text) {
		var own strings.Builder
		for _, s := range block.Spans {
			own.WriteString(span(s, block.Kind))
		}
		first, further := "", ""
		if block.Depth > 0 {
			further = strings.Repeat("  ", block.Depth)
			first = further
			if block.Marker != "" {
				first = strings.Repeat("  ", block.Depth-1) + block.Marker + " "
			}
		}
		if block.Quoted {
			first, further = "> "+first, "> "+further
		}
		if block.Kind == markdown.Rule {
			own.WriteString("---")
		}
		for row := range strings.SplitSeq(own.String(), "\n") {
			if block.Kind == markdown.Heading && row != "" {
				row = bold + row + bold
			}
			b.WriteString(first + row + "\n")
			first = further
		}
	}
	return b.String()
}

// span is a piece of text with its style, which no line leaves open.
func span(s markdown.Span, of markdown.Kind) string {
	text := s.Text
	if of == markdown.Fence {
		return text
	}
	if s.Style&markdown.Code != 0 {
		text = "`" + text + "`"
	}
	for _, style := range []struct {
		is   markdown.Style
		code string
	}{{markdown.Strike, strike}, {markdown.Italic, italic}, {markdown.Bold, bold}} {
		if s.Style&style.is != 0 && (of != markdown.Heading || style.code != bold) && text != "" {
			text = style.code + strings.ReplaceAll(text, "\n", style.code+"\n"+style.code) + style.code
		}
	}
	if s.URL != "" && s.URL != s.Text {
		text += " (" + plain(s.URL) + ")"
	}
	return text
}
