package lines

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// maxResultLines is how many lines of a tool's result a transcript shows, unless it is asked for all.
const maxResultLines = 20

// author is who a message is from, for people.
func author(m ops.Message) string {
	switch m.Role {
	case "assistant":
		return cmp.Or(m.Who, "agent")
	case "tool":
		return strings.TrimSpace("result of " + cmp.Or(m.Who, m.Call))
	}
	return cmp.Or(m.Who, m.Role)
}

// undone marks a message that was taken back.
func undone(is bool) string {
	if is {
		return " (undone)"
	}
	return ""
}

// said is the text of a message, or how long it is where console.texts withholds it.
func said(m ops.Message) string {
	if m.Withheld && m.Length > 0 {
		return fmt.Sprintf("(%d %s, about %d tokens)", m.Length, text.Plural(m.Length, "character", "characters"), m.Tokens)
	}
	return m.Text
}

// Message prints one message of a conversation. Without whole, a long result of a tool is cut.
func (p Printer) Message(m ops.Message, whole bool) {
	p.Say("%s  %s", text.Moment(m.At.Time), author(m)+undone(m.Undone))
	shown, left := said(m), 0
	if m.Role == "tool" && !whole {
		shown, left = firstLines(shown, maxResultLines)
	}
	p.Text(shown)
	if m.Exit != nil && m.Withheld {
		p.Say("exit code %d", *m.Exit)
	}
	if left > 0 {
		p.Say("… %d more lines; --full shows them", left)
	}
	for _, c := range m.Calls {
		p.Say("→ %s %s", c.Name, c.Arguments)
	}
	p.Say("")
}

// firstLines is the first n lines of s, and how many are left.
func firstLines(s string, n int) (first string, left int) {
	s = strings.TrimRight(s, "\r\n")
	at := 0
	for range n {
		next := strings.IndexByte(s[at:], '\n')
		if next < 0 {
			return s, 0
		}
		at += next + 1
	}
	return s[:at-1], strings.Count(s[at:], "\n") + 1
}

// Markdown writes conversations as Markdown. What a terminal would act on is left out: a person may print the file. It keeps the
// first error of W.
type Markdown struct {
	W   io.Writer
	Err error
}

// Begin writes the heading of a conversation.
func (d *Markdown) Begin(s ops.Session) {
	d.line("# " + term.Clean(cmp.Or(s.Title, s.Key), MaxLine))
	d.line("")
	d.line("Session `" + term.Clean(s.Key, MaxLine) + "`, conversation `" + term.Clean(s.ID, MaxLine) + "`")
}

// Message writes one message.
func (d *Markdown) Message(m ops.Message) {
	d.line("")
	d.line("## " + term.Clean(author(m), MaxLine) + undone(m.Undone) + ", " + cmp.Or(text.Moment(m.At.Time), "time unknown"))
	if m.Role == "tool" {
		d.block("", said(m))
	} else if said(m) != "" {
		d.line("")
		d.lines(said(m))
	}
	for _, c := range m.Calls {
		d.line("")
		d.line("Calls `" + term.Clean(c.Name, MaxLine) + "`:")
		d.block("json", c.Arguments)
	}
}

// block writes text between fences that are longer than any run of backticks in it.
func (d *Markdown) block(language, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	d.line("")
	d.line(fence + language)
	d.lines(text)
	d.line(fence)
}

// lines writes a text of several lines, each cleaned; tabs stay.
func (d *Markdown) lines(text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		cells := strings.Split(term.StripSGR(strings.TrimSuffix(line, "\r")), "\t")
		for i := range cells {
			cells[i] = term.Clean(cells[i], 0)
		}
		d.line(strings.Join(cells, "\t"))
	}
}

func (d *Markdown) line(s string) {
	if d.Err == nil {
		_, d.Err = fmt.Fprintln(d.W, s)
	}
}
