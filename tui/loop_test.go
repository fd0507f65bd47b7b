package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/views"
)

// loop is Bubble Tea's loop without its terminal: messages one after the other, commands on goroutines.
type loop struct {
	m    *model
	msgs chan func(*model)
	done chan struct{}
	quit bool          // read after done
	cmd  func(tea.Cmd) // begins what a key pressed in see asks for
}

func (l *loop) run(ctx context.Context) {
	defer close(l.done)
	msgs := make(chan tea.Msg)
	var start func(tea.Cmd)
	l.cmd = func(cmd tea.Cmd) { start(cmd) }
	start = func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		go func() {
			msg := cmd()
			if batch, ok := msg.(tea.BatchMsg); ok {
				for _, c := range batch {
					start(c)
				}
				return
			}
			select {
			case msgs <- msg:
			case <-ctx.Done():
			}
		}()
	}
	start(l.m.Init())
	for {
		select {
		case msg := <-msgs:
			if _, ok := msg.(tea.QuitMsg); ok {
				l.quit = true
				return
			}
			_, cmd := l.m.Update(msg)
			l.m.View()
			start(cmd)
		case f := <-l.msgs:
			f(l.m)
		case <-ctx.Done():
			return
		}
	}
}

// see looks at the model on its own loop.
func (l *loop) see(f func(*model)) {
	seen := make(chan struct{})
	select {
	case l.msgs <- func(m *model) { f(m); close(seen) }:
		<-seen
	case <-l.done:
		f(l.m)
	}
}

func (l *loop) left() bool {
	select {
	case <-l.done:
		return l.quit
	default:
		return false
	}
}

// broken is a dialog that cannot be drawn.
type broken struct{}

func (broken) draw(*views.Screen)               { panic("boom") }
func (broken) key(*model, tea.KeyMsg) tea.Cmd   { return nil }
func (broken) help() string                     { return "" }
func (broken) closedBy(*model, occurrence) bool { return false }
