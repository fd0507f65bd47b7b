package tui

import (
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
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
	want := m.lastFilter
	if l.Filter != "" {
		want = l.Filter
	}
	if want == "" {
		m.deny("no filter yet: / finds, n goes to the next match")
		return nil
	}
	hits := views.Order(m.shown, m.view, views.TableState{Filter: want})
	found := map[string]bool{}
	for i := range views.Rows(&hits, m.view) {
		found[views.RowKey(&hits, m.view, i)] = true
	}
	n := len(l.keys)
	for step := 1; step <= n; step++ {
		i := ((max(l.at(), 0)+by*step)%n + n) % n
		if found[l.keys[i]] {
			l.to(i)
			return nil
		}
	}
	m.deny("nothing matches " + want)
	return nil
}

// eventsKept bounds the events that view 7 can show.
const eventsKept = 10_000

func (m *model) addEvents(events []ops.Event) {
	if len(m.events)+len(events) > eventsKept+eventsKept/4 {
		gone := max(len(m.events)-eventsKept/2, 0)
		m.events = append([]ops.Event(nil), m.events[gone:]...)
		l := m.lists[views.Events]
		l.Offset = max(l.Offset-gone, 0)
	}
	m.events = append(m.events, events...)
	if !m.link.Paused {
		m.filterEvents()
	}
}

// filterEvents makes what view 7 shows. The shutdown view shows all.
func (m *model) filterEvents() {
	l := m.lists[views.Events]
	m.shownEvents = m.events
	if m.view == views.Events && l.Filter != "" {
		m.shownEvents = views.FilterEvents(m.events, l.Filter)
	}
	l.Total = len(m.events)
}

// maxTyped bounds what is typed or pasted into a line, in runes.
const maxTyped = 4096

// input is a line being typed; the cursor is at its end.
type input struct{ input textinput.Model }

func newInput(text string) *input {
	in := textinput.New()
	in.CharLimit = maxTyped
	// What moves the cursor is off, because the prompt is drawn with it at the end; and what pastes, because that runs a
	// program. A terminal's own paste comes as text.
	for _, off := range []*key.Binding{
		&in.KeyMap.CharacterForward, &in.KeyMap.CharacterBackward, &in.KeyMap.WordForward, &in.KeyMap.WordBackward,
		&in.KeyMap.LineStart, &in.KeyMap.LineEnd, &in.KeyMap.Paste,
	} {
		off.SetEnabled(false)
	}
	in.SetValue(text)
	in.CursorEnd()
	in.Focus() // its command only makes the cursor blink
	return &input{in}
}

func (f *input) text() string { return f.input.Value() }

// key takes what is typed or pasted and reports whether the text changed. Control characters are dropped.
func (f *input) key(k tea.KeyMsg) bool {
	if k.Alt && (k.Type == tea.KeyRunes || k.Type == tea.KeySpace) {
		return false
	}
	if k.Type == tea.KeyRunes {
		k.Runes = []rune(term.Clean(string(k.Runes), maxTyped))
	}
	before := f.input.Value()
	f.input, _ = f.input.Update(k) // its commands blink and paste
	return f.input.Value() != before
}
