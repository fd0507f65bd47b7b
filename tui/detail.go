package tui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/views"
)

// detailBindings are the keys of the detail of a row: next to the list where there is room, else over it.
func detailBindings() []binding {
	return []binding{
		{action: "next-page", keys: []string{"]"}, pair: "[ ]", label: "page", help: "next page of the details", in: ofLists, do: func(m *model) tea.Cmd { return m.turnPage(1) }},
		{action: "previous-page", keys: []string{"["}, help: "previous page of the details", in: ofLists, do: func(m *model) tea.Cmd { return m.turnPage(-1) }},
		{action: "scroll-down", keys: []string{"J", "shift+down"}, help: "scroll the details down; the list stays where it is", in: ofDetails, do: func(m *model) tea.Cmd { return m.scrollDetail(scrollStep) }},
		{action: "scroll-up", keys: []string{"K", "shift+up"}, help: "scroll the details up", in: ofDetails, do: func(m *model) tea.Cmd { return m.scrollDetail(-scrollStep) }},
		{action: "fold", keys: []string{"z"}, help: "unfold what the page folds, or give a page that folds nothing the whole screen; again for the other way", in: ofDetails, do: (*model).fold},
		{action: "whole", keys: []string{"Z"}, help: "give the open page the whole screen, or its place next to the list", in: ofDetails, do: (*model).zoom},
	}
}

// scrollStep is how many lines one press of a key scrolls the detail while the list has the keys that move.
const scrollStep = 3

// openPage is the open page of the view's detail; it has no name in a view without pages.
func (m *model) openPage() views.PageInfo {
	pages := views.Pages(m.view)
	if len(pages) == 0 {
		return views.PageInfo{}
	}
	return pages[max(slices.IndexFunc(pages, func(p views.PageInfo) bool { return p.Name == m.detail.Page }), 0)]
}

// turnPage opens the next page of the detail, or lays the detail over the list if it is not in sight.
func (m *model) turnPage(by int) tea.Cmd {
	pages := views.Pages(m.view)
	if len(pages) == 0 {
		return nil
	}
	if len(views.InSight(m.bare())) == 0 {
		return m.showPage(m.openPage().Name)
	}
	at := slices.Index(pages, m.openPage())
	return m.showPage(pages[(at+by+len(pages))%len(pages)].Name)
}

// showPage opens the page called name of the selected row's detail, and lays the detail over the list if it is not in sight.
func (m *model) showPage(name string) tea.Cmd {
	m.detail.Page, m.lists[m.view].open = name, name
	if len(views.InSight(m.bare())) == 0 {
		m.detail.Open = true
	}
	m.resize()
	return nil
}

// scrollToBegin is for a page or row that is looked at from now on.
func (m *model) scrollToBegin(page string) {
	m.detail.Scroll, m.detail.End = 0, m.openPage().Ends && page != ""
}

func (m *model) scrollDetail(by int) tea.Cmd {
	s := m.screen()
	if len(views.InSight(s)) == 0 {
		return m.showPage(m.openPage().Name)
	}
	d := views.ScrollBy(s, by)
	m.detail.Scroll, m.detail.End = d.Scroll, d.End
	m.rouse()
	return nil
}

// growAbove makes a change that puts lines above those that are in sight, and keeps these in their place: older messages of a
// conversation, for instance.
func (m *model) growAbove(change func()) {
	before, _ := views.PageLines(m.screen())
	change()
	after, _ := views.PageLines(m.screen())
	m.detail.Scroll += max(after-before, 0)
}

func (m *model) fold() tea.Cmd {
	if !m.openPage().Folds {
		return m.zoom()
	}
	m.detail.Unfolded = !m.detail.Unfolded
	return nil
}

func (m *model) zoom() tea.Cmd {
	m.detail.Whole = !m.detail.Whole
	m.detail.Open = m.detail.Whole
	m.resize()
	return nil
}

// closeDetail gives the keys back to the list, and reports whether the detail had them.
func (m *model) closeDetail() bool {
	was := m.detail.Open || m.detail.Whole
	m.detail.Open, m.detail.Whole = false, false
	m.resize()
	return was
}
