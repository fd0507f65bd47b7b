package views

import (
	"slices"

	"github.com/charmbracelet/x/ansi"
)

// Draw draws s: exactly H lines of exactly W cells each, with any content. A size below 1 counts as 1.
//
// From top to bottom there are the header (the line of state, and a second one if something is out of the ordinary; in the
// shutdown view the lines that shutdownHeader draws, if it draws any), the tabs, the body, the status line and the keys.
//
// What a smaller screen loses, in this order: at less than 180 columns the second page of the detail, at less than 120x16
// the detail next to the list, which Detail.Open then lays over it; at less than 120x30 the second line of keys; at less
// than 80x24 the header keeps one line, and with the height go
// first the tabs (below 10 lines), then the status line (below 8), whose prompt or message then takes the keys' place;
// at less than 40x6 there is one line.
func Draw(s Screen) []string {
	s.W, s.H = max(s.W, 1), max(s.H, 1)
	lines := fit(s.lines(), s.W, s.H)
	if s.Over != nil {
		lines = s.overlay(lines, s.Over.Lines(s.Opts))
	}
	if s.ASCII {
		for i, line := range lines {
			if a := toASCII(line); a != line {
				lines[i] = fitLine(a, s.W)
			}
		}
	}
	return lines
}

// parts is what stands above and below the body.
type parts struct{ head, foot []string }

func (s *Screen) parts() parts {
	var p parts
	if s.View == Shutdown {
		p.head = shutdownHeader(*s, s.W)
	}
	own := len(p.head) > 0
	if !own {
		p.head = s.header(s.W)
	}
	l, short := s.layout(), s.H < 8
	text, asks := s.prompt(s.W)
	if l == layoutLine {
		if own {
			p.head = p.head[:1]
		} else {
			p.head = []string{s.stateLine(s.W)}
		}
		if asks && s.H > 1 {
			p.foot = []string{text}
		}
		return p
	}
	if l == layoutStrip {
		p.head = p.head[:1]
	}
	if !own && (l > layoutStrip || s.H >= 10) {
		p.head = append(p.head, s.tabs(s.W))
	}
	p.head = append(p.head, s.guide()...)
	switch {
	case l == layoutStrip && short && asks:
		p.foot = []string{text}
	case l == layoutStrip && short:
		p.foot = s.keys(s.W, 1)
	case l == layoutWide:
		p.foot = append([]string{s.status(s.W)}, s.keys(s.W, 2)...)
	default:
		p.foot = append([]string{s.status(s.W)}, s.keys(s.W, 1)...)
	}
	return p
}

func (s *Screen) lines() []string {
	p := s.parts()
	h := s.H - len(p.head) - len(p.foot)
	lines := append(make([]string, 0, s.H), p.head...)
	if h > 0 {
		body := s.body(s.W, h)
		lines = append(lines, body[:min(len(body), h)]...)
		for range h - len(body) {
			lines = append(lines, "")
		}
	}
	return append(lines, p.foot...)
}

// body draws the view itself. On a screen of one line only a shutdown has more to say.
func (s *Screen) body(w, h int) []string {
	if s.layout() == layoutLine && s.View != Shutdown {
		return nil
	}
	switch s.View {
	case Overview:
		return overviewBody(*s, w, h)
	case Sessions, Agents, Processes, Adapters, Inbox, Held:
		return kinds[s.View].body(s, w, h)
	case Shutdown:
		return shutdownBody(*s, w, h)
	case Events:
		return eventsBody(*s, w, h)
	}
	return []string{" unknown view"}
}

// Page is how many rows of its list s shows; 0 if none fits.
func Page(s Screen) int {
	s.W, s.H = max(s.W, 1), max(s.H, 1)
	p := s.parts()
	switch {
	case s.View == Shutdown && s.StopPage == StopLives:
		return s.shareLives(s.H - len(p.head) - len(p.foot)).rows
	case s.layout() == layoutLine, s.split(s.W).lw == 0:
		return 0
	}
	return max(s.H-len(p.head)-len(p.foot)-1, 0)
}

func (s *Screen) overlay(lines, box []string) []string {
	box = box[:min(len(box), len(lines))]
	w := 0
	for _, line := range box {
		w = max(w, cellsOf(line))
	}
	w = min(w, s.W)
	x, y := (s.W-w)/2, (len(lines)-len(box))/2
	lines = slices.Clone(lines)
	for i, line := range box {
		// What is behind a box loses its styles, so that none of them can run into it.
		behind := ansi.Strip(lines[y+i])
		left := cut(behind, x, "")
		left += spaces(x - cellsOf(left))
		room := s.W - x - w
		right := ansi.TruncateLeft(behind, x+w, "")
		right = spaces(room-cellsOf(right)) + cut(right, room, "")
		lines[y+i] = s.paint(Muted, left) + fitLine(line, w) + s.paint(Muted, right)
	}
	return lines
}
