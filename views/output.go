package views

import (
	"strconv"
	"strings"

	"gatewaytui/core/ops"
)

// Output is what has been read of the output of a process, for the page "output" of a process and the page "processes" of a session.
type Output struct {
	// Tail is the newest answer, and Text what was read so far, from its end. Read says that an answer has come.
	Tail ops.Output
	Text string
	Read bool
	// Cut is how many bytes before Text are not here, whether or not the gateway has them.
	Cut int64
	// Drawn keeps the lines from frame to frame; nil: each frame draws them.
	Drawn *Drawn
}

// PageOutput is the name of the page with the output of a process, PageProcesses that of the page with the processes of a session.
const (
	PageOutput    = "output"
	PageProcesses = "processes"
)

// output is the page "output".
func (s *Screen) output(p pane) []string {
	out := &s.Output
	switch {
	case !out.Read:
		return []string{" " + s.paint(Muted, "Reading the output.")}
	case out.Tail.Withheld:
		return []string{" " + s.outputState(), " " + s.paint(Muted, "console.texts does not show what it has written.")}
	}
	w := max(p.w-2, 1)
	look := drawnFor{w: w, ascii: s.ASCII, theme: s.Theme}
	lines := out.Drawn.keep(look, strconv.FormatInt(out.Tail.Next, 10), func() []string {
		var lines []string
		if out.Cut > 0 {
			lines = append(lines, s.paint(Muted, s.glyph(glyphMore)+" "+size(out.Cut)+" before this"))
		}
		if out.Text != "" {
			lines = append(lines, s.code(lastOfEachLine(out.Text), w, Plain)...)
		}
		for i := range lines {
			lines[i] = " " + lines[i]
		}
		return lines
	})
	return append(lines[:len(lines):len(lines)], " "+s.outputState())
}

// outputState says how much the process has written and whether it goes on.
func (s *Screen) outputState() string {
	out := &s.Output.Tail
	text := "pid " + strconv.Itoa(out.PID) + ": " + size(out.Total) + " written"
	if out.Total == 0 {
		text = "pid " + strconv.Itoa(out.PID) + " has written nothing"
	}
	if !out.LastAt.IsZero() {
		text += ", last " + clockSince(s.Now, out.LastAt) + " ago"
	}
	switch {
	case out.Exit != nil && *out.Exit != 0:
		return s.paint(Bad, s.glyph(glyphFail)+" "+text+", exit "+strconv.Itoa(*out.Exit))
	case out.Exit != nil:
		return s.paint(Muted, s.glyph(glyphDone)+" "+text+", exit 0")
	}
	return s.paint(Muted, s.glyph(glyphRun)+" "+text)
}

// lastOfEachLine is text as a terminal shows it: what a carriage return begins again stands in place of what was before it.
func lastOfEachLine(text string) string {
	if !strings.Contains(text, "\r") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}
