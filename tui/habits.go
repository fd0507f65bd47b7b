package tui

import (
	"context"
	"reflect"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/views"
)

// Habits are what a console remembers of its person for the next console on the same home (TF37). Filters are not among them: a
// console that opens shows everything.
type Habits struct {
	// View is the name of the view that was open, empty for the overview. Lists are the habits of each list, by the name of its view.
	View  string               `json:"view,omitempty"`
	Lists map[string]ListHabit `json:"lists,omitempty"`
	// Theme is the theme that was chosen with :theme, empty for that of the config.
	Theme string `json:"theme,omitempty"`
	// Mouse says that the mouse is on.
	Mouse bool `json:"mouse,omitempty"`
	// Lines are what was typed behind a colon, oldest first. They have no text that a person wrote to an agent.
	Lines []string `json:"lines,omitempty"`
}

// ListHabit is how a person looks at one list.
type ListHabit struct {
	Sort    string `json:"sort,omitempty"`
	Reverse bool   `json:"reverse,omitempty"`
	Page    string `json:"page,omitempty"`
}

// maxLines bounds Habits.Lines, keepTimeout the time to write them down.
const (
	maxLines    = 200
	keepTimeout = 2 * time.Second
)

// remembered is the end of a write of habits.
type remembered struct{ err error }

// resume makes the console look as the last one on this home.
func (m *model) resume(h Habits) {
	for _, v := range views.Views {
		habit, l := h.Lists[v.String()], m.lists[v]
		if slices.Contains(views.SortColumns(v), habit.Sort) {
			l.Sort, l.Reverse = habit.Sort, habit.Reverse
		}
		l.open = habit.Page
		if v.String() == h.View && v != views.Shutdown { // a stop opens its view itself
			m.view, m.detail = v, views.Detail{Page: l.open}
		}
	}
	if slices.Contains(views.Themes, h.Theme) {
		m.chosenTheme = h.Theme
		m.theme = theme(m.themed(h.Theme))
	}
	m.mouse = h.Mouse
	m.lines = h.Lines[max(len(h.Lines)-maxLines, 0):]
	m.kept = m.habits()
}

// themed are the options with another theme.
func (m *model) themed(name string) Options {
	o := m.opt
	o.Theme = name
	return o
}

// habits are those of the console now.
func (m *model) habits() Habits {
	h := Habits{Theme: m.chosenTheme, Mouse: m.mouse, Lines: slices.Clone(m.lines), Lists: map[string]ListHabit{}}
	if m.view != views.Overview {
		h.View = m.view.String()
	}
	for v, l := range m.lists {
		if habit := (ListHabit{l.Sort, l.Reverse, l.open}); habit != (ListHabit{}) {
			h.Lists[v.String()] = habit
		}
	}
	return h
}

// keep writes the habits down if they have changed, one write at a time.
func (m *model) keep() tea.Cmd {
	if m.opt.Keep == nil || m.keeping {
		return nil
	}
	h := m.habits()
	if reflect.DeepEqual(h, m.kept) {
		return nil
	}
	m.kept, m.keeping = h, true
	return m.tasks.cmd(taskKeep, func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, keepTimeout)
		defer cancel()
		return remembered{m.opt.Keep(ctx, h)}
	})
}

// onRemembered goes on with what has changed meanwhile. A file that cannot be written is said once.
func (m *model) onRemembered(r remembered) tea.Cmd {
	if m.keeping = false; r.err != nil {
		m.opt.Keep = nil
		m.deny("the console will not remember its views: " + r.err.Error())
		return nil
	}
	return m.keep()
}

// typed remembers a line of the palette, without one that holds text of a person.
func (m *model) typed(c *command, line string) {
	if c.free && c.name != "filter-by" {
		return
	}
	m.lines = append(slices.DeleteFunc(m.lines, func(l string) bool { return l == line }), line)
	m.lines = m.lines[max(len(m.lines)-maxLines, 0):]
}
