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

// head begins a line that names the program and says of a demo that it is one.
func (s *Screen) head(w int) *line {
	l := s.line(w)
	if w >= 40 {
		l.add(0, Heading, "gatewaytui")
	}
	s.demoBadge(l)
	return l
}

// header is the two lines above every view but that of a shutdown: the gateway and the link to it, then its counts or,
// first, what is wrong.
func (s *Screen) header(w int) []string {
	l := s.head(w)
	s.state(l)
	if s.Link.ReadOnly {
		l.add(2, Accent, "read-only")
	}
	if s.Link.State != LinkLoading {
		l.add(2, Plain, "pid "+number(s.Snap.PID))
		if s.Link.State != LinkGone {
			up := unknown
			if !s.Snap.StartedAt.IsZero() {
				up = clockSince(s.Now, s.Snap.StartedAt)
			}
			l.add(3, Plain, "up "+up)
		}
	}
	attached := ""
	if s.Link.Attached {
		attached = "attached"
	}
	if version := s.clean(s.Snap.Version, maxWord); l.w > cellsOf(version)+len(attached)+5 {
		l.add(3, Muted, version)
	}
	return []string{l.end(Muted, attached), s.counts(w)}
}

// role is what this console is to the gateway.
func (s *Screen) role() string {
	words := make([]string, 0, 2)
	if s.Link.Attached {
		words = append(words, "attached")
	}
	if s.Link.ReadOnly {
		words = append(words, "read-only")
	}
	return strings.Join(words, ", ")
}

// state is the gateway's state, with what is wrong with the link before it.
func (s *Screen) state(l *line) {
	word, role := s.stateWord()
	switch s.Link.State {
	case LinkLoading:
		l.add(2, Busy, "CONNECTING")
	case LinkStale:
		l.add(2, Bad, "STALE "+s.staleFor()).add(2, Plain, "last state "+word)
	case LinkGone:
		l.add(2, Danger, "GONE "+s.seen()).add(2, Plain, "last state "+word)
		if !s.Link.At.IsZero() {
			l.add(1, Plain, "seen "+timeOfDay(s.Now, ops.At(s.Link.At)))
		}
	default:
		l.add(2, role, word)
		if s.Link.Paused {
			l.add(2, Slow, "PAUSED "+s.seen())
			if s.Link.Behind > 0 {
				l.add(1, Slow, count(s.Link.Behind, "change")+" behind")
			}
		}
	}
}

// stateWord is the state in a word and its role: running is well, and everything else but starting and draining is not.
func (s *Screen) stateWord() (word string, role Role) {
	role, known := map[ops.State]Role{ops.StateRunning: Good, ops.StateStarting: Busy, ops.StateDraining: Slow, ops.StateStopping: Bad}[s.Snap.State]
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

// counts is the second line: first what an operator should know, then how much there is of everything.
func (s *Screen) counts(w int) string {
	l := s.line(w)
	switch s.Link.State {
	case LinkLoading:
		l.add(0, Plain, "Waiting for the gateway's first answer.").add(1, Bad, s.clean(s.Link.Err, maxShown))
		return l.String()
	case LinkGone:
		l.add(0, Plain, "exit: "+or(s.clean(s.Link.Err, maxShown), "not seen")+".")
		l.add(1, Plain, "Waiting for a new gateway"+s.search()+".")
		return l.String()
	case LinkStale:
		l.add(0, Bad, "no answer"+colon(s.clean(s.Link.Err, 60)))
	}
	if d := s.Snap.Drain; d != nil {
		l.add(3, Slow, "draining for "+clockSince(s.Now, d.Since)+after(", by ", s.clean(d.By, maxWord))+colon(s.clean(d.Reason, 60)))
	}
	if sd := s.Snap.Shutdown; sd != nil && s.Snap.State == ops.StateStopping && !sd.KillAt.IsZero() {
		l.add(3, Bad, "SIGKILL in "+clock(sd.KillAt.Sub(s.Now)))
	}
	c := s.Snap.Counts
	const gap = 3
	l.add(gap, Plain, "adapters "+number(c.AdaptersConnected)+"/"+number(c.Adapters)+" up")
	if n := len(s.Snap.Warnings); n > 0 {
		l.add(gap, Slow, count(n, "warning"))
	}
	if c.Inbox > 0 {
		l.add(gap, Slow, "inbox "+number(c.Inbox))
	}
	l.add(gap, Plain, "turns "+number(c.RunningTurns)).add(gap, Plain, "sessions "+number(c.Sessions))
	l.add(gap, Plain, "agents "+number(c.CachedAgents)).add(gap, Plain, "procs "+number(c.Processes))
	if w >= 120 && len(s.Snap.Warnings) > 0 {
		l.add(gap, Muted, s.clean(s.Snap.Warnings[0].Message, maxShown))
	}
	return l.String()
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

// oneLine is all there is on the smallest screens: state first, then what is wrong, then counts.
func (s *Screen) oneLine() string {
	l := s.line(s.W)
	s.demoBadge(l)
	s.state(l)
	if s.Link.State == LinkGone && s.Link.Try > 0 {
		return l.add(1, Plain, "try "+strconv.Itoa(s.Link.Try)).String()
	}
	if s.Link.State != LinkLive {
		return l.String()
	}
	c := s.Snap.Counts
	if n := len(s.Snap.Warnings); n > 0 {
		l.add(1, Slow, "!"+strconv.Itoa(n))
	}
	l.add(1, Plain, count(c.RunningTurns, "turn"))
	l.add(1, Plain, number(c.AdaptersConnected)+"/"+number(c.Adapters)+" up")
	return l.String()
}

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
	case Processes:
		return "procs"
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

func (s *Screen) demoBadge(l *line) {
	if s.Snap.Demo != nil {
		l.add(2, Accent, demoWord)
	}
}

// demoWord stands in the header of every screen of a gateway that plays a demo.
const demoWord = "DEMO"
