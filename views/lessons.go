package views

import (
	"strings"
	"time"

	"gatewaytui/core/lessons"
)

// lessons is what a stop that is over teaches: where its time went, what would help, and what it left behind. Where there is
// room the times have bars, and each advice its reason and its cost on lines of their own.
func (d *stopDraw) lessons(w, h int) []string {
	l := lessons.Of(d.Shutdown, d.s.Earlier...)
	if w < 100 || h < 26 {
		return d.facts(d.lessonFacts(l), 12, w)
	}
	lines := append([]string{d.rule("where the time went", w)}, d.timeWent(l, w)...)
	lines = append(lines, d.rule("what would help", w))
	for i, a := range l.Advice {
		if i == mostAdvice {
			lines = append(lines, d.more(len(l.Advice)-i))
			break
		}
		lines = append(lines, d.adviceLines(a, w)...)
	}
	if l.Note != "" {
		lines = append(lines, "   "+d.cut(shown(l.Note), w-3))
	}
	return append(lines, d.facts([]Fact{{"left behind", l.Left}}, 12, w)...)
}

// mostAdvice is how many advices a screen has.
const mostAdvice = 2

// lessonFacts are the lessons for a screen without room for more: the reasons of an advice are where the time went.
func (d *stopDraw) lessonFacts(l lessons.Lessons) []Fact {
	facts := []Fact{{"time went", l.Went(3)}, {"left behind", l.Left}}
	label := "would help"
	for _, a := range l.Advice[:min(len(l.Advice), mostAdvice)] {
		text := a.Promise()
		if a.Cost != "" {
			text += "; but " + a.Cost
		}
		facts = append(facts, Fact{label, text})
		label = ""
	}
	if l.Note != "" {
		facts = append(facts, Fact{label, l.Note})
	}
	return facts
}

// timeWent has a line with a bar for each phase that took long.
func (d *stopDraw) timeWent(l lessons.Lessons, w int) (lines []string) {
	const bar, took = 24, 8
	const most = 5
	row := func(phase string, t time.Duration, why string) string {
		full := 0
		if d.now > 0 {
			full = int(float64(bar) * min(1, float64(t)/float64(d.now)))
		}
		return "   " + d.cell(Plain, phase, nameCol) + d.right(Plain, tenths(t), took) + "  " +
			d.cell(Graph, strings.Repeat(d.glyph(glyphFull), full), bar) + "  " + d.cut(why, w-nameCol-took-bar-7)
	}
	rest := l.Rest
	for i, s := range l.Spent {
		if i >= most {
			rest += s.Took
			continue
		}
		lines = append(lines, row(or(term40(s.Phase), unknown), s.Took, shown(s.Why)))
	}
	if rest > 0 || len(lines) == 0 {
		lines = append(lines, row("rest", rest, ""))
	}
	return lines
}

// adviceLines is an advice: the line of the config with what it saves, and below it why and at what cost.
func (d *stopDraw) adviceLines(a lessons.Advice, w int) []string {
	head := "   " + d.paint(Accent, shown(a.Setting()))
	if a.Saves > 0 {
		head += "  would have ended this stop in " + d.paint(Good, tenths(a.Ends)) + " instead of " + tenths(a.Ends+a.Saves)
	}
	lines := []string{head, "      " + d.cut(shown(a.Why), w-6)}
	if a.Cost != "" {
		lines = append(lines, d.paint(Muted, "      "+d.cut("but "+shown(a.Cost), w-6)))
	}
	return lines
}
