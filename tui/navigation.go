package tui

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// navigationBindings are the keys that change nothing but the picture.
func navigationBindings() []binding {
	out := []binding{
		{action: "open", keys: []string{"enter"}, label: "open", help: "open the row's details, a past life's report; from an event or the overview, its row", in: ofMoves, disabledReason: needsOpenLife, do: (*model).enter},
		{action: "respond", keys: []string{"i"}, label: "answer", help: "answer the request that the row is or has", in: []views.View{views.Inbox, views.Sessions, views.Overview}, do: (*model).respond},
		{action: "filter", keys: []string{"/"}, label: "filter", help: "show what matches: word, ~fuzzy, !not, column:word, \"two words\"", in: ofRows, disabledReason: needsLife, do: (*model).startFilter},
		{action: "next-match", keys: []string{"n"}, help: "next row that the last filter matched", in: ofLists, do: func(m *model) tea.Cmd { return m.nextMatch(1) }},
		{action: "previous-match", keys: []string{"N"}, help: "previous row that the last filter matched", in: ofLists, do: func(m *model) tea.Cmd { return m.nextMatch(-1) }},
		{action: "sort", keys: []string{"o"}, label: "sort", help: "sort by the next column", in: ofLists, do: (*model).nextSort},
		{action: "reverse", keys: []string{"O"}, help: "reverse the order", in: ofLists, do: (*model).reverse},
		{action: "mark", keys: []string{" "}, label: "mark", help: "mark the row; R, E, I and X act on all marked ones", in: ofLists, do: func(m *model) tea.Cmd {
			m.lists[m.view].mark()
			m.lists[m.view].move(1)
			return nil
		}},
		{action: "write", keys: []string{"w"}, label: "write", help: "write a message into the session; its answer comes in the page talk", in: ofSessions, disabledReason: needsWriter, do: (*model).startWriting},
		{action: "follow-busiest", keys: []string{"f"}, help: "keep the newest message in sight, or let the selection follow the busiest session; a key that moves ends it", in: []views.View{views.Sessions, views.Processes}, do: (*model).followSession},

		{action: "down", keys: []string{"j", "down"}, help: "down", in: ofMoves, do: func(m *model) tea.Cmd { return m.move(1) }},
		{action: "up", keys: []string{"k", "up"}, help: "up", in: ofMoves, do: func(m *model) tea.Cmd { return m.move(-1) }},
		{action: "top", keys: []string{"g", "home"}, help: "to the first row", in: ofMoves, do: func(m *model) tea.Cmd { return m.move(-1 << 30) }},
		{action: "bottom", keys: []string{"G", "end"}, help: "to the last row", in: ofMoves, do: func(m *model) tea.Cmd { return m.move(1 << 30) }},
		{action: "half-down", keys: []string{"ctrl+d"}, help: "half a page down", in: ofMoves, do: func(m *model) tea.Cmd { return m.move(max(m.page()/2, 1)) }},
		{action: "half-up", keys: []string{"ctrl+u"}, help: "half a page up", in: ofMoves, do: func(m *model) tea.Cmd { return m.move(-max(m.page()/2, 1)) }},
		{action: "page-down", keys: []string{"pgdown"}, help: "a page down", in: ofMoves, do: func(m *model) tea.Cmd { return m.move(m.page()) }},
		{action: "page-up", keys: []string{"pgup"}, help: "a page up", in: ofMoves, do: func(m *model) tea.Cmd { return m.move(-m.page()) }},
	}
	for _, v := range views.Views {
		b := binding{action: v.String(), keys: []string{strconv.Itoa(int(v))}, help: v.String(), do: func(m *model) tea.Cmd { return m.openView(v) }}
		if v == views.Events {
			b.help, b.do = "events: what happened, from a list to the selected row", (*model).openStream
		}
		out = append(out, b)
	}
	return append(out, []binding{
		{action: "next-view", keys: []string{"tab"}, help: "next view", do: func(m *model) tea.Cmd { return m.openView(m.view%views.Held + 1) }},
		{action: "previous-view", keys: []string{"shift+tab"}, help: "previous view", do: func(m *model) tea.Cmd { return m.openView((m.view+views.Held-2)%views.Held + 1) }},
		{action: "up-one-level", keys: []string{"esc"}, help: "one level up: dialog, filter, marks, details; never leaves", do: (*model).escape},
		{action: "back", keys: []string{"q"}, help: "back; at the top, ask how to leave", do: (*model).goBack},
		{action: "leave", help: "ask how to leave (ctrl+c); ctrl+c again stops a gateway of this terminal; in a stop, two presses make the stop stronger", do: (*model).askLeave},
		{action: "pause", keys: []string{"p"}, help: "freeze the picture, not the gateway", do: (*model).pauseView},
		{action: "refresh", keys: []string{"r"}, help: "look at the gateway now", do: func(m *model) tea.Cmd {
			m.wanted, m.history.wanted, m.history.retryAt = true, true, time.Time{}
			m.more = sessionPages{number: m.more.number + 1}
			m.link.NextTry = m.now
			return tea.Batch(m.maybeFetch(true), m.readHistory())
		}},
		{action: "redraw", keys: []string{"ctrl+l"}, help: "paint the whole screen again", do: func(*model) tea.Cmd { return tea.ClearScreen }},
		{action: "copy", keys: []string{"y"}, help: "copy the row's name, or the path of the diagnosis", do: (*model).copyID},
		{action: "copy-row", keys: []string{"Y"}, help: "copy the row as JSON, in view 6 the whole report or past life", do: (*model).copyRow},
		{action: "command", keys: []string{":"}, label: "command", help: "do anything by its name, with completion", do: func(m *model) tea.Cmd { return m.openPalette("") }},
		{action: "help", keys: []string{"?"}, label: "help", help: "all keys", do: (*model).openHelp},
	}...)
}

func (m *model) openView(v views.View) tea.Cmd {
	if v == m.view {
		return nil
	}
	m.back, m.view = m.view, v
	m.feed.show(m.showsEvents())
	m.detail = views.Detail{Page: m.lists[v].open}
	m.happened(viewOpened)
	forget := m.forgetWhatIf()
	if v == views.Shutdown {
		m.history.wanted = true
		m.stopPage = views.StopLives
		if s := m.witnessed(); s != nil && s.Life == m.status.Life {
			m.stopPage = views.StopNow
		}
	}
	m.filterEvents()
	m.resize()
	cmd := m.reorder()
	return tea.Batch(cmd, forget, m.maybeFetch(true), m.readHistory())
}

// page is how many lines a key moves by that moves by a page.
func (m *model) page() int {
	if m.detail.Open {
		_, shows := views.PageLines(m.bare())
		return max(shows-1, 1)
	}
	return max(m.lists[m.view].page, 1)
}

// move goes up or down: through the open detail, through rows or past lives, through what a stop waits for, or through events.
func (m *model) move(by int) tea.Cmd {
	l := m.lists[m.view]
	if m.detail.Open {
		return m.scrollDetail(by)
	}
	switch m.view {
	case views.Shutdown:
		switch m.leaf() {
		case views.StopLives, views.StopReport:
			l.move(by)
			return m.readHistory()
		case views.StopPlan:
			m.whatIf.at = min(max(m.whatIf.at+by, 0), len(m.assumable())-1)
			return nil
		case views.StopReplay:
			return nil
		}
		s := m.bare()
		items := views.StopItems(s)
		if len(items) == 0 {
			return nil
		}
		_, at := views.StopItem(s)
		m.stopItem = items[min(max(slices.Index(items, at)+by, 0), len(items)-1)]
	case views.Events:
		m.moveStream(by)
	case views.Overview:
		m.moveOverview(by)
	default:
		l.move(by)
		return m.readMore()
	}
	return nil
}

func (m *model) nextSort() tea.Cmd {
	l := m.lists[m.view]
	columns := views.SortColumns(m.view)
	if len(columns) == 0 {
		return nil
	}
	by := cmp.Or(l.Sort, views.DefaultSort(m.view))
	l.Sort, l.Reverse = columns[(slices.Index(columns, by)+1)%len(columns)], false
	return m.reorder()
}

func (m *model) reverse() tea.Cmd {
	m.lists[m.view].Reverse = !m.lists[m.view].Reverse
	return m.reorder()
}

// enter opens the details of a row, or the row of an event or of the overview.
func (m *model) enter() tea.Cmd {
	switch m.view {
	case views.Shutdown:
		return m.turn(views.StopReport)
	case views.Overview:
		row := m.overviewRow()
		if row.View == 0 {
			m.say(row.Text)
			return nil
		}
		if row.Turn != "" {
			return m.openTurn(row.Key, row.Turn)
		}
		return m.jump(row.View, row.Key)
	case views.Events:
		return m.openEvent()
	case views.Inbox:
		if item := m.requested(); item != nil && item.State == ops.InboxWaiting && !m.opt.ReadOnly {
			return m.respond()
		}
	}
	m.detail.Open = !m.detail.Open
	m.resize()
	return nil
}

// openEvent opens the detail of an event where it is not in sight, else the row that the event is about.
func (m *model) openEvent() tea.Cmd {
	at := m.streamAt()
	switch {
	case at < 0 || m.snap == nil:
		return nil
	case len(views.InSight(m.bare())) == 0 && !m.detail.Open:
		m.detail.Open = true
		m.resize()
		return nil
	case m.stream.Log:
		return m.openLogged(&m.shownLog[at])
	}
	subject := m.shownEvents[at].Subject
	if turn := turnOf(m.shownEvents[at]); turn != "" && slices.Contains(views.Keys(m.snap, views.Sessions), subject) {
		return m.openTurn(subject, turn)
	}
	for _, v := range ofLists {
		if subject != "" && slices.Contains(views.Keys(m.snap, v), subject) {
			return m.jump(v, subject)
		}
	}
	if h := heldCalled(m.snap.Held, subject); h != nil {
		return m.jump(views.Held, views.HeldKey(*h))
	}
	m.deny("no row is called " + subject + " any more")
	return nil
}

// heldCalled is the first server or job with a name, nil if there is none: an event names it without its session.
func heldCalled(rows []ops.Held, name string) *ops.Held {
	return find(rows, name, func(h ops.Held) string { return h.ID })
}

// openLogged opens the row that a line of the log is about.
func (m *model) openLogged(line *ops.LogLine) tea.Cmd {
	for _, v := range ofLists {
		keys := views.Keys(m.snap, v)
		for _, f := range line.Fields {
			if f.Value != "" && slices.Contains(keys, f.Value) {
				return m.jump(v, f.Value)
			}
		}
	}
	m.deny("nothing that this line is about is listed")
	return nil
}

// jump opens v on the row with that key and clears a filter that hides the row; an empty key opens v as it is.
func (m *model) jump(v views.View, key string) tea.Cmd {
	if key != "" {
		m.lists[v].Selected, m.lists[v].Filter = key, ""
	}
	return m.openView(v)
}

func (m *model) pauseView() tea.Cmd {
	m.link.Paused, m.link.Behind = !m.link.Paused, 0
	if m.link.Paused {
		return nil
	}
	m.filterEvents()
	m.link.At = m.seenAt
	return m.reorder()
}
