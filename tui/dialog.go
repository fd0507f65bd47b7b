package tui

import (
	"cmp"
	"context"
	"time"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/term"
	"gatewaytui/views"
)

// dialog is what lies over the view and takes the keys: a question about commands, the question how to leave, the palette, the
// help page, the line of a filter. One is open at a time.
type dialog interface {
	// key takes a key, or a paste, which is text and never a key.
	key(m *model, k tea.KeyMsg) tea.Cmd
	// draw puts the dialog into a frame.
	draw(s *views.Screen)
	// help says to a newcomer what its keys do; empty leaves that to the view.
	help() string
	// closedBy reports whether what has happened closes it.
	closedBy(m *model, e occurrence) bool
}

// occurrence is what can close a dialog without a key.
type occurrence int

const (
	newsCame   occurrence = iota // the gateway has answered, or is gone
	stopBegan                    // a stop that was not seen before
	lifeBegan                    // another gateway answers
	viewOpened                   // by a key or a command
)

func (m *model) happened(e occurrence) {
	if m.dialog != nil && m.dialog.closedBy(m, e) {
		m.dialog = nil
	}
}

func (m *model) dismiss() tea.Cmd {
	if m.question() != nil {
		m.say("Nothing was done.")
	}
	m.dialog = nil
	return nil
}

// armAfter is how long the person must not have pressed a key before a question takes keys: a key that was meant for the
// screen before is lost, not done (DESIGN.md, 8.2). What the gateway does meanwhile does not matter.
const armAfter = 300 * time.Millisecond

// asking is what all questions have in common: their words, and answers of which the first is Cancel.
type asking struct {
	views.Dialog
	answers []answer
	typed   *input // where a word is wanted
	// armed says that keys are taken; quiet numbers the waits for it, so that each key of the person begins a new one.
	armed bool
	quiet int
	// wait is how long; 0 is armAfter.
	wait time.Duration
}

// answer is one button: the key that presses it and what it does. do is nil for Cancel.
type answer struct {
	key, label string
	do         func(m *model) tea.Cmd
}

// armed says that no key was pressed since the wait with this number began.
type armed struct {
	of    *asking
	quiet int
}

// arm waits without a key of the person.
func (q *asking) arm(m *model) tea.Cmd {
	q.armed = false
	q.quiet++
	a, wait := armed{q, q.quiet}, cmp.Or(q.wait, armAfter)
	return m.tasks.cmd("arm the keys", func(ctx context.Context) tea.Msg {
		pause(ctx, wait)
		return a
	})
}

func (m *model) onArmed(a armed) {
	if a.of.quiet == a.quiet {
		a.of.armed, m.stale = true, true
	}
}

// press is a key while a question is open that takes answers if it is ready.
func (q *asking) press(m *model, k tea.KeyMsg, ready bool) tea.Cmd {
	key := k.String()
	switch {
	case k.Paste:
		if q.typed != nil && ready {
			q.typed.key(k)
		}
		return nil
	case key == "esc", q.typed == nil && (key == "n" || key == "N" || key == "q"):
		return m.dismiss()
	case !ready:
		return q.arm(m)
	}
	switch last := len(q.answers) - 1; {
	case key == "left", key == "shift+tab":
		q.Focus = max(q.Focus-1, 0)
	case key == "right":
		q.Focus = min(q.Focus+1, last)
	case key == "tab":
		q.Focus = (q.Focus + 1) % (last + 1)
	case key == "enter":
		if q.typed != nil && q.Focus == 0 && q.typed.text() == q.Want {
			q.Focus = 1 // the word is the answer
		}
		return q.give(m, q.answers[q.Focus])
	case q.typed != nil:
		q.typed.key(k)
	default:
		for _, a := range q.answers {
			if a.key == key {
				return q.give(m, a)
			}
		}
	}
	return nil
}

func (q *asking) give(m *model, a answer) tea.Cmd {
	switch {
	case a.do == nil:
		return m.dismiss()
	case q.typed != nil && q.typed.text() != q.Want:
		q.Note = "type " + q.Want + " first, then enter; esc cancels"
		return nil
	}
	return a.do(m)
}

func (q *asking) box(ready bool) views.Dialog {
	d := q.Dialog
	d.Armed, d.ArmsIn = ready, armAfter
	for i, a := range q.answers {
		key := a.key
		switch {
		case q.typed != nil && i == 0:
			key = "esc"
		case q.typed != nil:
			key = "enter"
		case i == 0:
			key = "n or esc"
		}
		d.Buttons = append(d.Buttons, views.Button{Key: key, Label: a.label})
	}
	if q.typed != nil {
		d.Typed = q.typed.text()
	}
	return d
}

func (q *asking) help() string { return "y does it; n or esc cancels. The list says what would end." }

// input is a line being typed; the cursor is at its end.
type input struct{ input textinput.Model }

// maxTyped bounds what is typed or pasted into a line, in runes.
const maxTyped = 4096

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
