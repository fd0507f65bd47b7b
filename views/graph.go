package views

import (
	"math"
	"strings"
)

// graph is a figure over a span of time.
type graph struct {
	// name is what is measured, now its newest value, and note what else there is to say of it.
	name, now, note string
	// brief takes the place of the peak where g has one line. said draws the note there instead of the samples.
	brief string
	said  bool
	// samples are oldest first, of which there are at most slots in the span: what is missing lies before the gateway's start. A
	// sample that is not a number is a gap.
	samples []float64
	slots   int
	// word is a value with its unit.
	word func(float64) string
}

// The cells of a graph that are not the graph itself: its name, its newest value and its peak in the flat form, and the scale in
// the tall one.
const (
	graphName  = 12
	graphNow   = 8
	graphPeak  = 12
	graphScale = 8
)

// flat draws g in one line of w cells: its name, its newest value, the samples and their peak.
func (g *graph) flat(o *Opts, w int) string {
	line := " " + o.cell(Muted, g.name, graphName) + o.right(Heading, g.now, graphNow) + " "
	if g.said && g.note != "" {
		return line + o.cut(g.note, w-2-graphName-graphNow)
	}
	peak := or(g.brief, "peak "+g.word(greatest(g.samples)))
	room := w - 2 - graphName - graphNow
	if room-2-graphPeak >= 16 {
		room -= 1 + graphPeak
	} else {
		peak = ""
	}
	line += o.paint(Graph, o.plot(g.columns(max(room, 0)), greatest(g.samples), 1)[0])
	if peak != "" {
		line += " " + o.right(Muted, peak, graphPeak)
	}
	return line
}

// tall draws g in h lines of w cells, at least 2: a title, and the samples between 0 and their peak.
func (g *graph) tall(o *Opts, w, h int) []string {
	title := o.line(w-1).add(0, Plain, " "+o.paint(Muted, g.name)).add(2, Heading, g.now)
	top := greatest(g.samples)
	note := "peak " + g.word(top)
	if both := g.note + "  " + note; top > 0 && g.note != "" && cellsOf(both)+2 <= title.w {
		note = both
	} else if top <= 0 || g.note != "" { // the scale has the peak
		note = g.note
	}
	lines := []string{title.end(Muted, note)}
	rows := o.plot(g.columns(max(w-graphScale-1, 0)), top, h-1)
	for i, row := range rows {
		mark, tick := "", glyphBar
		switch {
		case i == 0 && top > 0:
			mark, tick = g.word(top), glyphTick
		case i == len(rows)-1:
			mark, tick = "0", glyphTick
		}
		lines = append(lines, o.right(Muted, mark, graphScale-1)+o.paint(Muted, o.glyph(tick))+o.paint(Graph, row))
	}
	return lines
}

// columns spreads the span over w columns. A column that stands for several samples has the greatest of them, one before the first
// sample is a gap.
func (g *graph) columns(w int) []float64 {
	out := make([]float64, w)
	slots := max(g.slots, len(g.samples), 1)
	before := slots - len(g.samples)
	for c := range out {
		from := c * slots / w
		to := max((c+1)*slots/w, from+1)
		out[c] = math.NaN()
		for _, v := range g.samples[min(max(from-before, 0), len(g.samples)):min(max(to-before, 0), len(g.samples))] {
			if finite(v) && !(out[c] > v) {
				out[c] = v
			}
		}
	}
	return out
}

// plot draws samples as columns from 0 to top in h rows, the highest row first, in eighths of a row. A value above zero is visible,
// and zero is a line; what is not a number is a blank.
func (o *Opts) plot(samples []float64, top float64, h int) []string {
	levels := []rune(o.glyph(glyph{" .:-=+*##", " ▁▂▃▄▅▆▇█"}))
	full := len(levels) - 1
	rows := make([]string, h)
	var b strings.Builder
	for row := range rows {
		b.Reset()
		above := (h - 1 - row) * full // eighths below this row
		for _, v := range samples {
			eighths := 0
			switch {
			case !finite(v):
				eighths = -1
			case top > 0 && v > 0:
				eighths = max(int(math.Ceil(v/top*float64(h*full))), 1)
			}
			switch {
			case eighths < 0:
				b.WriteByte(' ')
			case row == h-1:
				b.WriteRune(levels[min(max(eighths, 1), full)])
			default:
				b.WriteRune(levels[min(max(eighths-above, 0), full)])
			}
		}
		rows[row] = b.String()
	}
	return rows
}

// timeAxis is the line below graphs that begin at cell from: it says how far back they reach.
func (o *Opts) timeAxis(span, half string, from, w int) string {
	room := w - from
	const now = "now"
	if room < len(span)+len(now)+4 {
		return ""
	}
	dash := o.glyph(glyphLine)
	line := "-" + span + " "
	if middle := room/2 - len(half)/2; middle > len(line)+2 && room > 4*len(half)+len(now)+len(line) {
		line += strings.Repeat(dash, middle-cellsOf(line)-2) + " -" + half + " "
	}
	line += strings.Repeat(dash, max(room-cellsOf(line)-len(now)-1, 0)) + " " + now
	return spaces(from-1) + o.paint(Muted, o.glyph(glyphCorner)+line)
}
