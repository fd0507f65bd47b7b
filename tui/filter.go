package tui

import (
	"cmp"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/views"
)

// filterLine is the line in which a filter is typed; the rows follow each key.
type filterLine struct{ input }

func (m *model) startFilter() tea.Cmd {
	m.dialog = &filterLine{*newInput(m.lists[m.view].Filter)}
	return nil
}

func (f *filterLine) key(m *model, k tea.KeyMsg) tea.Cmd {
	switch {
	case k.Type == tea.KeyEsc:
		m.dialog = nil
		return m.setFilter("")
	case k.Type == tea.KeyEnter:
		m.dialog = nil
	case f.input.key(k):
		return m.setFilter(f.text())
	}
	return nil
}

func (f *filterLine) draw(s *views.Screen)                 { s.Input = "/" + f.text() }
func (f *filterLine) help() string                         { return "" }
func (f *filterLine) closedBy(_ *model, e occurrence) bool { return e == viewOpened }

func (m *model) setFilter(text string) tea.Cmd {
	l := m.lists[m.view]
	if l.Filter != "" && text == "" {
		m.lastFilter = l.Filter
	}
	l.Filter = text
	if m.view == views.Shutdown {
		m.stale = true
		m.showLives()
		return m.readHistory()
	}
	m.filterEvents()
	return tea.Batch(m.reorder(), m.readMore())
}

// nextMatch selects the next or previous row that the filter matched before it was cleared: to find something among its
// neighbours.
func (m *model) nextMatch(by int) tea.Cmd {
	l := m.lists[m.view]
	want := cmp.Or(l.Filter, m.lastFilter)
	if want == "" {
		m.deny("no filter yet: / finds, n goes to the next match")
		return nil
	}
	hits := views.Order(m.shown, m.view, views.TableState{Filter: want})
	found := placesOf(views.Keys(&hits, m.view))
	n := len(l.keys)
	for step := 1; step <= n; step++ {
		i := ((max(l.at(), 0)+by*step)%n + n) % n
		if _, matches := found[l.keys[i]]; matches {
			l.to(i)
			return nil
		}
	}
	m.deny("nothing matches " + want)
	return nil
}
