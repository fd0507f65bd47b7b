package views

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

// lifeMoment is a moment of a life, by day where that is another than today.
func lifeMoment(now time.Time, t ops.Time) string {
	at, layout := t.In(now.Location()), time.DateOnly
	switch {
	case t.IsZero():
		return "-"
	case at.Year() == now.Year() && at.YearDay() == now.YearDay():
		layout = time.TimeOnly
	case at.Year() == now.Year():
		layout = "01-02 15:04"
	}
	return at.Format(layout)
}

// lifeEnd is when a life ended, or was last seen where its end is not known.
func lifeEnd(now time.Time, l *ops.Life) string {
	at, known := l.End()
	switch {
	case known:
		return lifeMoment(now, at)
	case l.Outcome == ops.OutcomeRunning:
		return "-"
	case at.IsZero():
		return unknown
	}
	return "~" + lifeMoment(now, at)
}

func lifeLasted(now time.Time, l *ops.Life) string {
	end, known := l.End()
	if !known && l.Outcome == ops.OutcomeRunning {
		end = ops.At(now)
	}
	if l.StartedAt.IsZero() || end.IsZero() || end.Before(l.StartedAt.Time) {
		return unknown
	}
	return clock(end.Sub(l.StartedAt.Time))
}

func lifeAsked(l *ops.Life) string {
	if l.Reason == "" {
		return l.By
	}
	return l.Reason + by(l.By)
}

// lifeOverran is what ops.Life.Overran names, with its figures.
func lifeOverran(l *ops.Life) string {
	var list []string
	for _, p := range l.Overran() {
		list = append(list, stepText(p))
	}
	return strings.Join(list, ", ")
}

// stepText is a phase with what it took of its budget, and the items that are to blame.
func stepText(p ops.Phase) string {
	text := p.Name + " " + tenths(ops.Span(p.ElapsedMS)) + "/" + budget(ops.Span(p.BudgetMS))
	if p.State == ops.StepFailed {
		text += " failed"
	}
	var who []string
	for _, it := range p.Items {
		name := it.ID
		if p.State == ops.StepDone { // the figure is the item's, for the phase was in time
			name += " " + tenths(ops.Span(it.ElapsedMS))
		}
		who = append(who, name)
	}
	if len(who) > 0 {
		text += " (" + names(who, 3) + ")"
	}
	return text
}

var lifeList = &list[ops.Life]{
	noun:   "lives",
	key:    func(l *ops.Life) string { return l.Life },
	fields: filter.Lives,
	columns: []column[ops.Life]{
		{name: "began", width: 11, drop: 4, cell: func(o *Opts, l *ops.Life) (string, Role) { return lifeMoment(o.Now, l.StartedAt), Plain }},
		{name: "ended", width: 12, drop: 2, cell: func(o *Opts, l *ops.Life) (string, Role) { return lifeEnd(o.Now, l), Plain }},
		{name: "lasted", width: 10, drop: 5, right: true, cell: func(o *Opts, l *ops.Life) (string, Role) { return lifeLasted(o.Now, l), Plain }},
		{
			name: "how", title: "HOW IT ENDED", width: 23,
			cell: func(o *Opts, l *ops.Life) (string, Role) {
				s := lifeBadge(l)
				return o.badge(s), s.role
			},
		},
		{
			name: "overran", least: 27, drop: 3,
			cell: func(_ *Opts, l *ops.Life) (string, Role) { return or(lifeOverran(l), "-"), Plain },
		},
		{
			name: "asked", title: "ASKED BY", width: 32, drop: 6, wide: true,
			cell: func(_ *Opts, l *ops.Life) (string, Role) { return or(lifeAsked(l), "-"), Plain },
		},
		{
			name: "life", width: 26, drop: 7,
			cell: func(_ *Opts, l *ops.Life) (string, Role) { return or(l.Life, unknown), Muted },
		},
	},
}

// livesShare is how the list of past lives shares its height: a title, the names of the columns, rows, and what is known of
// the selected one. As the height shrinks that goes first, then the names, then the title.
type livesShare struct {
	title, heads bool
	note         bool // why they could not be read
	rows, about  int
}

// lifePane is the height of what is known of the selected life.
const lifePane = 8

func (s *Screen) shareLives(h int) livesShare {
	sh := livesShare{title: s.layout() > layoutLine, heads: h >= 6 && s.layout() > layoutLine}
	sh.note = s.History.Err != "" && sh.title && len(s.History.Lives) > 0 && h >= 4
	if h >= 2*lifePane+1 && s.layout() >= layoutFull {
		sh.about = lifePane
	}
	sh.rows = h - sh.about
	for _, line := range []bool{sh.title, sh.heads, sh.note} {
		if line {
			sh.rows--
		}
	}
	sh.rows = max(sh.rows, 0)
	return sh
}

func livesBody(s *Screen, w, h int) []string {
	sh := s.shareLives(h)
	var lines []string
	if sh.title {
		lines = append(lines, s.rule(s.livesTitle(), w))
	}
	if len(s.History.Lives) == 0 {
		return fit(append(lines, indented(wrap(s.noLives(), max(w-2, 1)))...), w, h)
	}
	if sh.note {
		lines = append(lines, s.paint(Bad, s.cut(" "+s.glyph(glyphBad)+" not read: "+shown(s.History.Err), w)))
	}
	columns := lifeList.place(w)
	if len(columns) == 1 { // how it ended is what is left on the smallest screens
		columns[0].cells = max(w-gutter-1, 1)
	}
	if sh.heads {
		lines = append(lines, s.paint(Heading, string(lifeList.header(s, nil, columns))))
	}
	rows := s.lifeWindow(sh.rows)
	lines = append(lines, lifeList.window(s, columns, rows, 0, len(rows), w)...)
	if sh.about > 0 {
		lines = append(fit(lines, w, h-sh.about), s.selectedLife(rows, w)...)
	}
	return fit(lines, w, h)
}

// lifeWindow is a copy of the n rows in sight, the selected one among them: a message may have taken a line since the offset
// was made.
func (s *Screen) lifeWindow(n int) []ops.Life {
	all := s.History.Lives
	from := min(max(s.Table.Offset, 0), max(len(all)-n, 0))
	for i := from + n; i < min(from+n+2, len(all)) && n > 0; i++ {
		if all[i].Life == s.Table.Selected {
			from = i - n + 1
		}
	}
	rows := slices.Clone(all[from:min(from+n, len(all))])
	for i := range rows {
		if r := &rows[i]; s.Link.State == LinkGone && r.Life == s.Snap.Life && r.Outcome == ops.OutcomeRunning {
			r.Outcome = outcomeGone
		}
	}
	return rows
}

// livesTitle says how many lives there are and how fresh they are.
func (s *Screen) livesTitle() string {
	p, title := &s.History, "lives"
	if !p.At.IsZero() {
		read := fmt.Sprint(p.Read)
		if p.More {
			read += "+"
		}
		title += ": " + read
		if s.Table.Filter != "" {
			title = fmt.Sprintf("lives: %d of %s match %s", len(p.Lives), read, shown(s.Table.Filter))
		}
		if p.Err != "" || s.Link.State == LinkGone || s.Link.State == LinkStale {
			title += ", STALE"
		}
		age := sinceText(s.Now, ops.At(p.At))
		if title += ", read " + age; age != "now" {
			title += " ago"
		}
	}
	if p.Asking {
		title += ", loading"
		if p.More {
			title += " more"
		}
	}
	return title
}

func (s *Screen) noLives() string {
	p := &s.History
	switch {
	case p.Err != "":
		return s.glyph(glyphBad) + " Not read: " + shown(p.Err)
	case p.At.IsZero() && s.Link.State == LinkGone:
		return "The gateway is gone, and its past lives were not read before."
	case p.At.IsZero():
		return "Loading the past lives."
	case wrongFilter(s.Table.Filter, lifeList.fields) != "":
		return wrongFilter(s.Table.Filter, lifeList.fields)
	case s.Table.Filter != "" && p.More:
		return "None of the " + fmt.Sprint(p.Read) + " lives that were read matches so far."
	case s.Table.Filter != "":
		return fmt.Sprintf("0 of %d match `%s`; esc clears", p.Read, shown(s.Table.Filter))
	}
	return "No life is recorded on this home yet. ] shows the plan of a stop."
}

// selectedLife is what is known of the selected one of rows, in lifePane lines.
func (s *Screen) selectedLife(rows []ops.Life, w int) []string {
	i := slices.IndexFunc(rows, func(l ops.Life) bool { return l.Life == s.Table.Selected })
	if i < 0 {
		return fit([]string{s.rule("", w)}, w, lifePane)
	}
	l := &rows[i]
	facts := s.lifeFacts(l)
	lines := append([]string{s.rule("life "+shown(l.Life), w)}, s.facts(facts, 12, w)...)
	return fit(lines, w, lifePane)
}

// lifeLines is what is known of a life whose stop left no report.
func lifeLines(s *Screen, w int) []string {
	if s.Life == nil {
		return []string{s.rule("past life", w), "   It is not listed any more."}
	}
	if s.small() {
		sg := lifeBadge(s.Life)
		return []string{s.paint(sg.role, s.cut(s.badge(sg), w)), s.cut("no report of a stop", w)}
	}
	return append([]string{s.rule("life "+shown(s.Life.Life), w)}, s.facts(s.lifeFacts(s.Life), 12, w)...)
}

// lifeFacts are what there is to say of a life in a few lines.
func (s *Screen) lifeFacts(l *ops.Life) []Fact {
	facts := []Fact{{"ended", s.badge(lifeBadge(l))}}
	if l.Shutdown != nil {
		facts = append(facts, Fact{"overran", or(shown(lifeOverran(l)), "nothing")})
	}
	if asked := lifeAsked(l); asked != "" {
		facts = append(facts, Fact{"asked by", shown(asked)})
	}
	stop := "no report: it never began one, or was ended before its first phase"
	switch {
	case l.Shutdown != nil:
		d := stopDraw{s: s, Opts: &s.Opts, stopAt: stopOf(s.of(l))}
		outcome := or(term40(d.Outcome), unknown)
		if d.kind == stopCut {
			outcome = "cut short"
		}
		stop = fmt.Sprintf("%s, %s, phase %d of %d, took %s", or(shown(d.ModeText()), unknown), outcome, d.reached(), len(d.Phases), clock(d.now))
	case l.Outcome == ops.OutcomeRunning:
		stop = "none yet; ] shows what it would do"
	case l.Outcome == outcomeGone:
		stop = "not known; the next life says how this one ended"
	}
	return append(facts, Fact{"stop", stop}, Fact{"life", lifeSpan(s, l)})
}

// of is the screen of the report of l.
func (s *Screen) of(l *ops.Life) Screen {
	return Screen{Opts: s.Opts, Link: s.Link, Snap: ops.Snapshot{Status: s.Snap.Status}, Stop: l.Shutdown, Life: l}
}

// lifeSpan is when a life was, as far as that is known, and which process.
func lifeSpan(s *Screen, l *ops.Life) string {
	at := func(t ops.Time) string {
		if t.IsZero() {
			return unknown
		}
		local, layout := t.In(s.Now.Location()), time.DateTime
		if local.Year() == s.Now.Year() {
			layout = "01-02 15:04:05"
		}
		return local.Format(layout)
	}
	last, known := l.End()
	end := "last seen " + at(last)
	switch {
	case known:
		end = "to " + at(last)
	case l.Outcome == ops.OutcomeRunning:
		end = "until now"
	}
	text := at(l.StartedAt) + " " + end + " (" + lifeLasted(s.Now, l) + "), pid " + number(l.PID)
	if v := term40(l.Version); v != "" {
		text += ", " + v
	}
	return text
}
