package views

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// overviewBody is view 1: whether new work is taken, what needs attention, the adapters, and how busy it has been.
func overviewBody(s Screen, w, h int) []string {
	lines := demoBanner(&s, w)
	lines = lines[:min(len(lines), max(h-1, 0))]
	room := h - len(lines)
	if s.Link.State == LinkLoading && s.Snap.At.IsZero() {
		return fit(append(lines, s.cut("   Nothing is known yet.", w)), w, h)
	}
	list, total := alerts(&s)
	at, adapter := selection(&s, list)
	sparks := sparkLines(&s, w)
	if w >= 120 && room >= 8 {
		if room -= len(sparks); room < 6 {
			sparks, room = nil, room+len(sparks)
		}
		right := min(w*2/5, 80)
		left := w - right - 3
		attention := attentionLines(&s, list, total, at, left, room)
		if talk := talkLines(&s, left, min(room-len(attention)-1, 12)); talk != nil {
			attention = append(append(attention, ""), talk...)
		}
		lines = append(lines, s.joined(" ", fit(attention, left, room), fit(adapterLines(&s, adapter, right, room), right, room))...)
		return fit(append(lines, sparks...), w, h)
	}
	talk := 0
	if s.Snap.Demo != nil && len(s.Snap.Demo.Talk) > 0 {
		talk = min(1+len(s.Snap.Demo.Talk), 6)
		if rest := room - len(sparks) - 2 - max(len(list), 1) - len(s.Snap.Adapters); rest < talk {
			talk, sparks = min(talk, 5), nil // a demo's people are worth more than its load
		}
		room -= talk
	}
	// What needs attention comes first and gives way last.
	adapters, attention := 1+len(s.Snap.Adapters), 1+max(len(list), 1)
	if attention+adapters+len(sparks) > room {
		adapters = min(adapters, max(room-attention-len(sparks), min(4, room/3)))
	}
	if attention+adapters+len(sparks) > room && room < 12 {
		sparks = nil
	}
	if adapters < 2 {
		adapters = 0
	}
	attention = min(attention, max(room-adapters-len(sparks), 2))
	lines = append(lines, attentionLines(&s, list, total, at, w, attention)...)
	if adapters > 0 {
		lines = append(lines, adapterLines(&s, adapter, w, adapters)...)
	}
	if talk > 0 {
		lines = append(lines, talkLines(&s, w, h-len(lines)-len(sparks))...)
	}
	return fit(append(lines, sparks...), w, h)
}

// windowOf is how many of n rows are drawn in h lines under a title, and the first of them: the selected one, at, is in
// sight (-1: none is), and where rows are left out a line that counts them takes the place of one.
func windowOf(n, total, at, h int) (from, rows int) {
	rows = min(n, max(h-1, 1))
	if rows < total && rows > 1 {
		rows--
	}
	if at >= rows {
		from = min(at-rows+1, n-rows)
	}
	return from, rows
}

// window draws rows of a list of total under a title, in at most h lines. The selected one gets one style as a whole, so that
// draw gets options without styles for it.
func (s *Screen) window(title string, rows, total, selected, w, h int, draw func(o *Opts, i int) string) []string {
	lines := []string{s.rule(title, w)}
	for i := range rows {
		o := s.Opts
		if i == selected {
			o.Theme = nil
			lines = append(lines, s.paint(Selected, fitLine(pointer(true)+draw(&o, i), w)))
			continue
		}
		lines = append(lines, pointer(false)+draw(&o, i))
	}
	if n := total - rows; n > 0 && h > len(lines) {
		lines = append(lines, s.more(n))
	}
	return lines
}

// attentionLines is the list of concerns, of which there are total, in at most h lines.
func attentionLines(s *Screen, list []alert, total, selected, w, h int) []string {
	if len(list) == 0 {
		return []string{s.rule("needs attention", w), s.paint(Good, "   "+s.glyph(glyphDone)+" nothing")}
	}
	from, rows := windowOf(len(list), total, selected, h)
	type words struct {
		badge      badge
		what, text string
	}
	told := make([]words, rows)
	width, word := 8, 7
	for i, c := range list[from : from+rows] {
		b, what, text := c.words(s)
		told[i] = words{b, shown(what), shown(text)}
		width = max(width, cellsOf(told[i].what))
		word = max(word, len(b.word))
	}
	width = min(width, max(w/4, 8))
	return s.window(fmt.Sprintf("needs attention (%d)", total), rows, total, selected-from, w, h, func(o *Opts, i int) string {
		t, age := told[i], ""
		if d, ok := ago(s.Now, ops.At(list[from+i].since)); ok && w >= 60 {
			age = "  since " + coarseOr(d)
		}
		return o.cell(t.badge.role, o.glyph(t.badge.glyph), 2) + o.cell(t.badge.role, t.badge.word, word+1) + o.cell(Plain, t.what, width) + " " +
			o.cell(Plain, t.text, w-6-word-width-len(age)) + o.paint(Muted, age)
	})
}

func coarseOr(d time.Duration) string {
	if d < time.Minute {
		return "<1m"
	}
	return coarse(d)
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
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(urgency(a), urgency(b)) })
	return order
}

func adapterLines(s *Screen, selected, w, h int) []string {
	c, n := s.Snap.Counts, len(s.Snap.Adapters)
	title := fmt.Sprintf("adapters: %s of %s connected", number(c.AdaptersConnected), number(max(c.Adapters, n)))
	if n == 0 {
		return []string{s.rule(title, w), s.paint(Muted, "   none is configured")}
	}
	from, rows := windowOf(n, n, selected, h)
	order := adapterRows(s)[from : from+rows]
	name, word := 8, 0
	for _, i := range order {
		name = max(name, cellsOf(shown(s.Snap.Adapters[i].Name)))
	}
	name = min(name, max(w/4, 6))
	for _, row := range adapterBadges {
		word = max(word, len(row.word))
	}
	return s.window(title, rows, n, selected-from, w, h, func(o *Opts, i int) string {
		a := &s.Snap.Adapters[order[i]]
		b := adapterBadges.of(a.State)
		return o.cell(b.role, o.glyph(b.glyph), 2) + o.cell(Plain, shown(a.Name), name) + "  " + o.cell(b.role, b.word, word) + "  " +
			o.cut(adapterTimes(s.Now, a), w-8-name-word)
	})
}

// adapterTimes is what an adapter's line says after its state.
func adapterTimes(now time.Time, a *ops.Adapter) string {
	var parts []string
	if in := a.NextAttemptAt.Sub(now); !a.NextAttemptAt.IsZero() && in > 0 {
		parts = append(parts, "retry in "+clock(in))
	}
	if in := a.RateLimitedUntil.Sub(now); !a.RateLimitedUntil.IsZero() && in > 0 {
		parts = append(parts, "rate limited for "+clock(in))
	}
	switch last := sinceText(now, a.LastInboundAt); last {
	case "-":
	case "now":
		parts = append(parts, "last message just now")
	default:
		parts = append(parts, "last message "+last+" ago")
	}
	if a.Queue != 0 {
		parts = append(parts, number(a.Queue)+" to send")
	}
	return strings.Join(parts, ", ")
}

// OverviewRow is a row of the overview that can be selected.
type OverviewRow struct {
	// Name is what TableState.Selected holds for it.
	Name string
	// View lists the thing that the row is about, under Key; 0: no view does, and Text is all there is to know.
	View View
	Key  string
	Text string
}

// OverviewRows are the rows of the overview in the order in which they are drawn: what needs attention, then the
// adapters. s needs its snapshot and its moment.
func OverviewRows(s Screen) []OverviewRow {
	list, _ := alerts(&s)
	out := make([]OverviewRow, 0, len(list)+len(s.Snap.Adapters))
	for _, c := range list {
		row := OverviewRow{Name: c.name, View: c.view, Key: c.key}
		if c.view == 0 {
			_, what, text := c.words(&s)
			row.Text = shown(what) + ": " + shown(text)
		}
		out = append(out, row)
	}
	for _, i := range adapterRows(&s) {
		name := s.Snap.Adapters[i].Name
		out = append(out, OverviewRow{Name: "adapter/" + name, View: Adapters, Key: name})
	}
	return out
}

// selection finds the selected row among the concerns and among the adapters; -1 is none. Until the person has chosen a
// row it is the first concern.
func selection(s *Screen, list []alert) (concern, adapter int) {
	for i, c := range list {
		if c.name == s.Table.Selected {
			return i, -1
		}
	}
	for at, i := range adapterRows(s) {
		if "adapter/"+s.Snap.Adapters[i].Name == s.Table.Selected {
			return -1, at
		}
	}
	if len(list) > 0 {
		return 0, -1
	}
	return -1, -1
}

// sparkLines are the recent samples of what the gateway has to do, each with its newest and its greatest value.
func sparkLines(s *Screen, w int) []string {
	lines := []string{s.rule("activity", w)}
	for _, row := range []struct {
		name    string
		samples []float64
		word    func(float64) string
	}{
		{"turns", s.Spark.Turns, plainNumber}, {"processes", s.Spark.Processes, plainNumber}, {"memory", s.Spark.RSS, bytesNumber},
	} {
		now, peak := unknown, ""
		if n := len(row.samples); n > 0 {
			now = row.word(row.samples[n-1])
			if w >= 60 {
				peak = "  peak " + row.word(greatest(row.samples))
			}
		}
		line := " " + s.cell(Muted, row.name, 10) + " " + s.right(Plain, now, 9) + "  "
		room := w - cellsOf(line) - max(cellsOf(peak), 20)
		lines = append(lines, line+s.paint(Accent, s.sparkline(row.samples, min(max(room, 8), 120)))+s.paint(Muted, peak))
	}
	return lines
}

func plainNumber(v float64) string {
	if !(v >= 0 && v <= 1e12) { // NaN is neither
		return unknown
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func bytesNumber(v float64) string {
	if !(v >= 0 && v <= 1e18) {
		return unknown
	}
	return size(int64(v))
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
