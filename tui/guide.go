package tui

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// guide is the line of a demo that says what to try next, by what is on the screen and by what was done. It is empty on a
// gateway that is not a demo.
func (m *model) guide() string {
	demo := m.status.Demo
	if demo == nil || m.link.State == views.LinkGone {
		return ""
	}
	hangs := "a platform"
	if len(demo.Hangs) > 0 {
		hangs = strings.Join(demo.Hangs, ", ")
	}
	stuck := m.anyStuck(func(*ops.Session) bool { return true })
	selected := m.lists[views.Sessions].Selected
	onIt := m.view == views.Sessions && m.anyStuck(func(s *ops.Session) bool { return s.Key == selected })
	switch {
	case m.stopping() != nil:
		return m.guideStop(demo)
	case m.dialog != nil && m.dialog.help() != "":
		return m.dialog.help()
	case onIt && !m.tried.ended:
		return "R, then y, resets the stuck chat  ·  enter shows what it waits for"
	case stuck && !m.tried.ended && m.view == views.Overview:
		return "a chat is stuck: enter goes to it  ·  2 all chats  ·  ? all keys"
	case stuck && !m.tried.ended:
		return "a chat is stuck: 1, then enter, goes to it  ·  ? all keys"
	case !m.tried.ended:
		return "a chat is about to get stuck  ·  2 all chats  ·  4 processes  ·  ? all keys"
	case !m.tried.sent && m.idle() != "":
		return "well done! Now say something:  :send " + m.idle() + " how are you  ·  ? all keys"
	}
	return "S, then y, stops the gateway: " + hangs + " will hang on purpose  ·  ? all keys"
}

func (m *model) guideStop(demo *ops.Demo) string {
	p := runningPhase(m.stop)
	if p == nil {
		return "the stop runs through its phases; each has a time limit"
	}
	for _, it := range p.Items {
		if it.State == ops.StepRunning && it.Kind == "adapter" && slices.Contains(demo.Hangs, it.ID) {
			return it.ID + " never answers: A gives up on it  ·  + gives it more time  ·  or just wait"
		}
	}
	if p.Name == "drain" {
		return "running turns may finish; > stops waiting for them"
	}
	return "the stop runs through its phases; each has a time limit"
}

// idle is the key of a session to talk to: the first one by key that does nothing now.
func (m *model) idle() string {
	best := ""
	for i := range m.snapshot().Sessions {
		if s := &m.snap.Sessions[i]; s.State == ops.SessionIdle && (best == "" || s.Key < best) {
			best = s.Key
		}
	}
	return best
}

// anyStuck reports whether one of the sessions that f takes has a stuck turn.
func (m *model) anyStuck(f func(*ops.Session) bool) bool {
	return slices.ContainsFunc(m.snapshot().Sessions, func(s ops.Session) bool { return s.Stuck(m.now) && f(&s) })
}

// helpPage is every key, made from the table of keys. Action keys are left out of a read-only console.
type helpPage struct {
	views.Help
	readOnly bool
	// typed is what the keys that are shown have to match; nil: nothing was asked for. typing says that it takes the keys.
	typed  *input
	typing bool
}

func (m *model) openHelp() tea.Cmd {
	m.dialog = &helpPage{Help: helpOf(m.opt.ReadOnly, ""), readOnly: m.opt.ReadOnly}
	return nil
}

// helpOf is the keys that have text, which is in lower case, in their names, commands or help.
func helpOf(readOnly bool, text string) views.Help {
	sections := []views.HelpSection{{Name: "act, anywhere"}, {Name: "act, on a row"}, {Name: "act, in a stop"}, {Name: "move and look"}, {Name: "console"}}
	for i := range bindings {
		b := &bindings[i]
		at := 4
		switch {
		case b.isAction() && readOnly || len(b.keys) == 0 || !strings.Contains(strings.ToLower(keyNames(b.keys)+"\n"+b.action+"\n"+b.help), text):
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
	h := views.Help{Title: "keys", Note: "/ finds a key   j k scroll   esc closes"}
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
	if h.typing {
		h.find(k)
		return nil
	}
	switch at, scrolls := scroll(k, h.Offset, page, 2*len(bindings)); {
	case k.String() == "/":
		h.typed, h.typing = newInput(""), true
		h.match()
	case k.String() == "esc" && h.typed != nil:
		h.typed = nil
		h.match()
	case scrolls:
		h.Offset = at
	case slices.Contains([]string{"esc", "q", "?", "enter"}, k.String()):
		m.dialog = nil
	}
	return nil
}

// find takes a key of what is looked for.
func (h *helpPage) find(k tea.KeyMsg) {
	switch key := k.String(); {
	case key == "esc", key == "backspace" && h.typed.text() == "":
		h.typed, h.typing = nil, false
	case key == "enter":
		h.typing = false
	default:
		h.typed.key(k)
	}
	h.match()
}

// match shows the keys that have what is looked for in their names or their help, in upper or lower case.
func (h *helpPage) match() {
	if h.typed == nil {
		h.Help = helpOf(h.readOnly, "")
		return
	}
	h.Help = helpOf(h.readOnly, strings.ToLower(h.typed.text()))
	h.Note = "/" + h.typed.text()
	if h.typing {
		h.Note += "_"
	}
	if len(h.Sections) == 0 {
		h.Note += "   no key has this; esc shows all"
	}
}

// scroll is the line that a key goes to from line at of a page, whose lines are 0 to last; false: the key does not scroll.
func scroll(k tea.KeyMsg, at, page, last int) (to int, scrolls bool) {
	switch k.String() {
	case "j", "down":
		at++
	case "k", "up":
		at--
	case "pgdown", "ctrl+d", " ":
		at += page
	case "pgup", "ctrl+u":
		at -= page
	case "g", "home":
		at = 0
	default:
		return at, false
	}
	return min(max(at, 0), last), true
}
