package tui

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/views"
)

// View implements tea.Model: the same string as long as nothing has changed.
func (m *model) View() string {
	if !m.stale && m.frame != "" {
		return m.frame
	}
	m.stale = false
	m.frame = strings.Join(m.draw(), "\n")
	return m.frame
}

// draw is the frame. A view that panics costs its own picture.
func (m *model) draw() (lines []string) {
	defer func() {
		if r := recover(); r != nil {
			m.fail(fmt.Sprintf("the view %s: %v", m.view, r), string(debug.Stack()))
			lines = m.fallback()
		}
	}()
	return views.Draw(m.screen())
}

func (m *model) fallback() []string {
	lines := make([]string, max(m.h, 2))
	lines[0], lines[1] = "this view failed", "1 to 8 open another; q leaves; the gateway goes on"
	for i, text := range lines {
		text = ansi.Truncate(text, m.w, "")
		lines[i] = text + strings.Repeat(" ", m.w-len(text))
	}
	return lines[:m.h]
}

func (m *model) screen() views.Screen {
	l := m.lists[m.view]
	s := views.Screen{
		Opts: views.Opts{W: m.w, H: m.h, Now: m.now, Theme: m.theme, ASCII: m.opt.ASCII},
		View: m.view, Link: m.link, Snap: m.shown, Table: l.TableState,
		Detail: m.detail, Events: m.shownEvents, Follow: m.follow,
		Stop: m.stop, StopItem: m.stopItem, Plan: m.plan, Rates: m.rates, Range: m.wantedSpan(m.now),
		Message: m.message, Failed: m.bad, Hints: m.hints(), Guide: m.guide(), InboxGrew: m.now.Sub(m.inboxGrew) < calm,
	}
	if m.view == views.Shutdown {
		m.showHistory(&s)
	}
	if m.view == views.Events {
		s.Stream, s.Log = m.stream, m.log
		s.Stream.Selected, s.Log.Lines, s.Log.Err = m.streamAt(), m.shownLog, m.readings[2].err
	}
	m.showRead(&s)
	if s.Message == "" {
		s.Message = m.progress()
	}
	if s.Message == "" && m.busiest.on && m.view == views.Sessions {
		s.Message = "following the busiest session: f, or a key that moves, ends it"
	}
	if m.dialog != nil {
		m.dialog.draw(&s)
	}
	return s
}

// hints are the keys that do something here and now.
func (m *model) hints() []views.Hint {
	f := m.keyContext(false)
	var out []views.Hint
	for i := range bindings {
		b := &bindings[i]
		if b.label == "" || len(b.keys) == 0 || !b.inView(m.view) || b.works(f) != "" {
			continue
		}
		out = append(out, views.Hint{Key: cmp.Or(b.pair, keyName(b.keys[0])), Label: b.label})
	}
	return out
}

// progress is the line of what is being done, empty for nothing.
func (m *model) progress() string {
	if len(m.doing) == 0 {
		return ""
	}
	j := m.doing[len(m.doing)-1]
	text := j.what
	if d := m.now.Sub(j.since); d > 0 {
		text += fmt.Sprintf(" %.1fs", d.Seconds())
	}
	if n := len(m.doing) - 1; n > 0 {
		text += fmt.Sprintf(", and %d more", n)
	}
	return text
}
