package tui

import (
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/text"
	"gatewaytui/views"
)

// whatIf is what the plan page assumes; the zero value assumes nothing. The gateway computes the plan of it.
type whatIf struct {
	at        int            // the selected row
	drain     *time.Duration // nil: as it is configured
	base      time.Duration  // the configured drain
	processes int            // that ignore TERM
	fsync     time.Duration  // how long one takes
	hangs     []string
}

// assume are the assumptions as the gateway takes them.
func (w *whatIf) assume() (out []string) {
	if w.drain != nil {
		out = append(out, "drain="+w.drain.String())
	}
	if w.processes > 0 {
		out = append(out, "processes="+strconv.Itoa(w.processes))
	}
	if w.fsync > 0 {
		out = append(out, "fsync="+w.fsync.String())
	}
	for _, name := range w.hangs {
		out = append(out, "hang="+name)
	}
	return out
}

// assumable is one row of the plan page: what it is called, how far + and - change it, and what the space bar does.
type assumable struct {
	label  string
	value  string
	set    bool
	change func(w *whatIf, by int)
	mark   func(w *whatIf)
}

// Steps of + and -.
const (
	drainStep     = 10 * time.Second
	processesStep = 10
	fsyncStep     = 50 * time.Millisecond
)

// assumable are the rows of the plan page: the drain, processes, the disk, and each platform.
func (m *model) assumable() []assumable {
	w := &m.whatIf
	drain := w.base
	if w.drain != nil {
		drain = *w.drain
	}
	rows := []assumable{
		{
			"drain", text.Exact(drain), w.drain != nil,
			func(w *whatIf, by int) { d := max(drain+time.Duration(by)*drainStep, 0); w.drain = &d }, func(w *whatIf) { w.drain = nil },
		},
		{
			"processes ignore TERM", strconv.Itoa(w.processes), w.processes > 0,
			func(w *whatIf, by int) { w.processes = max(w.processes+by*processesStep, 0) }, func(w *whatIf) { w.processes = 0 },
		},
		{
			"one fsync takes", text.Exact(w.fsync), w.fsync > 0,
			func(w *whatIf, by int) { w.fsync = max(w.fsync+time.Duration(by)*fsyncStep, 0) }, func(w *whatIf) { w.fsync = 0 },
		},
	}
	for _, a := range m.snapshot().Adapters {
		name, hangs, value := a.Name, slices.Contains(w.hangs, a.Name), "answers"
		if hangs {
			value = "HANGS"
		}
		set := func(w *whatIf, hang bool) {
			w.hangs = slices.DeleteFunc(w.hangs, func(n string) bool { return n == name })
			if hang {
				w.hangs = append(w.hangs, name)
			}
		}
		rows = append(rows, assumable{name, value, hangs, func(w *whatIf, by int) { set(w, by > 0) }, func(w *whatIf) { set(w, !hangs) }})
	}
	return rows
}

func whatIfBindings() []binding {
	on := []views.StopPage{views.StopPlan}
	change := func(by int) func(*model) tea.Cmd {
		return func(m *model) tea.Cmd { return m.supposing(func(a assumable) { a.change(&m.whatIf, by) }) }
	}
	return []binding{
		{action: "what-if-more", keys: []string{"+"}, label: "more", help: "on the plan page: more of what is selected, such as drain time", in: ofStop, pages: on, disabledReason: needsPlan, do: change(1)},
		{action: "what-if-less", keys: []string{"-"}, label: "less", help: "on the plan page: less of what is selected", in: ofStop, pages: on, disabledReason: needsPlan, do: change(-1)},
		{
			action: "what-if-mark", keys: []string{" "}, label: "hangs", help: "on the plan page: assume that the selected platform hangs, or take an assumption back", in: ofStop, pages: on, disabledReason: needsPlan,
			do: func(m *model) tea.Cmd { return m.supposing(func(a assumable) { a.mark(&m.whatIf) }) },
		},
	}
}

func needsPlan(f keyContext) string {
	if f.view != views.Shutdown || f.page != views.StopPlan {
		return "it works on the plan page: 6, then ]"
	}
	return ""
}

// supposing changes the selected assumption and asks for the plan of it.
func (m *model) supposing(change func(assumable)) tea.Cmd {
	rows := m.assumable()
	change(rows[min(m.whatIf.at, len(rows)-1)])
	m.planAt, m.stale = time.Time{}, true
	return m.maybeFetch(true)
}

// tookPlan takes a plan, and asks again where the assumptions have changed meanwhile.
func (m *model) tookPlan(p ops.Plan, at time.Time) {
	m.plan, m.planAt = p, at
	if len(p.If) == 0 {
		m.whatIf.base = ops.Span(p.DrainMS)
	}
	if !slices.Equal(p.If, m.whatIf.assume()) {
		m.planAt = time.Time{}
	}
}

// forgetWhatIf takes every assumption back, and asks for the plan without them.
func (m *model) forgetWhatIf() tea.Cmd {
	assumed := len(m.whatIf.assume()) > 0
	m.whatIf = whatIf{base: m.whatIf.base}
	if !assumed {
		return nil
	}
	m.planAt = time.Time{}
	return m.maybeFetch(true)
}

// showWhatIf is the question as it is drawn.
func (m *model) showWhatIf() views.WhatIf {
	w := views.WhatIf{At: m.whatIf.at, Waiting: !slices.Equal(m.plan.If, m.whatIf.assume())}
	for _, a := range m.assumable() {
		w.Rows = append(w.Rows, views.Assumption{Label: a.label, Value: a.value, Set: a.set})
	}
	return w
}
