package tui

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

const (
	taskUsage = "read the usage"
	// usageEvery is how often an open page of usage is read.
	usageEvery = 5 * time.Second
)

// usagePage is what model calls used, and the budgets. It is read while it is open.
type usagePage struct {
	views.Used
	asking bool
	due    time.Time // when it is read again
}

// usageRead is an answer for a page of usage.
type usageRead struct {
	page *usagePage
	views.Used
	err error
}

// usageBindings are the keys of the page of usage.
func usageBindings() []binding {
	return []binding{
		{action: "usage", keys: []string{"$"}, help: "what model calls used this month, by day, agent, person, model or session, and the budgets", do: (*model).openUsage},
	}
}

func (m *model) openUsage() tea.Cmd {
	m.dialog = &usagePage{Used: views.Used{By: ops.UsageGroups[0]}}
	return nil // Update asks
}

// readUsage reads an open page of usage again when it is due, one question at a time.
func (m *model) readUsage() tea.Cmd {
	p, open := m.dialog.(*usagePage)
	now := time.Now()
	if !open || p.asking || now.Before(p.due) || m.link.Paused && p.Read {
		return nil
	}
	p.asking, p.due = true, now.Add(usageEvery)
	by, c := p.By, m.console
	return m.tasks.cmd(taskUsage, func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		r := usageRead{page: p}
		r.Used, r.err = askUsage(ctx, c, by)
		return r
	})
}

// askUsage reads the rows, the days that the sums are made of, and the budgets.
func askUsage(ctx context.Context, c ops.Console, by string) (views.Used, error) {
	days, err := c.Usage(ctx, ops.UsageQuery{By: ops.UsageGroups[0]})
	u := views.Used{By: by, Rows: days.Items, Days: days.Items, Read: true}
	if err == nil && by != ops.UsageGroups[0] {
		var rows ops.Page[ops.Usage]
		rows, err = c.Usage(ctx, ops.UsageQuery{By: by})
		u.Rows = rows.Items
	}
	if err == nil {
		var budgets ops.Page[ops.Budget]
		budgets, err = c.Budgets(ctx)
		u.Budgets = budgets.Items
	}
	return u, err
}

// arrive shows an answer. One for a grouping that was left since is dropped; Update then asks for the new one.
func (r usageRead) arrive(m *model) {
	p := r.page
	p.asking, m.stale = false, true
	switch {
	case r.err != nil:
		p.Err = ops.AsError(r.err).Error()
	case r.By == p.By:
		r.Offset = min(p.Offset, max(len(r.Rows)-1, 0))
		p.Used = r.Used
	}
}

// restartUsage is for a question that failed in the console's own code.
func (m *model) restartUsage() {
	if p, open := m.dialog.(*usagePage); open {
		p.asking = false
	}
}

func (p *usagePage) draw(s *views.Screen)                 { s.Over = p.Used }
func (p *usagePage) help() string                         { return "" }
func (p *usagePage) closedBy(_ *model, e occurrence) bool { return e == stopBegan }

func (p *usagePage) key(m *model, k tea.KeyMsg) tea.Cmd {
	const page = 10
	if k.Paste {
		return nil
	}
	last := max(len(p.Rows)-1, 0)
	if at, scrolls := scroll(k, p.Offset, page, last); scrolls {
		p.Offset = at
		return nil
	}
	switch k.String() {
	case "]", "tab", "right", "l":
		p.group(1)
	case "[", "shift+tab", "left", "h":
		p.group(-1)
	case "G", "end":
		p.Offset = last
	case "r":
		p.due = time.Time{}
	case "esc", "q", "$":
		m.dialog = nil
	}
	return nil
}

// group shows the rows by the next grouping, or the one before.
func (p *usagePage) group(by int) {
	n := len(ops.UsageGroups)
	at := slices.Index(ops.UsageGroups, p.By)
	p.Used = views.Used{By: ops.UsageGroups[(at+by+n)%n]}
	p.due = time.Time{}
}
