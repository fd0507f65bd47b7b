package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

const (
	// stepWindow is how long a first ctrl+c waits for its second; stepLeast tells two presses from a held key.
	stepWindow, stepLeast = 2 * time.Second, 150 * time.Millisecond
)

// leaving asks how to leave. Leaving the screen and stopping the work are different words.
type leaving struct{ asking }

func (m *model) askLeave() tea.Cmd {
	q := &leaving{}
	q.Title, q.answers = "Leave?", []answer{{key: "n", label: "Cancel"}}
	way := func(key, label string, how How, text string, args ...any) {
		q.Text = []string{fmt.Sprintf(text, args...)}
		q.answers = append(q.answers, answer{key, label, func(m *model) tea.Cmd { return m.leave(how) }})
	}
	switch {
	case m.opt.Attached && m.link.State == views.LinkGone:
		way("y", "Leave", Detached, "The gateway is gone. This console waits for its next life as long as it is open.")
	case m.opt.Attached && m.stopping() != nil:
		q.Title = "Detach?"
		way("y", "Detach", Detached, "The stop of the gateway (pid %d) goes on without this console.", m.status.PID)
	case m.opt.Attached:
		q.Title = "Detach?"
		way("y", "Detach", Detached, "The gateway (pid %d) keeps running; gatewaytui attach comes back to it.", m.status.PID)
	case m.status.State == ops.StateStopping:
		way("y", "Leave", StopAsked, "The stop goes on without a console; its lines follow in this terminal.")
	default:
		if !m.opt.ReadOnly {
			q.answers = append(q.answers, answer{"s", "Stop the gateway", func(m *model) tea.Cmd {
				m.dialog = nil
				return m.invoke(named("stop"))
			}})
			q.Note = "ctrl+c again stops the gateway gracefully"
		}
		way("k", "Keep it running", LeftRunning, "The gateway runs in this terminal. Stop it, or keep it running: this terminal then shows its log, and gatewaytui attach opens a console again.")
	}
	m.dialog, m.stale, m.message = q, true, ""
	return q.arm(m)
}

func (q *leaving) key(m *model, k tea.KeyMsg) tea.Cmd   { return q.press(m, k, q.armed) }
func (q *leaving) draw(s *views.Screen)                 { s.Over = q.box(q.armed) }
func (q *leaving) closedBy(_ *model, e occurrence) bool { return e == stopBegan || e == lifeBegan }

// onInterrupt is ctrl+c. It opens the leave dialog, and in the leave dialog of an embedded console it stops the gateway
// gracefully: who presses it again and again gets what a shell would do (TF36). In a stop, two presses make it one step
// stronger. An attached console is left by a second press, and by the first where the gateway is gone. It waits for nothing.
func (m *model) onInterrupt() tea.Cmd {
	now := time.Now()
	since := now.Sub(m.rungAt)
	_, asked := m.dialog.(*leaving)
	stops := asked && !m.opt.Attached && !m.opt.ReadOnly && m.status.State != ops.StateStopping
	if m.rung > 0 && since < stepLeast && !stops {
		m.rungAt = now
		return nil // a key that is held
	}
	second := m.rung > 0 && since <= stepWindow
	m.rungAt = now
	if stops {
		m.rung = 0
		return m.stopGracefully()
	}
	return m.interrupted(asked, second)
}

// interrupted is what a press of ctrl+c does: asked says that the leave dialog is open, and second that it is a second
// press within stepWindow.
func (m *model) interrupted(asked, second bool) tea.Cmd {
	switch {
	case m.does(ops.VerbStop): // it was asked for a moment ago; the report comes
		return nil
	case m.opt.Attached && m.link.State == views.LinkGone: // nothing is there that leaving could touch
		return m.leave(Detached)
	case asked && second && m.opt.Attached:
		return m.leave(Detached)
	case m.dialog != nil && !asked: // not a step of the ladder: the next press says first what it would do
		m.rung = 0
		return m.dismiss()
	case m.stopping() != nil && !m.opt.ReadOnly && m.link.State == views.LinkLive:
		return m.escalate(second)
	case asked:
		m.rung = 1
		return nil
	}
	m.rung = 1
	return m.askLeave()
}

// stopGracefully gives the stop that the leave dialog offers, by the same rules as the key of the stop.
func (m *model) stopGracefully() tea.Cmd {
	m.dialog = nil
	b, f := named("stop"), m.keyContext(true)
	if why := b.works(f); why != "" {
		m.deny(why + ". Nothing was done.")
		return nil
	}
	cmd := b.target(f)
	cmd.Mode, cmd.Reason = ops.ModeGraceful, "ctrl+c in the console"
	return m.send([]ops.Command{cmd})
}

// does reports whether a command of this verb was given and has not been answered.
func (m *model) does(verb ops.Verb) bool {
	return slices.ContainsFunc(m.doing, func(j *job) bool { return j.verb == verb })
}

// rungs are the steps of a stop by its mode: what the next two presses do.
var rungs = map[ops.Mode]struct {
	next ops.Mode
	what string
}{
	ops.ModeGraceful: {ops.ModeFast, "interrupts the running turns"},
	ops.ModeFast:     {ops.ModeImmediate, "kills the processes and closes the stores"},
}

// escalate makes a running stop stronger: the first press says what the second does.
func (m *model) escalate(second bool) tea.Cmd {
	mode := m.stopping().Mode
	step, ok := rungs[mode]
	if !second {
		m.rung = 1
		what := step.what
		if !ok {
			what = "asks to force the stop"
		}
		m.say("ctrl+c once more " + what + "; stores and lock are never skipped")
		return nil
	}
	m.rung = 0
	if !ok {
		return m.invoke(named("force"))
	}
	return m.send([]ops.Command{{Verb: ops.VerbStop, Mode: step.next, Reason: "ctrl+c in the console"}})
}

// escape goes one level up: page, filter, detail, the view that a stop opened. It never leaves the program.
func (m *model) escape() tea.Cmd {
	switch {
	case m.pageOpen():
		return m.turn(m.below())
	case m.closeDetail():
	case m.lists[m.view].Filter != "":
		return m.setFilter("")
	case m.view == views.Events && m.stream.About != "":
		m.stream.About = ""
		m.filterEvents()
	case len(m.lists[m.view].Marked) > 0:
		clear(m.lists[m.view].Marked)
	case m.view == views.Shutdown:
		return m.openView(m.back)
	}
	return nil
}

// goBack is q: one level up, and from the top the question how to leave.
func (m *model) goBack() tea.Cmd {
	switch {
	case m.pageOpen():
		return m.turn(m.below())
	case m.closeDetail():
		return nil
	case m.view != views.Overview:
		to := views.Overview
		if m.view == views.Shutdown && m.back != views.Shutdown {
			to = m.back
		}
		return m.openView(to)
	}
	return m.askLeave()
}

func (m *model) leave(how How) tea.Cmd {
	m.exit = Exit{How: how, Final: m.witnessed()}
	if how == GatewayEnded {
		m.dialog = nil
		for _, line := range m.draw() {
			m.exit.Screen = append(m.exit.Screen, strings.TrimRight(ansi.Strip(line), " "))
		}
	}
	return tea.Quit
}
