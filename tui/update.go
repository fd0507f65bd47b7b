package tui

import (
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	m.tasks.run(m.feed.run)
	var mouse tea.Cmd
	if m.mouse {
		mouse = tea.EnableMouseCellMotion
	}
	return tea.Batch(mouse, m.startFetch(fetchRequest{full: true, plan: true, rates: m.ratesDue(m.now), order: m.order()}), m.tick(), m.await(0))
}

// Update implements tea.Model. It does no I/O and waits for nothing: what takes time is a command.
func (m *model) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = m
	defer func() {
		if r := recover(); r != nil {
			m.fail(fmt.Sprintf("%T: %v", msg, r), string(debug.Stack()))
		}
		if m.failure != nil {
			cmd = tea.Quit
		}
	}()
	return m, tea.Batch(m.handle(msg), m.readPages(), m.readUsage())
}

// arrival is an answer that changes the model and asks for nothing more.
type arrival interface{ arrive(m *model) }

func (m *model) handle(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		m.stale, m.keyAt = true, time.Now()
		return tea.Batch(m.onKeys(msg), m.keep())
	case tea.MouseMsg:
		return tea.Batch(m.onMouse(msg), m.keep())
	case wheeled:
		return m.onWheeled()
	case tea.WindowSizeMsg:
		m.w, m.h = max(msg.Width, 1), max(msg.Height, 1)
		m.resize()
		m.stale = true
		return nil
	case tick:
		return m.onTick()
	case fetched:
		return m.onFetched(msg)
	case ordered:
		return m.show(msg)
	case batch:
		return m.onBatch(msg)
	case page[ops.Session]:
		return m.onPaged(msg)
	case page[ops.Life]:
		return m.onHistoryPage(msg)
	case recorded:
		return m.onRecorded(msg)
	case previewed:
		return m.onPreviewed(msg)
	case armed:
		m.onArmed(msg)
	case arrival:
		msg.arrive(m)
	case done:
		return m.onDone(msg)
	case pageRead:
		m.onPageRead(msg)
	case replayStep:
		return m.onReplayStep(msg)
	case remembered:
		return m.onRemembered(msg)
	case failed:
		return m.onFailed(msg)
	}
	return nil
}

// onFailed begins again what must not stop.
func (m *model) onFailed(f failed) tea.Cmd {
	m.fail(f.what, f.stack)
	m.doing = slices.DeleteFunc(m.doing, func(j *job) bool { return j.what == f.task })
	switch f.task {
	case taskLook:
		m.looking = false
	case taskPages:
		m.more.asking = false
	case taskRecall:
		m.history.Asking = false
	case taskRead:
		m.restartReadings()
	case taskUsage:
		m.restartUsage()
	case taskWheel:
		m.wheel = 0
	case taskKeep:
		m.keeping = false
	case taskTick:
		return m.tick()
	case taskFeed:
		return m.await(calm)
	}
	return nil
}

func (m *model) onDone(d done) tea.Cmd {
	m.doing = slices.DeleteFunc(m.doing, func(j *job) bool { return j.number == d.number })
	m.message, m.bad, m.stale = d.text, d.bad, true
	m.tried.note(d)
	if d.copied != "" {
		m.copied = d.copied
	}
	if !d.bad && endsGateway(d.verb) && m.view != views.Shutdown && !m.opened {
		m.opened, m.dirty = true, true
		return m.openView(views.Shutdown)
	}
	m.dirty = true
	return m.maybeFetch(false)
}

// onKeys takes apart what arrived together: Bubble Tea makes one message of the runes of one read, as a slow line brings
// them. That nothing is confirmed in one go is the questions' own care: they are not armed yet.
func (m *model) onKeys(k tea.KeyMsg) tea.Cmd {
	if k.Type != tea.KeyRunes || k.Paste || len(k.Runes) < 2 {
		return m.onKey(k)
	}
	var cmds []tea.Cmd
	for _, r := range k.Runes {
		one := k
		if one.Runes = []rune{r}; r == ' ' {
			one.Type = tea.KeySpace
		}
		cmds = append(cmds, m.onKey(one))
	}
	return tea.Batch(cmds...)
}

// onKey gives a key to the open dialog, else to the view.
func (m *model) onKey(k tea.KeyMsg) tea.Cmd {
	key := k.String()
	switch {
	case k.Paste && m.dialog != nil:
		return m.dialog.key(m, k)
	case k.Paste:
		m.deny("a paste is not taken for keys")
		return nil
	case key == "ctrl+c":
		return m.onInterrupt()
	}
	m.rung = 0
	if now := time.Now(); now.Before(m.deafUntil) {
		m.deafUntil = now.Add(armAfter)
		return nil
	}
	if m.dialog != nil {
		return m.dialog.key(m, k)
	}
	m.message = ""
	b := bindingFor(key, m.view, m.leaf())
	if b == nil {
		if other := elsewhere(key); other != nil {
			m.deny(fmt.Sprintf("%s (%s) works in the %s view", keyName(key), other.action, other.in[0]))
		}
		return nil
	}
	return m.invoke(b)
}

func (m *model) onRecorded(r recorded) tea.Cmd {
	switch {
	case r.final:
		if r.stop != nil {
			m.stop = r.stop
		}
		m.view, m.stopPage, m.dialog = views.Shutdown, views.StopNow, nil
		return m.leave(GatewayEnded)
	case r.stop != nil && r.stop.Life == m.status.Life && !r.stop.EndedAt.IsZero():
		m.stop, m.saw, m.ended, m.stale = r.stop, r.stop.ID, true, true // the view stays, because no view of this stop was open
	}
	return nil
}
