package views

import (
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// TurnTimeline is what the page "timeline" of a session has read: a turn of it.
type TurnTimeline struct {
	// Timeline is nil until the first answer; At is when it came.
	Timeline *ops.Timeline
	At       time.Time
	// None says that the session has had no turn.
	None bool
	// Pinned says that the person chose this turn; else it is the newest.
	Pinned bool
}

// timelinePage is the page of a session with its turn as bars on one axis.
func timelinePage(s *Screen, _ *ops.Session, p pane) []string {
	switch {
	case s.Turn.None:
		return []string{s.paint(Muted, " This session has had no turn yet.")}
	case s.Turn.Timeline == nil:
		return []string{s.paint(Muted, " The turn is being read.")}
	}
	t := *s.Turn.Timeline
	if d := s.Now.Sub(s.Turn.At); t.Running() && d > 0 {
		t.ElapsedMS += d.Milliseconds()
	}
	var moves []string
	if t.Earlier != "" {
		moves = append(moves, ", the turn before")
	}
	if s.Turn.Pinned || t.Later != "" {
		moves = append(moves, ". the turn after")
	}
	h := p.h
	if len(moves) > 0 {
		h -= 2
	}
	lines := TurnLines(s.Opts, t, s.currency(), p.w, h, s.Detail.Unfolded)
	if len(moves) > 0 {
		lines = append(lines, "", s.paint(Muted, " "+s.cut(strings.Join(moves, "   "), p.w-1)))
	}
	return lines
}

// TurnLines draws what a turn did as bars on a common axis, in lines of at most w cells. Where they are more than h, equal
// neighbours share a line, unless all are wanted.
func TurnLines(o Opts, t ops.Timeline, currency string, w, h int, all bool) []string {
	d := &turnDraw{Opts: &o, t: &t, currency: currency, w: w, slowest: -1}
	lines := d.heading()
	if t.Note != "" {
		lines = append(lines, o.wrapped(Slow, o.glyph(glyphSlow)+" "+t.Note+d.known(), max(w-2, 1))...)
	}
	if len(t.Items) == 0 {
		text := "Nothing is recorded of it."
		if t.Running() {
			text = "No call yet."
		}
		return indented(append(lines, o.paint(Muted, text)))
	}
	rows := d.rows(func() int {
		if all {
			return 0
		}
		return h - len(lines) - 1 - min(t.LeftOut, 1)
	}())
	d.measure(rows)
	if d.bars > 0 {
		lines = append(lines, d.axis())
	}
	for _, r := range rows {
		lines = append(lines, d.row(r))
	}
	if t.LeftOut > 0 {
		lines = append(lines, o.paint(Muted, o.cut(o.glyph(glyphMore)+" "+count(t.LeftOut, "shorter call")+" left out; the sums have all", w-1)))
	}
	return indented(lines)
}

// turnDraw draws one timeline.
type turnDraw struct {
	*Opts
	t        *ops.Timeline
	currency string
	w        int
	// kind, name, bars, took and info are the widths of the columns, in cells; 0: the column is left out.
	kind, name, bars, took, info int
	// total is the length of the axis, in milliseconds, and slowest the index of the item that took longest of several calls; -1: none.
	total   int64
	slowest int
}

// turnRow is one line: an item, or several that are equal. times is how often the pattern of the first ones occurs.
type turnRow struct {
	items []int
	of    int // the length of the pattern
	times int
}

// measure finds the length of the axis, the slowest call, and the widths of the columns for these lines.
func (d *turnDraw) measure(rows []turnRow) {
	d.total = max(d.t.ElapsedMS, 1)
	if d.cutOff() {
		d.total = max(d.t.KnownUntil.Sub(d.t.StartedAt.Time).Milliseconds(), 1)
	}
	calls, name := 0, 4
	for _, r := range rows {
		name = max(name, cellsOf(d.label(r)))
	}
	for i, item := range d.t.Items {
		d.total = max(d.total, d.from(item)+d.elapsed(item))
		if item.Kind == ops.TimelineModel || item.Kind == ops.TimelineTool {
			if calls++; d.slowest < 0 || d.elapsed(item) > d.elapsed(d.t.Items[d.slowest]) {
				d.slowest = i
			}
		}
	}
	if calls < 2 || d.slowest >= 0 && d.elapsed(d.t.Items[d.slowest]) == 0 {
		d.slowest = -1
	}
	w := d.w - 2
	d.kind, d.took = 7, 6
	switch {
	case w >= 112:
		d.info = 40
	case w >= 90:
		d.info = 28
	case w >= 76:
		d.info = 16
	case w >= 50:
		d.info = 9
	}
	d.name = min(name, max(w/5, 10), 32)
	d.bars = w - d.kind - d.name - d.took - d.info - 6
	if d.bars < 8 {
		d.bars += d.kind + 1
		d.kind = 0
	}
	if d.bars < 8 {
		d.name, d.bars = max(d.name+d.bars, 8), 0
	}
}

// from is when an item began, in milliseconds since its turn did.
func (d *turnDraw) from(i ops.TimelineItem) int64 {
	if d.t.StartedAt.IsZero() {
		return 0
	}
	at := i.StartedAt
	if at.IsZero() {
		at = i.EndedAt
	}
	if at.IsZero() {
		return 0
	}
	return min(max(at.Sub(d.t.StartedAt.Time).Milliseconds(), 0), int64(1000*time.Hour/time.Millisecond))
}

// goesOn reports whether an item has no end yet.
func (d *turnDraw) goesOn(i ops.TimelineItem) bool {
	return d.t.Running() && i.EndedAt.IsZero() && !i.StartedAt.IsZero()
}

// elapsed is how long an item took, or has gone on at the end of the axis, in milliseconds.
func (d *turnDraw) elapsed(i ops.TimelineItem) int64 {
	if d.goesOn(i) {
		return max(d.t.ElapsedMS-d.from(i), 0)
	}
	return min(max(i.ElapsedMS, 0), int64(1000*time.Hour/time.Millisecond))
}

// kindNames are the words for kinds, at most 7 cells each.
var kindNames = map[ops.TimelineKind]string{
	ops.TimelineModel: "model", ops.TimelineTool: "tool", ops.TimelineApproval: "asks", ops.TimelineWait: "wait",
	ops.TimelineCompaction: "compact", ops.TimelineDelegate: "child",
}

// waitNames are the words for what is waited for.
var waitNames = map[string]string{
	ops.TimelineQueue: "in the queue", ops.TimelineFiles: "its files", "limits.turns": "a turn slot", "limits.model_calls": "a model slot",
}

// named is what stands in the second column: what a tool was asked to do says more than the name of a terminal.
func (d *turnDraw) named(i ops.TimelineItem) string {
	text := i.Name
	switch {
	case i.Kind == ops.TimelineWait:
		text = or(waitNames[i.Name], i.Name)
	case i.Text != "" && i.Name == "terminal":
		text = i.Text
	case i.Text != "":
		text += " " + i.Text
	}
	if i.Child != "" {
		text = d.glyph(glyphBranch) + i.Child + " " + text
	}
	return d.clean(text, 80)
}

// lasted is a duration of a call: 42ms, 1.2s, 3:12.
func lasted(ms int64) string {
	switch {
	case ms <= 0:
		return "0"
	case ms < 100:
		return number(int(ms)) + "ms"
	}
	return tenths(time.Duration(ms) * time.Millisecond)
}

// heading is the turn, and where its time went.
func (d *turnDraw) heading() []string {
	t := d.t
	id := t.ID
	if len(id) > 10 {
		id = id[:4] + d.ellipsis() + id[len(id)-4:]
	}
	role := Good
	switch t.State {
	case "running":
		role = Busy
	case "failed", "interrupted":
		role = Bad
	}
	took := clock(time.Duration(t.ElapsedMS) * time.Millisecond)
	if d.cutOff() {
		took = "at least " + clock(t.KnownUntil.Sub(t.StartedAt.Time))
	}
	first := d.line(d.w-2).add(0, Heading, d.clean(id, 20)).add(2, role, took+" "+term40(t.State))
	if t.Cost != nil {
		first.add(2, Plain, money(*t.Cost, d.currency))
	}
	if t.TokensIn+t.TokensOut > 0 {
		first.add(2, Plain, short(t.TokensIn)+" in  "+short(t.TokensOut)+" out")
	}
	first.add(2, Plain, term40(t.Agent))
	if !t.StartedAt.IsZero() && !d.Now.IsZero() {
		first.add(2, Muted, "at "+timeOfDay(d.Now, t.StartedAt))
	}
	lines := []string{first.String()}
	if t.Reason != "" && t.State != "done" {
		lines = append(lines, d.wrapped(Bad, t.Reason, max(d.w-2, 1))...)
	}
	if sums := d.sums(); sums != "" {
		lines = append(lines, sums)
	}
	return lines
}

// sums is where the time of the turn went.
func (d *turnDraw) sums() string {
	if d.t.Source != ops.FromCalls {
		return ""
	}
	var queued int64
	sum := map[ops.TimelineKind]int64{}
	for _, s := range d.t.Sums {
		sum[s.Kind] = s.ElapsedMS
	}
	covered, end := int64(0), int64(0) // of the axis, by items in the order of their start
	for _, i := range d.t.Items {
		if i.Kind == ops.TimelineWait && i.Name == ops.TimelineQueue {
			queued += i.ElapsedMS
			continue
		}
		if d.goesOn(i) { // the sum is as old as the answer
			sum[i.Kind] += d.elapsed(i) - max(i.ElapsedMS, 0)
		}
		from, to := d.from(i), d.from(i)+d.elapsed(i)
		covered += max(to-max(from, end), 0)
		end = max(end, to)
	}
	l := d.line(d.w - 2)
	add := func(name string, ms int64, kind ops.TimelineKind) {
		if ms > 0 || kind != "" && d.t.Sum(kind).Calls > 0 {
			l.add(3, Muted, name+" "+lasted(ms))
		}
	}
	add("model", sum[ops.TimelineModel], ops.TimelineModel)
	add("tools", sum[ops.TimelineTool], ops.TimelineTool)
	add("asks", sum[ops.TimelineApproval], ops.TimelineApproval)
	add("waits", sum[ops.TimelineWait]-queued, "")
	add("compaction", sum[ops.TimelineCompaction], "")
	if rest := d.t.ElapsedMS - covered; d.t.LeftOut == 0 && rest >= 100 && rest*50 > d.t.ElapsedMS {
		add("rest", rest, "")
	}
	add("queued before", queued, "")
	return l.String()
}

// cutOff reports whether the end of the turn is not known: the next life wrote it.
func (d *turnDraw) cutOff() bool {
	return d.t.Source == ops.FromMessages && d.t.State == "interrupted" && d.t.KnownUntil.After(d.t.StartedAt.Time)
}

// known says up to when a timeline that is not whole is known.
func (d *turnDraw) known() string {
	if d.t.KnownUntil.IsZero() || d.Now.IsZero() {
		return ""
	}
	return ", up to " + timeOfDay(d.Now, d.t.KnownUntil)
}

// axis is the scale above the bars: times at equal distances.
func (d *turnDraw) axis() string {
	marks := 2
	switch {
	case d.bars >= 60:
		marks = 5
	case d.bars >= 30:
		marks = 3
	}
	dash := d.glyph(glyphLine)
	var b strings.Builder
	used := 0
	for i := range marks {
		text := scaleText(d.total, d.total*int64(i)/int64(marks-1))
		at := d.bars * i / (marks - 1)
		if i == marks-1 {
			at = d.bars - len(text)
		}
		if i > 0 {
			at = max(at, used+1)
			b.WriteString(" " + strings.Repeat(dash, max(at-used-2, 0)) + " ")
			used += max(at-used, 2)
		}
		b.WriteString(text)
		used += len(text)
	}
	return spaces(d.lead()) + d.paint(Muted, b.String())
}

// scaleText is a moment of an axis of this length.
func scaleText(total, at int64) string {
	if total < 100_000 {
		return tenths(time.Duration(at) * time.Millisecond)
	}
	return clock(time.Duration(at) * time.Millisecond)
}

// lead is what stands before the bars.
func (d *turnDraw) lead() int {
	if d.kind > 0 {
		return d.kind + 1 + d.name + 1
	}
	return d.name + 1
}
