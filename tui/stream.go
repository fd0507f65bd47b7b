package tui

import (
	"cmp"
	"slices"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// View 7 shows the events of this console or the log of the gateway, about everything or about what was looked at before. Its rows
// are known by their keys: the number of an event, the id of a line.

// streamBindings are the keys of view 7, and those that lead to it.
func streamBindings() []binding {
	of := []views.View{views.Events}
	return []binding{
		{action: "log", keys: []string{"l"}, label: "log", help: "the log of what the row is about; in view 7 the log in place of the events", in: []views.View{views.Sessions, views.Agents, views.Processes, views.Adapters, views.Events}, do: (*model).openLog},
		{action: "logs", help: "the log of the whole gateway, in view 7", do: (*model).openLogs},
		{action: "follow", keys: []string{"f"}, label: "follow", help: "keep the newest event in sight; moving up ends it", in: of, do: (*model).turnFollowing},
		{action: "other-stream", keys: []string{"]", "["}, label: "events/log", help: "the log in place of the events, and back", in: of, do: (*model).otherStream},
	}
}

// openLog opens the page of the row that tells most of it: what a process writes, else its log.
func (m *model) openLog() tea.Cmd {
	if m.view == views.Events {
		if !m.stream.Log {
			return m.otherStream()
		}
		return nil
	}
	pages := views.Pages(m.view)
	for _, name := range []string{"output", "log"} {
		if slices.ContainsFunc(pages, func(p views.PageInfo) bool { return p.Name == name }) {
			return m.showPage(name)
		}
	}
	return nil
}

// openLogs opens view 7 on the log of the gateway.
func (m *model) openLogs() tea.Cmd {
	cmd := m.openView(views.Events)
	m.stream.About = ""
	m.showStream(true)
	return cmd
}

func (m *model) otherStream() tea.Cmd {
	m.showStream(!m.stream.Log)
	return nil
}

// showStream shows the log or the events in view 7, from the newest on.
func (m *model) showStream(log bool) {
	m.stream.Log, m.follow, m.lists[views.Events].Selected = log, true, ""
	m.filterEvents()
	m.resize()
}

// lookedAt is what the selected row is about: what view 7 shows when it is opened from here. It is empty for a view without rows.
func (m *model) lookedAt() string {
	selected := m.lists[m.view].Selected
	switch {
	case m.view == views.Inbox:
		if item := m.requested(); item != nil {
			return cmp.Or(item.Session, item.ID)
		}
		return ""
	case m.view == views.Held:
		return heldAbout(m.snapshot().Held, selected)
	case slices.Contains(ofLists, m.view):
		return selected
	}
	return ""
}

// heldAbout is by which word events and the log name the row of view 9 with a key: a server and a job by name, all else by session.
func heldAbout(rows []ops.Held, key string) string {
	h := find(rows, key, heldKey)
	switch {
	case h == nil:
		return ""
	case h.Kind == ops.HeldAgent || h.Kind == ops.HeldHook:
		return cmp.Or(h.Session, h.ID)
	}
	return h.ID
}

// openStream is the key of view 7: from a list it shows what happened to the selected row.
func (m *model) openStream() tea.Cmd {
	if m.view == views.Events {
		return nil
	}
	if about := m.lookedAt(); about != m.stream.About {
		m.stream.About, m.follow, m.lists[views.Events].Selected = about, true, ""
	}
	return m.openView(views.Events)
}

// streamed is how many rows view 7 shows.
func (m *model) streamed() int {
	if m.stream.Log {
		return len(m.shownLog)
	}
	return len(m.shownEvents)
}

// streamKey is the key of the row with an index.
func (m *model) streamKey(i int) string {
	if m.stream.Log {
		return m.shownLog[i].ID
	}
	return strconv.FormatUint(m.shownEvents[i].Seq, 10)
}

// streamText is the text of the selected row.
func (m *model) streamText() string {
	at := m.streamAt()
	switch {
	case at < 0:
		return ""
	case m.stream.Log:
		return m.shownLog[at].Text
	}
	return m.shownEvents[at].Text
}

// streamAt is the index of the selected row, -1 if there are none: the newest if it follows. Of a row that is gone it is the place.
func (m *model) streamAt() int {
	selected, n := m.lists[views.Events].Selected, m.streamed()
	switch {
	case m.follow || selected == "" || n == 0:
		return n - 1
	case m.stream.Log:
		i := slices.IndexFunc(m.shownLog, func(l ops.LogLine) bool { return l.ID == selected })
		return max(i, 0)
	}
	seq, _ := strconv.ParseUint(selected, 10, 64) // streamKey made it
	i, _ := slices.BinarySearchFunc(m.shownEvents, seq, func(e ops.Event, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	return min(i, n-1)
}

// moveStream moves the selection; going up ends the following, reaching the end begins it again.
func (m *model) moveStream(by int) {
	l, n := m.lists[views.Events], m.streamed()
	if n == 0 {
		return
	}
	page := m.page()
	if m.follow {
		l.Offset = max(n-page, 0)
	}
	at := min(max(m.streamAt()+by, 0), n-1)
	l.Selected, m.follow = m.streamKey(at), at == n-1
	l.Offset = min(max(l.Offset, at-page+1), at)
	m.rouse()
}

func (m *model) turnFollowing() tea.Cmd {
	l := m.lists[views.Events]
	m.follow = !m.follow
	l.Offset = max(m.streamed()-m.page(), 0)
	if at := m.streamed() - 1; !m.follow && at >= 0 {
		l.Selected = m.streamKey(at)
	}
	return nil
}

// eventsKept bounds the events that view 7 can show.
const eventsKept = 10_000

func (m *model) addEvents(events []ops.Event) {
	if len(m.events)+len(events) > eventsKept+eventsKept/4 {
		gone := max(len(m.events)-eventsKept/2, 0)
		m.events = append([]ops.Event(nil), m.events[gone:]...)
		if l := m.lists[views.Events]; !m.stream.Log {
			l.Offset = max(l.Offset-gone, 0)
		}
	}
	m.events = append(m.events, events...)
	if !m.link.Paused {
		m.filterEvents()
	}
}

// filterEvents makes what view 7 shows. The shutdown view shows all.
func (m *model) filterEvents() {
	l := m.lists[views.Events]
	m.shownEvents, m.shownLog = m.events, m.log.Lines
	if about := m.stream.About; m.view == views.Events && about != "" {
		m.shownEvents = slices.DeleteFunc(slices.Clone(m.events), func(e ops.Event) bool { return e.Subject != about })
	}
	l.Total = len(m.shownEvents)
	if m.stream.Log {
		l.Total = len(m.shownLog)
	}
	if m.view == views.Events && l.Filter != "" {
		m.shownEvents = views.FilterEvents(m.shownEvents, l.Filter)
		m.shownLog = views.FilterLog(m.shownLog, l.Filter)
	}
}
