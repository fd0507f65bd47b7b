package views

import (
	"math"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// spanName is a range of the overview in words: "30 min", "6 h".
func spanName(d time.Duration) string {
	if d >= time.Hour {
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/time.Minute)) + " min"
}

// spanMark is a moment of a time axis: "15m", "3h".
func spanMark(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	case d%time.Minute == 0:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	}
	return strconv.FormatFloat(d.Minutes(), 'f', 1, 64) + "m"
}

// span is the range that the graphs show: that of the figures, and until there are any the one that was asked for.
func (s *Screen) span() time.Duration {
	if s.Rates != nil && s.Rates.SpanMS > 0 {
		return time.Duration(s.Rates.SpanMS) * time.Millisecond
	}
	return s.Range
}

// activity are the graphs of the overview, the most important first.
func (s *Screen) activity() []graph {
	r := s.Rates
	if r == nil || r.StepMS <= 0 || len(r.Steps) == 0 {
		return nil
	}
	currency := s.currency()
	perMinute := func(v float64) string { return figure(v) }
	rate := func(name string, per time.Duration, word func(float64) string, of func(*ops.RateStep) float64) graph {
		g := s.overSteps(name, word, func(st *ops.RateStep) float64 { return of(st) * float64(per.Milliseconds()) / float64(r.StepMS) })
		s.atRate(&g, per, of)
		return g
	}
	turns := rate("turns/min", time.Minute, perMinute, func(st *ops.RateStep) float64 { return float64(st.Turns) })
	if r.TurnP95MS > 0 {
		turns.note = "turn p50 " + latency(r.TurnP50MS) + "  p95 " + latency(r.TurnP95MS)
	}
	first := s.overSteps("first token", func(v float64) string { return latency(int64(v)) }, func(st *ops.RateStep) float64 {
		if st.FirstTokenMS <= 0 {
			return math.NaN()
		}
		return float64(st.FirstTokenMS)
	})
	first.now = latency(r.FirstTokenP50MS)
	if r.FirstTokenP95MS > 0 {
		first.note = "p95 " + latency(r.FirstTokenP95MS)
		first.brief = first.note
	}
	tokens := rate("tokens/min", time.Minute, perMinute, func(st *ops.RateStep) float64 { return float64(st.TokensIn + st.TokensOut) })
	spend := rate("spend/h", time.Hour, func(v float64) string { return money(v, currency) }, func(st *ops.RateStep) float64 { return st.Cost })
	if b := budgetShown(s.Snap.Budgets); b != nil {
		spend.note = "today " + money(b.Spent, b.Currency)
		spend.brief = spend.note
	}
	queue := s.overSteps("queue", plainNumber, func(st *ops.RateStep) float64 { return float64(st.Queued) })
	memory := s.overSteps("memory", bytesNumber, func(st *ops.RateStep) float64 { return float64(st.RSSBytes + st.ToolsBytes) })
	last := r.Steps[len(r.Steps)-1]
	memory.said = true
	memory.note = "gateway " + size(last.RSSBytes)
	if last.Processes > 0 {
		memory.note += "  tools " + size(last.ToolsBytes) + " in " + count(last.Processes, "proc")
	}
	return []graph{turns, first, tokens, spend, queue, memory}
}

// overSteps is the graph of a level, which a step has at any moment.
func (s *Screen) overSteps(name string, word func(float64) string, of func(*ops.RateStep) float64) graph {
	r := s.Rates
	g := graph{name: name, word: word, slots: int(r.SpanMS / r.StepMS), samples: make([]float64, len(r.Steps))}
	for i := range r.Steps {
		g.samples[i] = of(&r.Steps[i])
	}
	g.now = word(g.samples[len(g.samples)-1])
	return g
}

// atRate corrects the graph of a rate. The last step is not over: it gets the value of the last minute, or of the last two steps
// where these are longer, which is what the graph's newest value is. of is what a step counts, and per what it is counted for.
func (s *Screen) atRate(g *graph, per time.Duration, of func(*ops.RateStep) float64) {
	r := s.Rates
	step := time.Duration(r.StepMS) * time.Millisecond
	whole := min(max(int(time.Minute/step), 1), len(r.Steps)-1)
	sum, lasted := 0.0, time.Duration(whole)*step
	if began := s.Snap.StartedAt; !began.IsZero() && r.At.After(began.Time) {
		lasted += r.At.Sub(began.Time) % step
	} else {
		lasted += step
	}
	for _, st := range r.Steps[len(r.Steps)-1-whole:] {
		sum += of(&st)
	}
	v := sum * float64(per) / float64(max(lasted, time.Minute))
	g.samples[len(g.samples)-1], g.now = v, g.word(v)
}

// activityLines are the graphs in at most h lines: tall ones with a scale where there is room for all of them, else one line each.
func (s *Screen) activityLines(w, h int) []string {
	if h < 2 {
		return nil
	}
	lines := []string{s.titleRule("LAST "+strings.ToUpper(spanName(s.span())), "[ ] range", w)}
	graphs := s.activity()
	if graphs == nil {
		return append(lines, s.paint(Muted, "   no figures yet"))
	}
	span := s.span()
	if tall := min((h-2)/len(graphs), tallest); tall >= 3 && w >= 50 {
		for i := range graphs {
			lines = append(lines, graphs[i].tall(&s.Opts, w, tall)...)
		}
		return append(lines, s.timeAxis(spanMark(span), spanMark(span/2), graphScale, w))
	}
	for i := range graphs[:min(len(graphs), h-1)] {
		lines = append(lines, graphs[i].flat(&s.Opts, w))
	}
	return lines
}

// usual and tallest are how high a graph is, with its title, where there is room for more than graphs, and at most.
const usual, tallest = 4, 8

// activityWant is how many lines the graphs take: the smallest and the largest number.
func (s *Screen) activityWant() (least, most int) {
	n := len(s.activity())
	if n == 0 {
		return 2, 2
	}
	return 1 + n, 2 + n*tallest
}

// latency is a duration of a call: "640ms", "1.2s", "1:20".
func latency(ms int64) string {
	switch {
	case ms <= 0:
		return "-"
	case ms < 1000:
		return strconv.FormatInt(ms, 10) + "ms"
	}
	return tenths(time.Duration(ms) * time.Millisecond)
}

// figure is a rate in few cells: "0", "0.4", "42", "18.2k".
func figure(v float64) string {
	switch {
	case !(v >= 0 && v <= 1e15): // NaN is neither
		return unknown
	case v == 0:
		return "0"
	case v < 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return short(int64(v + 0.5))
}
