package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
	"gatewaytui/views"
)

// composing is the line in which a message for a session is written. A message may have several lines: a paste of several lines is one
// message, and alt+enter begins a new line.
type composing struct {
	session string
	above   []string // the lines above the one that is typed
	typed   *input
	note    string // why the last paste was not taken
}

// maxPasted bounds one message that is written in the console, in bytes. send takes longer ones.
const maxPasted = 64 << 10

// startWriting begins a message for the selected session, or goes on with the one that was left.
func (m *model) startWriting() tea.Cmd {
	key := m.keyContext(false).subject()
	c := &composing{session: key, typed: newInput("")}
	if d := m.unsent; d != nil && d.session == key {
		c = d
	}
	m.unsent, m.dialog = nil, c
	m.detail.End = true
	if m.view != views.Sessions {
		return nil
	}
	return m.showPage(views.PageTalk)
}

func (c *composing) text() string {
	return strings.Join(append(c.above[:len(c.above):len(c.above)], c.typed.text()), "\n")
}

func (c *composing) key(m *model, k tea.KeyMsg) tea.Cmd {
	c.note = ""
	switch {
	case k.Type == tea.KeyEsc:
		m.dialog = nil
		if c.text() != "" {
			m.unsent = c
			m.say("the message is kept: w goes on with it")
		}
	case k.Type == tea.KeyEnter && k.Alt, k.Type == tea.KeyCtrlJ:
		c.above, c.typed = append(c.above, c.typed.text()), newInput("")
	case k.Type == tea.KeyEnter:
		return c.send(m)
	case k.Type == tea.KeyBackspace && c.typed.text() == "" && len(c.above) > 0:
		last := len(c.above) - 1
		c.above, c.typed = c.above[:last], newInput(c.above[last])
	case k.Paste:
		c.paste(string(k.Runes))
	default:
		c.typed.key(k)
	}
	return nil
}

// paste takes a text of any lines. One that is too long is refused as a whole: half of a message is not what was meant.
func (c *composing) paste(pasted string) {
	pasted = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\t", "    ").Replace(pasted)
	lines := strings.Split(c.typed.text()+pasted, "\n")
	for i := range lines {
		lines[i] = term.Clean(lines[i], 0)
	}
	if last := len([]rune(lines[len(lines)-1])); len(c.text())+len(pasted) > maxPasted || last > maxTyped {
		c.note = fmt.Sprintf("the paste is too long: at most %d KiB, and %d characters in its last line; send takes longer ones", maxPasted>>10, maxTyped)
		return
	}
	last := len(lines) - 1
	c.above, c.typed = append(c.above, lines[:last]...), newInput(lines[last])
}

func (c *composing) send(m *model) tea.Cmd {
	said := c.text()
	if strings.TrimSpace(said) == "" {
		m.dialog = nil
		return nil
	}
	if why := named("write").works(m.keyContext(true)); why != "" {
		m.deny(why)
		return nil
	}
	m.dialog = nil
	m.detail.End = true
	return m.send([]ops.Command{{Verb: ops.VerbMessage, Target: c.session, Text: said}})
}

func (c *composing) draw(s *views.Screen) {
	s.Input = "> "
	if n := len(c.above); n > 0 {
		s.Input = fmt.Sprintf("> (%d %s above) ", n, text.Plural(n, "line", "lines"))
	}
	s.Input += c.typed.text()
	switch {
	case c.note != "":
		s.Hints = []views.Hint{{Key: "!", Label: c.note}}
	case c.text() == "":
		s.Hints = []views.Hint{{Key: "enter", Label: "sends to " + term.Clean(c.session, maxName)}, {Key: "alt+enter", Label: "new line"}, {Key: "esc", Label: "leaves"}}
	default:
		s.Hints = []views.Hint{{Key: "enter", Label: "sends"}, {Key: "alt+enter", Label: "new line"}, {Key: "esc", Label: "leaves and keeps it"}}
	}
}

func (c *composing) help() string { return "" }

// closedBy keeps what was written when the view changes by itself, such as for a stop.
func (c *composing) closedBy(m *model, e occurrence) bool {
	if e == viewOpened && c.text() != "" {
		m.unsent = c
	}
	return e == viewOpened
}

// needsWriter says why no message can be written; empty: one can.
func needsWriter(f keyContext) string {
	b := binding{verb: ops.VerbMessage}
	switch why := b.off(f); {
	case why != "":
		return why
	case f.subject() == "":
		return "no session is selected"
	}
	return ""
}
