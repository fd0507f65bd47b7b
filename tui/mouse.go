package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/views"
)

// The mouse is off until :mouse on, because a terminal whose program has the mouse does not select text by itself.

// wheelEvery is for how long turns of the wheel are added up before the screen moves, so that keys do not queue behind them.
const wheelEvery = 16 * time.Millisecond

// wheeled says that the wheel's turns are to be carried out.
type wheeled struct{}

func (m *model) setMouse(word string) tea.Cmd {
	switch word {
	case "on":
		m.mouse = true
		m.say("the wheel scrolls, a click selects a row or a tab; most terminals select text with shift")
		return tea.EnableMouseCellMotion
	case "off":
		m.mouse = false
		return tea.DisableMouse
	}
	m.deny("mouse on, or mouse off")
	return nil
}

// onMouse takes what the mouse does. A dialog is answered with keys alone.
func (m *model) onMouse(e tea.MouseMsg) tea.Cmd {
	help, reads := m.dialog.(*helpPage)
	if !m.mouse || e.Action != tea.MouseActionPress || m.dialog != nil && !reads {
		return nil
	}
	turn := map[tea.MouseButton]int{tea.MouseButtonWheelUp: -scrollStep, tea.MouseButtonWheelDown: scrollStep}[e.Button]
	switch {
	case turn != 0 && reads:
		help.Offset = min(max(help.Offset+turn, 0), 2*len(bindings))
		m.stale = true
	case turn != 0:
		return m.turnWheel(turn, e)
	case e.Button == tea.MouseButtonLeft && !reads:
		return m.click(e)
	}
	return nil
}

// turnWheel adds a turn to those that are not carried out yet.
func (m *model) turnWheel(by int, e tea.MouseMsg) tea.Cmd {
	waits := m.wheel != 0
	m.wheel, m.wheelAt = m.wheel+by, e
	if waits {
		return nil
	}
	return m.tasks.cmd(taskWheel, func(ctx context.Context) tea.Msg {
		select {
		case <-time.After(wheelEvery):
		case <-ctx.Done():
		}
		return wheeled{}
	})
}

// onWheeled scrolls what the pointer is on: the detail, or the list.
func (m *model) onWheeled() tea.Cmd {
	by := m.wheel
	m.wheel = 0
	if by == 0 || m.dialog != nil {
		return nil
	}
	m.stale = true
	if views.At(m.bare(), m.wheelAt.X, m.wheelAt.Y).Detail {
		return m.scrollDetail(by)
	}
	return m.move(by)
}

func (m *model) click(e tea.MouseMsg) tea.Cmd {
	s := m.bare()
	s.Table = m.lists[m.view].TableState
	spot, l := views.At(s, e.X, e.Y), m.lists[m.view]
	m.stale, m.message = true, ""
	switch {
	case spot.Tab != 0:
		return m.openView(spot.Tab)
	case spot.Row >= 0 && spot.Row < len(l.keys):
		l.to(spot.Row)
		return m.readMore()
	}
	return nil
}
