package views

import (
	"slices"

	"gatewaytui/core/ops"
)

// overviewBody is view 1, a picture of the gateway: what needs a person, what runs and what has run lately; how much there was to do
// over a span of time; the adapters.
func overviewBody(s Screen, w, h int) []string {
	lines := demoBanner(&s, w)
	lines = lines[:min(len(lines), max(h-1, 0))]
	room := h - len(lines)
	if s.Link.State == LinkLoading && s.Snap.At.IsZero() {
		return fit(append(lines, s.cut("   Nothing is known yet.", w)), w, h)
	}
	parts := overviewSections(&s)
	if s.layout() == layoutWide {
		right := min(max(w*9/20, 54), 96)
		left := w - right - 3
		both := s.joined(" ", fit(s.leftHalf(parts, left, room), left, room), s.rightHalf(parts, right, room))
		return fit(append(lines, both...), w, h)
	}
	return fit(append(lines, s.oneColumn(parts, w, room)...), w, h)
}

// want is how many lines a part of a screen takes: less than from is nothing, more than most is empty.
type want struct{ from, most int }

// share gives the lines of a screen to its parts, which are in the order of their importance: first to each what it needs at the least,
// then what it can use.
func share(room int, wants []want) []int {
	out := make([]int, len(wants))
	for i, w := range wants {
		if w.from <= room {
			out[i], room = w.from, room-w.from
		}
	}
	for i, w := range wants {
		if out[i] >= w.from {
			more := min(max(w.most-out[i], 0), room)
			out[i], room = out[i]+more, room-more
		}
	}
	return out
}

// leftHalf is what needs a person, what runs, what has run, and in a demo what its people say.
func (s *Screen) leftHalf(p *sections, w, h int) []string {
	talk := 0
	if s.Snap.Demo != nil && len(s.Snap.Demo.Talk) > 0 {
		talk = 1 + len(s.Snap.Demo.Talk)
	}
	got := share(h, []want{p.needs.want(s, max(4, h/3), w), p.running.want(s, max(3, h/4), w), {min(talk, 4), min(talk, 8)}, p.lately.want(s, 5, w)})
	lines := append(p.needs.lines(s, w, got[0]), p.running.lines(s, w, got[1])...)
	lines = append(lines, p.lately.lines(s, w, got[3])...)
	return append(lines, talkLines(s, w, got[2])...)
}

// rightHalf is how busy the gateway was, and the adapters.
func (s *Screen) rightHalf(p *sections, w, h int) []string {
	least, most := s.activityWant()
	about := s.aboutLines(w)
	middle := min(most, 2+len(s.activity())*usual)
	got := share(h, []want{{least, middle}, {s.packedHeight(w), 1 + p.adapters.n}, s.heldWant(), {0, len(about)}, {0, most - middle}})
	lines := s.activityLines(w, got[0]+got[4])
	lines = append(lines, s.adapterLines(p.adapters, w, got[1])...)
	lines = append(lines, s.heldLines(w, got[2])...)
	if got[3] > 1 {
		lines = append(lines, about[:got[3]]...)
	}
	return fit(lines, w, h)
}

// oneColumn is the overview of a screen that is not wide.
func (s *Screen) oneColumn(p *sections, w, h int) []string {
	talk := 0
	if s.Snap.Demo != nil && len(s.Snap.Demo.Talk) > 0 && h > 8 {
		talk = min(1+len(s.Snap.Demo.Talk), 5)
	}
	wants := []want{p.needs.want(s, min(4, h), w), p.running.want(s, 4, w), {talk, talk}, {s.packedHeight(w), s.packedHeight(w)}, {5, 7}, s.heldWant()}
	if h < 10 { // a part of the graphs would say little
		wants[3], wants[4], wants[5] = want{h + 1, 0}, want{h + 1, 0}, want{h + 1, 0}
	}
	got := share(h, wants)
	lines := append(p.needs.lines(s, w, got[0]), p.running.lines(s, w, got[1])...)
	lines = append(lines, talkLines(s, w, got[2])...)
	foot := append(s.activityLines(w, got[4]), s.adapterLines(p.adapters, w, got[3])...)
	foot = append(foot, s.heldLines(w, got[5])...)
	if rest := h - len(lines) - len(foot); rest >= 2 {
		lines = append(lines, p.lately.lines(s, w, rest)...)
	}
	return append(lines, foot...)
}

// aboutLines are what is known of the gateway itself and does not change from one minute to the next.
func (s *Screen) aboutLines(w int) []string {
	config := or(s.Snap.Config.Path, "the embedded default")
	if s.Snap.Config.Changed {
		config += ", changed since it was read"
	}
	return append([]string{s.titleRule("GATEWAY", "", w)}, s.told(pane{w: w}, []Fact{
		{"pid", number(s.Snap.PID)},
		{"api", s.Snap.APIListen},
		{"holds by", s.Snap.Containment.Level},
		{"manager", s.Snap.Supervisor.Name},
		{"home", s.Snap.Home},
		{"config", config},
	})...)
}

// demoBanner is a line that says of a demo how a second console is attached.
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

// guide is the line of a demo that says what to try next; empty where there is none or no room for it.
func (s *Screen) guide() []string {
	if s.Guide == "" || s.layout() == layoutLine || s.H < 12 {
		return nil
	}
	return []string{" " + s.paint(Accent, s.glyph(glyph{">>", "»"})+" ") + s.cut(shown(s.Guide), s.W-4)}
}

// talkLines are the last lines of a demo's made-up conversations, the newest at the bottom, in at most h lines.
func talkLines(s *Screen, w, h int) []string {
	if s.Snap.Demo == nil || h < 2 || len(s.Snap.Demo.Talk) == 0 {
		return nil
	}
	talk := s.Snap.Demo.Talk
	talk = talk[max(len(talk)-(h-1), 0):]
	lines := []string{s.titleRule("WHAT THE MADE-UP PEOPLE SAY", "", w)}
	const width = 20
	for _, said := range talk {
		who := shown(said.Who) + "@" + shown(said.Platform)
		role := Plain
		if said.Who == "" {
			who, role = s.glyph(glyphTo)+shown(said.To)+"@"+shown(said.Platform), Muted
		}
		lines = append(lines, "  "+s.cell(role, who, width)+" "+s.cut(shown(said.Text), w-3-width))
	}
	return lines
}

// adapterRows are the adapters in the order of the overview, as indexes: those that do not work first.
func adapterRows(s *Screen) []int {
	order := make([]int, len(s.Snap.Adapters))
	for i := range order {
		order[i] = i
	}
	urgency := func(i int) rank { // those that work come last
		if rank, wrong := adapterTrouble(&s.Snap.Adapters[i]); wrong {
			return rank
		}
		return ranks
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(urgency(a)) - int(urgency(b)) })
	return order
}

// working reports whether a session has a turn that goes on, or that waits for something to go on.
func working(r *ops.Session) bool {
	return r.Turn != "" || r.State == ops.SessionRunning || r.State == ops.SessionWaiting || r.State == ops.SessionWaitingApproval || r.State == ops.SessionStalled
}
