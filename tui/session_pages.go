package tui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// A snapshot has the first sessions of the gateway's order alone: those that need attention, those with work, and the most
// recent idle ones. What a person scrolls to or filters for beyond them is asked for page by page.
const (
	// pageRows is how many sessions one page brings.
	pageRows = 500
	// mostRows is how many a console holds in addition to those of the snapshot; a filter finds the others.
	mostRows = 20_000
	// renewAfter is how long the pages of a filter are taken to hold.
	renewAfter = 3 * time.Second
	// pageRetry is the pause after an answer that did not come.
	pageRetry = 2 * time.Second
)

// sessionPages are the sessions that were read beyond the snapshot.
type sessionPages struct {
	filter string
	rows   []ops.Session // never changed, only replaced
	next   string        // the cursor of the next page
	begun  bool
	asking bool
	at     time.Time // when the first page came
	retry  time.Time
	number int // of the reading: an answer to an earlier one is too late
}

// paged is one page of sessions.
type paged struct {
	number int
	page   ops.Page[ops.Session]
	at     time.Time
	err    error
}

// partial says that the gateway has more sessions than the snapshot.
func (m *model) partial() bool {
	return m.snap != nil && m.snap.Omitted != nil && m.snap.Omitted.Sessions > 0
}

// readMore asks for the next page of sessions if one is wanted: the selection nears the end of those that are there, or a
// filter looks for some that the snapshot does not have. It asks once at a time.
func (m *model) readMore() tea.Cmd {
	p, l := &m.more, m.lists[views.Sessions]
	if m.view != views.Sessions || !m.partial() || m.link.State != views.LinkLive || m.link.Paused || p.asking || m.now.Before(p.retry) {
		return nil
	}
	if p.filter != l.Filter || p.begun && l.Filter != "" && m.now.Sub(p.at) > renewAfter && l.at() < pageRows {
		*p = sessionPages{filter: l.Filter, rows: p.rows, number: p.number + 1}
	}
	near := l.at() >= len(l.keys)-1-2*max(l.page, 1)
	q := ops.Query{Limit: pageRows, Filter: p.filter, Cursor: p.next}
	switch {
	case !p.begun && p.filter != "":
	case !p.begun && near:
		q.Cursor = m.snap.Omitted.Next
	case p.begun && near && p.next != "" && len(p.rows) < mostRows:
	default:
		return nil
	}
	p.asking = true
	number := p.number
	return m.tasks.cmd(taskPages, func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		page, err := m.console.Sessions(ctx, q)
		return paged{number, page, time.Now(), err}
	})
}

func (m *model) onPaged(r paged) tea.Cmd {
	p := &m.more
	p.asking = false
	switch {
	case r.number != p.number:
		return m.readMore()
	case ops.HasCode(r.err, ops.CodeInvalid): // the filter: the view says what is wrong with it
		p.begun, p.next, p.at = true, "", r.at
		return nil
	case r.err != nil:
		p.retry = r.at.Add(pageRetry)
		return nil
	}
	rows := r.page.Items
	if p.begun {
		rows = append(p.rows[:len(p.rows):len(p.rows)], rows...)
	} else {
		p.begun, p.at = true, r.at
	}
	p.rows, p.next = rows, r.page.Next
	if m.snap != nil {
		snap := *m.snap
		snap.Sessions = withMore(snap.Sessions, p.rows, nil)
		m.snap = &snap
	}
	return tea.Batch(m.reorder(), m.readMore())
}

// withMore is the sessions of a snapshot and, behind them, those of further that it does not have, without those in gone.
// A snapshot that reaches the idle sessions has all others: what further tells of their work is over.
func withMore(first, further []ops.Session, gone map[string]bool) []ops.Session {
	if len(further) == 0 {
		return first
	}
	has := make(map[string]bool, len(first))
	idle := false
	for i := range first {
		has[first[i].Key] = true
		idle = idle || first[i].State.Group() == ops.GroupIdle
	}
	all := first[:len(first):len(first)]
	for i := range further {
		r := &further[i]
		if !has[r.Key] && !gone[r.Key] && !(idle && r.State.Group() != ops.GroupIdle) {
			has[r.Key] = true
			all = append(all, *r)
		}
	}
	return all
}

// held are the sessions whose rows the console needs as they are now, wherever they stand in the order: what a dialog is
// about, and the selected row.
func (m *model) held() []string {
	var keys []string
	if q := m.question(); q != nil {
		for _, c := range q.cmds {
			keys = append(keys, c.Target)
		}
	}
	if m.view == views.Sessions || m.view == views.Agents {
		keys = append(keys, m.lists[m.view].Selected)
	}
	return keys
}

// hold adds to a snapshot that leaves sessions out those that were read beyond it, and the held ones as they are now.
func (w *fetchRequest) hold(ctx context.Context, c ops.Console, s *ops.Snapshot) {
	if s.Omitted == nil || s.Omitted.Sessions == 0 {
		return
	}
	const most = 20 // marks of a whole screen
	var now []ops.Session
	gone := map[string]bool{}
	for _, key := range w.held[:min(len(w.held), most)] {
		if key == "" || gone[key] || find(s.Sessions, key, sessionKey) != nil || find(now, key, sessionKey) != nil {
			continue
		}
		page, err := c.Sessions(ctx, ops.Query{Key: key})
		if err != nil {
			continue // it stays as it was read
		}
		now = append(now, page.Items...)
		gone[key] = len(page.Items) == 0
	}
	first := append(s.Sessions[:len(s.Sessions):len(s.Sessions)], now...)
	s.Sessions = withMore(first, w.more, gone)
}
