package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/views"
)

// helpPage is every key, made from the table of keys. Action keys are left out of a read-only console.
type helpPage struct{ views.Help }

func (m *model) openHelp() tea.Cmd {
	m.dialog = &helpPage{helpOf(m.opt.ReadOnly)}
	return nil
}

func helpOf(readOnly bool) views.Help {
	sections := []views.HelpSection{{Name: "act, anywhere"}, {Name: "act, on a row"}, {Name: "act, in a stop"}, {Name: "move and look"}, {Name: "console"}}
	for i := range bindings {
		b := &bindings[i]
		at := 4
		switch {
		case b.isAction() && readOnly || len(b.keys) == 0:
			continue
		case b.isAction() && b.in == nil:
			at = 0
		case b.isAction() && b.inView(views.Shutdown):
			at = 2
		case b.isAction():
			at = 1
		case b.in != nil:
			at = 3
		}
		sections[at].Keys = append(sections[at].Keys, views.Hint{Key: keyNames(b.keys), Label: b.help})
	}
	h := views.Help{Title: "keys", Note: "j k scroll   esc closes"}
	for _, s := range sections {
		if len(s.Keys) > 0 {
			h.Sections = append(h.Sections, s)
		}
	}
	return h
}

func (h *helpPage) draw(s *views.Screen)             { s.Over = h.Help }
func (h *helpPage) help() string                     { return "" }
func (h *helpPage) closedBy(*model, occurrence) bool { return false }

func (h *helpPage) key(m *model, k tea.KeyMsg) tea.Cmd {
	const page = 10
	switch k.String() {
	case "j", "down":
		h.Offset++
	case "k", "up":
		h.Offset--
	case "pgdown", "ctrl+d", " ":
		h.Offset += page
	case "pgup", "ctrl+u":
		h.Offset -= page
	case "g", "home":
		h.Offset = 0
	case "esc", "q", "?", "enter":
		m.dialog = nil
	}
	h.Offset = min(max(h.Offset, 0), 2*len(bindings))
	return nil
}
