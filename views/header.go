package views

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// maxWord is how much of one untrusted word the header shows, in runes.
const maxWord = 40

// header is what stands above every view: the line of state, and a second line only where something is out of the ordinary.
func (s *Screen) header(w int) []string {
	lines := []string{s.stateLine(w)}
	if text, role := s.notice(); text != "" {
		lines = append(lines, s.paint(role, s.cut(text, w)))
	}
	return lines
}

// role is what this console is to the gateway.
func (s *Screen) role() string {
	if s.Link.Attached {
		return "attached"
	}
	return ""
}

// stateWord is the state in a word and its role: running is well, and everything else but starting and draining is not.
func (s *Screen) stateWord() (word string, role Role) {
	role, known := map[ops.State]Role{ops.StateRunning: Heading, ops.StateStarting: Busy, ops.StateDraining: Slow, ops.StateStopping: Bad}[s.Snap.State]
	if !known {
		return strings.ToUpper(unknown), Bad
	}
	word = strings.ToUpper(string(s.Snap.State))
	if sd := s.Snap.Shutdown; s.Snap.State == ops.StateStopping && sd != nil && !sd.StartedAt.IsZero() {
		word += " " + clockSince(s.Now, sd.StartedAt)
	}
	return word, role
}

// staleFor is how long there has been no answer: "6s", "1:02".
func (s *Screen) staleFor() string {
	d := s.Now.Sub(s.Link.At)
	switch {
	case s.Link.At.IsZero():
		return unknown
	case d < time.Minute:
		return strconv.Itoa(int(max(d, 0)/time.Second)) + "s"
	}
	return clock(d)
}

func (s *Screen) seen() string {
	if s.Link.At.IsZero() {
		return "never seen"
	}
	return clockSince(s.Now, ops.At(s.Link.At))
}

func (s *Screen) search() string {
	if s.Link.Try < 1 {
		return ""
	}
	text := ", try " + strconv.Itoa(s.Link.Try)
	if in := s.Link.NextTry.Sub(s.Now); in > 0 && !s.Link.NextTry.IsZero() {
		text += fmt.Sprintf(", next in %ds", int((in+time.Second-1)/time.Second))
	}
	return text
}

// after is a part of a sentence behind the words that lead to it; empty if there is no such part.
func after(lead, part string) string {
	if part == "" {
		return ""
	}
	return lead + part
}

func by(who string) string    { return after(" by ", who) }
func colon(why string) string { return after(": ", why) }

// tabs is the line of views. Where the names do not fit, short ones or the numbers do; the open view has a name in any case.
func (s *Screen) tabs(w int) string {
	var line string
	for _, name := range []func(View) string{View.String, shortName, func(View) string { return "" }} {
		if line = s.tabLine(name); cellsOf(line) <= w-1 {
			break
		}
	}
	rest := w - cellsOf(line) - 1
	return line + " " + s.paint(Muted, strings.Repeat(s.glyph(glyphLine), max(rest, 0)))
}

// shortName is the name of a view where there is little room.
func shortName(v View) string {
	switch v {
	case Sessions:
		return "sess"
	case Processes:
		return "procs"
	case Adapters:
		return "adapt"
	case Shutdown:
		return "stop"
	}
	return v.String()
}

func (s *Screen) tabLine(name func(View) string) string {
	var b strings.Builder
	b.WriteString(s.paint(Muted, strings.Repeat(s.glyph(glyphLine), 2)))
	for _, v := range Views {
		number, called := strconv.Itoa(int(v)), name(v)
		b.WriteByte(' ')
		switch {
		case v == s.View:
			b.WriteString(s.paint(Selected, "["+number+" "+cmp.Or(called, v.String())+"]"))
		case called != "":
			b.WriteString(number + " " + called)
		default:
			b.WriteString(number)
		}
	}
	return b.String()
}
