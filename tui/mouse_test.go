package tui

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/views"
)

// points does something with the mouse at the first place where the screen shows text.
func (b *bench) points(button tea.MouseButton, text string) {
	b.t.Helper()
	for y, line := range strings.Split(b.m.View(), "\n") {
		if i := strings.Index(line, text); i >= 0 {
			x := len([]rune(line[:i]))
			b.send(tea.MouseMsg{X: x, Y: y, Button: button, Action: tea.MouseActionPress})
			return
		}
	}
	b.t.Fatalf("the screen does not show %q:\n%s", text, b.m.View())
}

func (b *bench) line(text string) {
	b.keys(":")
	b.keys(strings.Split(text, "")...)
	b.keys("enter")
}

func TestTF37_TheMouseIsOffUntilItIsTurnedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, last := remembering(t, Habits{})
		if b.points(tea.MouseButtonLeft, "2 sess"); b.m.view != views.Overview {
			t.Fatal("a click did something")
		}
		b.send(tea.WindowSizeMsg{Width: 140, Height: 40})
		if b.line("mouse on"); !last().Mouse {
			t.Error("the mouse is not remembered")
		}
		for _, v := range slices.Backward(views.Views) {
			if b.keys("7"); v == views.Events {
				b.keys("2")
			}
			if b.points(tea.MouseButtonLeft, strconv.Itoa(int(v))+" "+v.String()); b.m.view != v {
				t.Errorf("a click on the tab of %s opened %s", v, b.m.view)
			}
		}
		if b.line("mouse off"); last().Mouse {
			t.Error("it is still on")
		}
	})
}

func TestTF37_AClickSelectsARowAndTheWheelMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := remembering(t, Habits{Mouse: true, View: "sessions"})
		l := b.m.lists[views.Sessions]
		b.points(tea.MouseButtonLeft, l.keys[2])
		if l.Selected != l.keys[2] {
			t.Errorf("a click on %s selected %s", l.keys[2], l.Selected)
		}
		b.keys("g")
		for range 2 {
			b.points(tea.MouseButtonWheelDown, l.keys[0])
		}
		if at, want := l.at(), min(2*scrollStep, len(l.keys)-1); at != want {
			t.Errorf("two turns of the wheel lead to row %d, promised %d", at, want)
		}
	})
}

func TestTF37_AKeyIsFoundInTheHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := remembering(t, Habits{})
		b.keys("?", "/")
		b.keys(strings.Split("EVICT", "")...)
		b.keys("enter")
		labels := ""
		for _, s := range b.m.dialog.(*helpPage).Sections {
			for _, k := range s.Keys {
				labels += k.Label + "\n"
			}
		}
		if !strings.Contains(labels, "drop a session's cached agent") && !strings.Contains(strings.ToLower(labels), "evict") || strings.Contains(labels, "sort") {
			t.Errorf("found are:\n%s", labels)
		}
		if b.keys("esc"); b.m.dialog == nil || len(b.m.dialog.(*helpPage).Sections) < 3 {
			t.Error("esc does not show all keys")
		}
		if b.keys("esc"); b.m.dialog != nil {
			t.Error("a second esc does not close the page")
		}
	})
}

func TestTF37_AThemeIsSeenBeforeItIsChosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, last := remembering(t, Habits{})
		before := b.m.theme
		b.keys(strings.Split(":theme mon", "")...)
		p := b.m.dialog.(*palette)
		if p.preview == nil || b.m.theme != before {
			t.Error("the theme is not shown, or set already")
		}
		if b.keys("esc"); b.m.theme != before || last().Theme != "" {
			t.Error("esc sets the theme")
		}
	})
}
