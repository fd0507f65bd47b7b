package tui

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// busiest follows the session with the most work: the selection goes with it, until a key moves the selection.
type busiest struct {
	on bool
	// since is since when the selected session has had no turn; zero: it has one.
	since time.Time
}

// busyRests is how long the selection stays on a session whose turn is over: its answer can be read, and it may go on.
const busyRests = 4 * time.Second

// followSession keeps the newest message in sight; where it is already, it turns the following of the busiest session on or off.
func (m *model) followSession() tea.Cmd {
	if page := m.openPage(); page.Ends && len(views.InSight(m.bare())) > 0 && !m.detail.End {
		m.detail.End = true
		m.rouse()
		return nil
	}
	if m.view != views.Sessions {
		return nil
	}
	m.busiest = busiest{on: !m.busiest.on}
	if key := mostWork(m.shown.Sessions); m.busiest.on && key != "" {
		m.selectSession(key)
	}
	return nil
}

// followBusiest goes to the session with the most work once the selected one has had no turn for busyRests.
func (m *model) followBusiest() {
	b := &m.busiest
	if !b.on || m.view != views.Sessions {
		return
	}
	row := find(m.shown.Sessions, m.lists[views.Sessions].Selected, sessionKey)
	switch {
	case row != nil && row.Turn != "":
		b.since = time.Time{}
		return
	case b.since.IsZero():
		b.since = m.now
	}
	if key := mostWork(m.shown.Sessions); key != "" && (row == nil || m.now.Sub(b.since) >= busyRests) {
		m.selectSession(key)
	}
}

func (m *model) selectSession(key string) {
	l := m.lists[views.Sessions]
	l.Selected, m.stale = key, true
	l.clamp()
}

// mostWork is the key of the session whose running turn has made the most model calls, of equal ones the one that has run the
// longest; empty: no turn runs.
func mostWork(rows []ops.Session) string {
	best := -1
	for i := range rows {
		r := &rows[i]
		if r.Turn == "" {
			continue
		}
		if best < 0 || r.Calls > rows[best].Calls || r.Calls == rows[best].Calls && r.TurnStartedAt.Before(rows[best].TurnStartedAt.Time) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return rows[best].Key
}

// movesOf are the actions of the keys that move the selection, and end the following.
var movesOf = []string{"down", "up", "top", "bottom", "half-down", "half-up", "page-down", "page-up", "next-match", "previous-match"}

// endFollowing is for a key that moves the selection.
func (m *model) endFollowing(action string) {
	if m.busiest.on && m.view == views.Sessions && !m.detail.Open && slices.Contains(movesOf, action) {
		m.busiest = busiest{}
	}
}
