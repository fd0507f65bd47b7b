package views

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
)

// overviewBody is view 1: whether new work is taken, what needs attention, the adapters, and how busy it has been.
func overviewBody(s Screen, w, h int) []string {
	k := inkOf(s.Opts)
	lines := overviewBanner(&s, k, w)
	lines = lines[:min(len(lines), max(h-1, 0))]
	room := h - len(lines)
	if s.Link.State == LinkLoading && s.Snap.At.IsZero() {
		return fit(append(lines, k.cut("   Nothing is known yet.", w)), w, h)
	}
	list, total := concerns(&s)
	sparks := sparkLines(&s, k, w)
	if w >= 120 && room >= 8 {
		if room -= len(sparks); room < 6 {
			sparks, room = nil, room+len(sparks)
		}
		right := min(w*2/5, 80)
		left := w - right - 3
		a := fit(attentionLines(&s, k, list, total, left, room), left, room)
		b := fit(adapterLines(&s, k, right, room), right, room)
		for i := range a {
			lines = append(lines, a[i]+" "+k.theme.Paint(Muted, s.glyph(glyphBar))+" "+b[i])
		}
		return fit(append(lines, sparks...), w, h)
	}
	// What needs attention comes first and gives way last.
	adapters := 1 + len(s.Snap.AdapterRow)
	attention := 1 + max(len(list), 1)
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
	lines = append(lines, attentionLines(&s, k, list, total, w, attention)...)
	if adapters > 0 {
		lines = append(lines, adapterLines(&s, k, w, adapters)...)
	}
	return fit(append(lines, sparks...), w, h)
}

// overviewBanner says what is out of the ordinary with the gateway as a whole.
func overviewBanner(s *Screen, k ink, w int) []string {
	var lines []string
	c := s.Snap.Counts
	switch {
	case s.Snap.Drain != nil:
		d := s.Snap.Drain
		text := "DRAINING"
		if age, ok := ago(s.Now, d.Since); ok {
			text += " for " + clock(age)
		}
		text += by(shown(d.By)) + colon(shown(d.Reason)) + ". New work is refused, " + count(c.RunningTurns, "running turn") + " may end; U takes new work again."
		for _, line := range wrap(text, w-2) {
			lines = append(lines, k.theme.Paint(Slow, " "+line))
		}
	case s.Snap.State == ops.StateStarting:
		lines = append(lines, k.theme.Paint(Busy, k.cut(fmt.Sprintf(" STARTING: %s of %s connected", number(c.AdaptersConnected), count(c.Adapters, "adapter")), w)))
	}
	return lines
}

// attentionLines is the list of concerns, of which there are total, in at most h lines.
func attentionLines(s *Screen, k ink, list []concern, total, w, h int) []string {
	if len(list) == 0 {
		return []string{k.rule("needs attention", w), k.theme.Paint(Good, "   "+s.glyph(glyphDone)+" nothing")}
	}
	lines := []string{k.rule(fmt.Sprintf("needs attention %d", total), w)}
	rows := min(len(list), max(h-1, 1))
	if rows < total && rows > 1 {
		rows--
	}
	type words struct {
		mark       mark
		what, text string
	}
	told := make([]words, rows)
	width := 8
	for i, c := range list[:rows] {
		m, what, text := c.words(s)
		told[i] = words{m, shown(what), shown(text)}
		width = max(width, ansi.StringWidth(told[i].what))
	}
	width = min(width, max(w/4, 8))
	for i, t := range told {
		age := ""
		if d, ok := ago(s.Now, ops.At(list[i].since)); ok && w >= 60 {
			age = "  since " + coarseOr(d)
		}
		var b strings.Builder
		b.Grow(2 * w)
		b.WriteByte(' ')
		k.put(&b, t.mark.role, s.glyph(t.mark.glyph), 2)
		k.put(&b, t.mark.role, t.mark.word, 9)
		k.put(&b, Plain, t.what, width)
		b.WriteByte(' ')
		k.put(&b, Plain, t.text, w-13-width-len(age))
		b.WriteString(k.theme.Paint(Muted, age))
		lines = append(lines, b.String())
	}
	if n := total - rows; n > 0 && h > len(lines) {
		lines = append(lines, k.theme.Paint(Muted, fmt.Sprintf("   %s %d more", k.pick("...", "…"), n)))
	}
	return lines
}

func coarseOr(d time.Duration) string {
	if d < time.Minute {
		return "<1m"
	}
	return coarse(d)
}

// adapterMark is the state of an adapter as people see it.
func adapterMark(a *ops.Adapter) mark {
	switch a.State {
	case ops.AdapterConnected:
		return mark{glyphDone, "connected", Good}
	case ops.AdapterConnecting:
		return mark{glyphRun, "connecting", Busy}
	case ops.AdapterStale:
		return mark{glyphSlow, "stale", Slow}
	case ops.AdapterRetrying:
		return mark{glyphBad, "retrying", Bad}
	case ops.AdapterNeedsCredentials:
		return mark{glyphBad, "needs credentials", Bad}
	case ops.AdapterPaused:
		return mark{glyphSkip, "paused", Muted}
	case ops.AdapterStopped:
		return mark{glyphSkip, "stopped", Muted}
	}
	return markUnknown
}

// adapterLines is one line for each adapter, those that do not work first, in at most h lines.
func adapterLines(s *Screen, k ink, w, h int) []string {
	c := s.Snap.Counts
	lines := []string{k.rule(fmt.Sprintf("adapters %s, %s connected", number(max(c.Adapters, len(s.Snap.AdapterRow))), number(c.AdaptersConnected)), w)}
	n := len(s.Snap.AdapterRow)
	if n == 0 {
		return append(lines, k.theme.Paint(Muted, "   none is configured"))
	}
	rows := min(n, max(h-1, 1))
	if rows < n && rows > 1 {
		rows--
	}
	order := make([]*ops.Adapter, n)
	for i := range order {
		order[i] = &s.Snap.AdapterRow[i]
	}
	urgency := func(a *ops.Adapter) int { // those that work come last
		if rank, wrong := adapterTrouble(a); wrong {
			return rank
		}
		return ranks
	}
	slices.SortStableFunc(order, func(a, b *ops.Adapter) int { return cmp.Compare(urgency(a), urgency(b)) })
	for _, a := range order[:rows] {
		m := adapterMark(a)
		name, state := min(16, max(w/4, 6)), min(18, w/3)
		var b strings.Builder
		b.Grow(2 * w)
		b.WriteByte(' ')
		k.put(&b, m.role, s.glyph(m.glyph), 2)
		k.put(&b, Plain, shown(a.Name), name)
		b.WriteByte(' ')
		k.put(&b, m.role, m.word, state)
		b.WriteByte(' ')
		text := "last in " + sinceText(s.Now, a.LastInboundAt)
		if a.Queue != 0 {
			text += ", " + number(a.Queue) + " to send"
		}
		if in := a.NextAttemptAt.Sub(s.Now); !a.NextAttemptAt.IsZero() && in > 0 {
			text += ", next try in " + clock(in)
		}
		if in := a.RateLimitedUntil.Sub(s.Now); !a.RateLimitedUntil.IsZero() && in > 0 {
			text += ", rate limited for " + clock(in)
		}
		b.WriteString(k.cut(text, w-5-name-state))
		lines = append(lines, b.String())
	}
	if rows < n && h > len(lines) {
		lines = append(lines, k.theme.Paint(Muted, fmt.Sprintf("   %s %d more", k.pick("...", "…"), n-rows)))
	}
	return lines
}

// sparkLines are the recent samples of what the gateway has to do, each with its newest and its greatest value.
func sparkLines(s *Screen, k ink, w int) []string {
	lines := []string{k.rule("activity", w)}
	for _, row := range []struct {
		name    string
		samples []float64
		word    func(float64) string
	}{
		{"turns", s.Spark.Turns, plainNumber}, {"processes", s.Spark.Processes, plainNumber}, {"memory", s.Spark.RSS, bytesNumber},
	} {
		now := unknown
		if n := len(row.samples); n > 0 {
			now = row.word(row.samples[n-1])
		}
		line := " " + k.cell(Muted, row.name, 10) + " " + k.right(Plain, now, 9) + "  "
		peak := ""
		if len(row.samples) > 0 && w >= 60 {
			peak = "  at most " + row.word(greatest(row.samples))
		}
		room := w - ansi.StringWidth(line) - max(ansi.StringWidth(peak), 20)
		lines = append(lines, line+k.theme.Paint(Accent, k.sparkline(row.samples, min(max(room, 8), 120)))+k.theme.Paint(Muted, peak))
	}
	return lines
}

func plainNumber(v float64) string {
	if !finite(v) || v < 0 || v > 1e12 {
		return unknown
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

func bytesNumber(v float64) string {
	if !finite(v) || v < 0 || v > 1e18 {
		return unknown
	}
	return size(int64(v))
}
