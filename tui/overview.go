package tui

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// ratesGap is how often the figures of the overview are read.
const ratesGap = 2 * time.Second

// overviewBindings are the keys of the overview alone.
func overviewBindings() []binding {
	return []binding{
		{action: "longer-range", keys: []string{"]"}, pair: "[ ]", label: "range", help: "show a longer span in the graphs: 5 min, 30 min, 6 h, 24 h", in: []views.View{views.Overview}, do: func(m *model) tea.Cmd { return m.turnSpan(1) }},
		{action: "shorter-range", keys: []string{"["}, help: "show a shorter span in the graphs", in: []views.View{views.Overview}, do: func(m *model) tea.Cmd { return m.turnSpan(-1) }},
	}
}

// turnSpan changes the range of the graphs. They stay as they are until the figures have come.
func (m *model) turnSpan(by int) tea.Cmd {
	at := slices.Index(ops.RateSpans, m.wantedSpan(m.now))
	m.span = ops.RateSpans[min(max(at+by, 0), len(ops.RateSpans)-1)]
	m.ratesAt = time.Time{}
	return m.maybeFetch(true)
}

// wantedSpan is the range of the graphs: until a person has chosen one, 30 minutes, and the shortest for a gateway that is younger.
func (m *model) wantedSpan(now time.Time) time.Duration {
	switch started := m.status.StartedAt; {
	case m.span > 0:
		return m.span
	case !started.IsZero() && now.Sub(started.Time) < ops.RateSpans[0]:
		return ops.RateSpans[0]
	}
	return ops.RateSpans[1]
}

// ratesDue is the span of which figures are to be read now; 0: none.
func (m *model) ratesDue(now time.Time) time.Duration {
	if m.view != views.Overview || now.Sub(m.ratesAt) < ratesGap {
		return 0
	}
	return m.wantedSpan(now)
}

// sawRates takes figures, unless they are of a span that is not wanted any more.
func (m *model) sawRates(r *ops.Rates, at time.Time) {
	if r == nil || m.span > 0 && r.SpanMS != m.span.Milliseconds() {
		return
	}
	m.ratesAt = at
	if m.link.Paused {
		return
	}
	m.rates = r
	m.settleOverview()
}

// overview is what the rows of the overview are made of.
func (m *model) overview() views.Screen {
	s := views.Screen{Opts: views.Opts{Now: m.now}, Snap: m.shown, Rates: m.rates}
	s.Table.Selected = m.lists[views.Overview].Selected
	return s
}

// settleOverview keeps a selection: if the selected row is gone, the row that is now in its place is selected. Until the person has
// chosen a row, the first one is.
func (m *model) settleOverview() {
	l := m.lists[views.Overview]
	if m.view != views.Overview || l.Selected == "" {
		return
	}
	rows := views.OverviewRows(m.overview())
	if at := slices.IndexFunc(rows, func(r views.OverviewRow) bool { return r.Name == l.Selected }); at >= 0 {
		m.overviewAt = at
		return
	}
	if l.Selected = ""; len(rows) > 0 {
		m.overviewAt = min(m.overviewAt, len(rows)-1)
		l.Selected = rows[m.overviewAt].Name
	}
}

// overviewRow is the selected row of the overview; its View is 0 where it is about no row of another view.
func (m *model) overviewRow() views.OverviewRow {
	row, _ := views.SelectedOverviewRow(m.overview())
	return row
}

// moveOverview selects another row of the overview.
func (m *model) moveOverview(by int) {
	if rows := views.OverviewRows(m.overview()); len(rows) > 0 {
		l := m.lists[views.Overview]
		m.overviewAt = min(max(chosen(rows, l.Selected)+by, 0), len(rows)-1)
		l.Selected = rows[m.overviewAt].Name
	}
}

// chosen is the index of the selected row, and that of the first one as long as none is.
func chosen(rows []views.OverviewRow, name string) int {
	return max(slices.IndexFunc(rows, func(r views.OverviewRow) bool { return r.Name == name }), 0)
}
