package tui

import (
	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/term"
)

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
