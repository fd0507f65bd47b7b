package views

import (
	"slices"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// Used is the page of what model calls used this month, below the budgets that limit it.
type Used struct {
	// By is the one of ops.UsageGroups that Rows are grouped by. Days are the same calls by day: the sums are made of them, because
	// a gateway has more sessions than Rows may hold.
	By         string
	Rows, Days []ops.Usage
	Budgets    []ops.Budget
	// Read says that an answer has come, Err why the last one did not.
	Read bool
	Err  string
	// Offset is the first row that is shown; what is beyond the end shows the end.
	Offset int
}

// usedWidth is how wide the page is at most, in cells.
const usedWidth = 116

// Lines draws the page. The rows have what the budgets leave, which take at most a third.
func (u Used) Lines(o Opts) []string {
	return o.box(u.title(), Heading, usedWidth, func(w int) (body, tail []string) {
		note := "[ ] other groups   j k scroll   esc closes"
		if slices.ContainsFunc(u.Rows, func(r ops.Usage) bool { return r.Estimated }) {
			note += "   ~ estimated in part"
		}
		tail = append(o.wrapped(Bad, u.Err, w), o.paint(Muted, o.cut(note, w)))
		if !u.Read {
			return []string{o.groups(u.By, w), o.paint(Muted, "Reading what was used.")}, tail
		}
		room := max(o.H-2-len(tail), 1)
		if room >= 8 {
			body = o.budgetLines(u.Budgets, room/3, w)
		}
		if len(body) > 0 && room > 12 {
			body = append(body, "")
		}
		if room >= 4 {
			body = append(body, o.groups(u.By, w))
		}
		if len(u.Rows) == 0 {
			return append(body, o.paint(Muted, "No model was called this month.")), tail
		}
		return append(body, u.table(&o, max(room-len(body), 1), w)...), tail
	})
}

// title has the sums.
func (u Used) title() string {
	if !u.Read {
		return "usage"
	}
	var sum ops.Usage
	cost := 0.0
	for _, d := range u.Days {
		sum.Calls += d.Calls
		sum.TokensIn += d.TokensIn
		sum.TokensOut += d.TokensOut
		sum.Cached += d.Cached
		if d.Cost != nil {
			cost, sum.Cost, sum.Currency = cost+*d.Cost, d.Cost, d.Currency
		}
	}
	if sum.Cost != nil {
		sum.Cost = &cost
	}
	text := "usage this month: " + paid(&sum) + ", " + short(sum.Calls) + " calls, " + short(sum.TokensIn) + " tokens in, " + short(sum.TokensOut) + " out"
	if sum.Cached > 0 {
		text += ", " + short(sum.Cached) + " cached"
	}
	return text
}

// paid is what calls cost, as far as they have a price.
func paid(r *ops.Usage) string {
	if r.Cost == nil {
		return "no price"
	}
	return money(*r.Cost, r.Currency)
}

// groups is the line of the groupings, the chosen one marked.
func (o *Opts) groups(chosen string, w int) string {
	l := o.line(w).add(0, Muted, "by")
	for _, name := range ops.UsageGroups {
		role, text := Muted, " "+name+" "
		if name == chosen {
			role, text = Selected, "["+name+"]"
		}
		l.add(1, role, text)
	}
	return l.String()
}

// usedColumn is a column of figures; a page of less than least cells does without it.
type usedColumn struct {
	name         string
	width, least int
	of           func(r *ops.Usage) string
}

var usedColumns = []usedColumn{
	{"CALLS", 7, 30, func(r *ops.Usage) string { return short(r.Calls) }},
	{"IN", 8, 50, func(r *ops.Usage) string { return short(r.TokensIn) }},
	{"OUT", 8, 50, func(r *ops.Usage) string { return short(r.TokensOut) }},
	{"CACHED", 8, 60, func(r *ops.Usage) string { return short(r.Cached) }},
	{"NO PRICE", 10, 70, func(r *ops.Usage) string { return short(r.Unpriced) }},
	{"COST", 13, 0, func(r *ops.Usage) string {
		if r.Estimated {
			return "~" + paid(r)
		}
		return paid(r)
	}},
}

// shareWidth is how wide the bar is that compares rows, on a page of at least shareLeast cells.
const shareWidth, shareLeast = 22, 100

// table is the head and as many rows as h lines have room for. A table of one line is a row.
func (u Used) table(o *Opts, h, w int) []string {
	columns, name, most := []usedColumn(nil), w, 0.0
	for _, c := range usedColumns {
		if w >= c.least {
			columns, name = append(columns, c), name-c.width
		}
	}
	if w >= shareLeast {
		name -= shareWidth + 2
	}
	weight := u.weight()
	for i := range u.Rows {
		most = max(most, weight(&u.Rows[i]))
	}
	head := o.cell(Muted, strings.ToUpper(u.By), name)
	for _, c := range columns {
		head += o.right(Muted, c.name, c.width)
	}
	lines, rows := []string{head}, h-1
	if rows == 0 {
		lines, rows = nil, 1
	}
	if len(u.Rows) > rows && rows > 1 {
		rows-- // for the line that says where we are
	}
	at := min(max(u.Offset, 0), max(len(u.Rows)-rows, 0))
	end := min(at+rows, len(u.Rows))
	for i := at; i < end; i++ {
		r := &u.Rows[i]
		line := o.cell(Plain, or(shown(r.Group), "none, or deleted"), name)
		for _, c := range columns {
			text, role := o.dotted(c.of(r))
			line += o.right(role, text, c.width)
		}
		if w >= shareLeast && most > 0 {
			line += "  " + o.paint(Graph, o.part(weight(r)/most, shareWidth))
		}
		lines = append(lines, line)
	}
	if end-at < len(u.Rows) && h > 2 {
		lines = append(lines, o.paint(Muted, number(at+1)+" to "+number(end)+" of "+number(len(u.Rows))))
	}
	return lines
}

// weight is what rows are compared by: their cost, or their tokens where none has a price.
func (u Used) weight() func(r *ops.Usage) float64 {
	if slices.ContainsFunc(u.Rows, func(r ops.Usage) bool { return r.Cost != nil && *r.Cost > 0 }) {
		return func(r *ops.Usage) float64 {
			if r.Cost == nil {
				return 0
			}
			return *r.Cost
		}
	}
	return func(r *ops.Usage) float64 { return float64(r.TokensIn) + float64(r.TokensOut) }
}

// part is a bar of w cells for a part of 1.
func (o *Opts) part(of float64, w int) string {
	if !finite(of) {
		of = 0
	}
	return o.bar(time.Duration(min(max(of, 0), 1)*1e6), 1e6, w)
}

// budgetLines are the limits of budgets with what is used of them, in at most h lines.
func (o *Opts) budgetLines(budgets []ops.Budget, h, w int) (lines []string) {
	for i := range budgets {
		b := &budgets[i]
		for j := range b.Windows {
			if win := &b.Windows[j]; win.Limit > 0 || win.Spent != nil {
				lines = append(lines, o.budgetLine(b, win, w))
			}
		}
		for _, r := range b.Raises {
			by := money(r.Money, b.Currency)
			if r.Tokens > 0 {
				by = short(r.Tokens) + " tokens"
			}
			text := shown(b.Name) + " was raised by " + by + " until " + r.Until.In(o.Now.Location()).Format("01-02 15:04") + ", by " + shown(r.By)
			lines = append(lines, o.paint(Muted, o.cut(text, w)))
		}
	}
	if n := len(lines) - h; n > 0 {
		lines = append(lines[:h-1], o.more(n+1))
	}
	return lines
}

// budgetLine is a limit: whose it is, how much of it is used, and when it renews.
func (o *Opts) budgetLine(b *ops.Budget, win *ops.BudgetWindow, w int) string {
	amount, unit := func(n float64) string { return money(n, b.Currency) }, ""
	if win.Window == "tokens" {
		amount, unit = func(n float64) string { return short(int64(min(max(n, 0), 1e15))) }, " tokens"
	}
	name, per, bar := 12, 8, 12
	if w >= 90 {
		name, bar = 20, 24
	}
	line := o.cell(Plain, shown(b.Name), name) + " " + o.cell(Muted, shown(win.Window), per) + " "
	l := o.line(max(w-name-per-2, 1))
	switch {
	case win.Spent == nil:
		return line + l.add(0, Plain, "at most "+amount(win.Limit)+unit+" each").String()
	case win.Limit <= 0:
		l.add(0, Plain, amount(*win.Spent)+unit).add(2, Muted, "no limit")
	default:
		used, role := *win.Spent/win.Limit, Graph
		switch {
		case used >= 1:
			role = Bad
		case used >= 0.8:
			role = Slow
		}
		if w >= 60 {
			l.add(0, role, o.part(used, bar))
		}
		l.add(1, Plain, amount(*win.Spent)+" of "+amount(win.Limit)+unit).add(2, role, percent(100*used))
	}
	if left := win.RenewsAt.Sub(o.Now); !win.RenewsAt.IsZero() && left > 0 {
		l.add(2, Muted, "renews in "+coarse(left))
	}
	if win.Reserved != nil && *win.Reserved > 0 {
		l.add(2, Muted, "+"+amount(*win.Reserved)+unit+" reserved")
	}
	return line + l.String()
}
