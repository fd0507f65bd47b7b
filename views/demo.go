package views

// demoWord stands in the header of every screen of a gateway that plays a demo.
const demoWord = "DEMO"

// demoBadge says that what the screen shows is a demo.
func (s *Screen) demoBadge(l *line) {
	if s.Snap.Demo != nil {
		l.add(2, Accent, demoWord)
	}
}

// guide is the line of a demo that says what to try next; empty where there is none or no room for it.
func (s *Screen) guide() []string {
	if s.Guide == "" || s.layout() == layoutLine || s.H < 12 {
		return nil
	}
	return []string{" " + s.paint(Accent, s.glyph(glyph{">>", "»"})+" ") + s.cut(shown(s.Guide), s.W-4)}
}

// talkLines are the last lines of a demo's made-up conversations, the newest at the bottom, in at most h lines.
func talkLines(s *Screen, w, h int) []string {
	if s.Snap.Demo == nil || h < 3 || len(s.Snap.Demo.Talk) == 0 {
		return nil
	}
	talk := s.Snap.Demo.Talk
	talk = talk[max(len(talk)-(h-1), 0):]
	lines := []string{s.rule("what the made-up people say", w)}
	const width = 20
	for _, said := range talk {
		who := shown(said.Who) + "@" + shown(said.Platform)
		role := Accent
		if said.Who == "" {
			who, role = s.glyph(glyphTo)+shown(said.To)+"@"+shown(said.Platform), Muted
		}
		lines = append(lines, "  "+s.cell(role, who, width)+" "+s.cut(shown(said.Text), w-3-width))
	}
	return lines
}

// demoBanner says how to reach the demo from another terminal.
func demoBanner(s *Screen, w int) []string {
	if s.Snap.Demo == nil || s.H < 20 {
		return nil
	}
	text := " gatewaytui attach --home " + shown(s.Snap.Home)
	for _, more := range []string{"  in another terminal", "  shows it as well; nothing here is real, and nothing is kept"} {
		if cellsOf(text+more) <= w {
			text += more
		}
	}
	return []string{s.paint(Muted, s.cut(text, w))}
}
