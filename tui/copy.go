package tui

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/views"
)

// maxCopied bounds what is sent to the clipboard, in bytes; terminals take about 100 kB of OSC 52, in base64.
const maxCopied = 64 << 10

// clipboard is the sequence that sets the terminal's clipboard. In base64 no text can act on the terminal.
func clipboard(text string) string {
	return "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\x07"
}

// copyID copies what the row is called, or the path of the last diagnosis.
func (m *model) copyID() tea.Cmd {
	if m.copied != "" {
		path := m.copied
		m.copied = ""
		return m.copyOut(path, path)
	}
	text := m.lists[m.view].Selected
	if m.view == views.Overview {
		text = m.overviewRow().Key
	}
	if m.view == views.Events {
		text = m.streamText()
	}
	if m.view == views.Shutdown {
		text = ""
		if l := m.life(); l != nil {
			text = l.Life
		} else if _, it := m.stopChoice(); it != nil {
			text = it.ID
		} else if m.stop != nil {
			text = m.stop.ID
		}
	}
	return m.copyOut(text, text)
}

func (m *model) copyRow() tea.Cmd {
	f := m.keyContext(true)
	var row any
	what := "the row as JSON"
	switch {
	case f.life != nil:
		row, what = f.life, "the past life as JSON"
	case m.view == views.Shutdown && m.stop != nil:
		row, what = m.stop, "the report as JSON"
	case m.view == views.Overview && m.snap != nil:
		row, what = m.snap.Status, "the status as JSON"
	case f.agent != nil:
		row = f.agent
	case f.session != nil:
		row = f.session
	case f.process != nil:
		row = f.process
	case f.adapter != nil:
		row = f.adapter
	case f.held != nil:
		row = f.held
	case m.view == views.Inbox && m.requested() != nil:
		row = m.requested()
	default:
		return m.copyOut("", "")
	}
	b, err := json.MarshalIndent(row, "", "  ")
	if err != nil {
		m.deny("copy: " + err.Error())
		return nil
	}
	return m.copyOut(string(b), what)
}

// copyOut puts text on the terminal's clipboard: OSC 52, written past the renderer, without an external program.
func (m *model) copyOut(text, what string) tea.Cmd {
	switch {
	case text == "":
		m.deny("nothing to copy here")
		return nil
	case len(text) > maxCopied:
		m.deny(fmt.Sprintf("%s is too long for the clipboard of a terminal: %d bytes", what, len(text)))
		return nil
	case m.raw == nil || !m.raw([]byte(clipboard(text))):
		m.deny("the terminal does not take it")
		return nil
	}
	m.say("copied " + strings.TrimSpace(what))
	return nil
}
