package tui

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

const (
	// lifePage is how many lives are asked for at once: more than a screen of them, and few enough that their reports are read
	// in milliseconds.
	lifePage = 50
	// lifeRetry is the pause after an answer that did not come.
	lifeRetry = 2 * time.Second
)

// history are the past lives as far as they have been read, newest first. A life that has ended does not change, so that only
// the first page is ever read again.
type history struct {
	lives []ops.Life
	shown []ops.Life // those that the filter matches
	next  string     // the cursor of what has not been read; empty: nothing
	at    time.Time  // when the first page was read
	// wanted says that the first page is to be read again: the view was entered, or a life has ended.
	wanted  bool
	asking  bool
	err     string
	retryAt time.Time
}

// historyPage is a page of past lives.
type historyPage struct {
	page ops.Page[ops.Life]
	more bool // it follows those that were read before
	at   time.Time
	err  error
}

// readHistory asks for past lives if some are wanted: the first page, or the next one when the selection nears the end of those
// that were read. It asks once at a time, and only while they are looked at and the gateway answers.
func (m *model) readHistory() tea.Cmd {
	p := &m.history
	if m.view != views.Shutdown || m.leaf() != views.StopLives && m.leaf() != views.StopReport || m.link.State != views.LinkLive || p.asking || m.now.Before(p.retryAt) {
		return nil
	}
	q := ops.Query{Limit: lifePage}
	l := m.lists[views.Shutdown]
	switch {
	case p.wanted || p.at.IsZero():
	case p.next != "" && l.at() >= len(p.shown)-1-max(l.page, 1):
		q.Cursor = p.next
	default:
		return nil
	}
	p.asking, m.stale = true, true
	p.wanted = p.wanted && q.Cursor != ""
	return m.tasks.cmd(taskRecall, func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		r := historyPage{more: q.Cursor != ""}
		r.page, r.err = m.console.History(ctx, q)
		r.at = time.Now()
		return r
	})
}

func (m *model) onHistoryPage(r historyPage) tea.Cmd {
	p := &m.history
	p.asking, m.stale = false, true
	if r.err != nil {
		p.err, p.retryAt = ops.AsError(r.err).Error(), r.at.Add(lifeRetry)
		p.wanted = p.wanted || !r.more
		m.resize()
		return nil
	}
	p.err, p.retryAt = "", time.Time{}
	if r.more {
		p.lives, p.next = append(p.lives, r.page.Items...), r.page.Next
	} else {
		p.renew(r.page)
		p.at = r.at
	}
	m.showLives()
	return m.readHistory()
}

// renew puts the newest page before what was read of older lives, if it reaches that far.
func (p *history) renew(page ops.Page[ops.Life]) {
	lives, next := page.Items, page.Next
	if n := len(lives); next != "" && n > 0 {
		if i := slices.IndexFunc(p.lives, func(l ops.Life) bool { return l.Life == lives[n-1].Life }); i >= 0 && i+1 < len(p.lives) {
			lives, next = slices.Concat(lives, p.lives[i+1:]), p.next
		}
	}
	p.lives, p.next = lives, next
}

// showLives makes what the list shows.
func (m *model) showLives() {
	l, p := m.lists[views.Shutdown], &m.history
	p.shown = views.FilterLives(p.lives, l.Filter)
	keys, index := make([]string, len(p.shown)), make(map[string]int, len(p.shown))
	for i := range p.shown {
		keys[i] = p.shown[i].Life
		index[keys[i]] = i
	}
	l.set(keys, index, len(p.lives))
	m.resize()
}

// leaf is the open page of the shutdown view: a stop that runs comes before everything else.
func (m *model) leaf() views.StopPage {
	if m.stopping() != nil {
		return views.StopNow
	}
	return m.stopPage
}

// pageOpen says that a page lies over the list of past lives.
func (m *model) pageOpen() bool {
	return m.view == views.Shutdown && m.stopping() == nil && m.stopPage != views.StopLives
}

// turn shows another page of the shutdown view.
func (m *model) turn(to views.StopPage) tea.Cmd {
	m.stopPage, m.stale = to, true
	m.resize()
	return m.readHistory()
}

// life is the selected one of the past lives, nil for none.
func (m *model) life() *ops.Life {
	if m.view != views.Shutdown || m.leaf() == views.StopNow || m.leaf() == views.StopPlan {
		return nil
	}
	if i := m.lists[views.Shutdown].at(); i >= 0 && i < len(m.history.shown) {
		return &m.history.shown[i]
	}
	return nil
}

// showHistory puts the open page into a screen.
func (m *model) showHistory(s *views.Screen) {
	p := &m.history
	s.StopPage = m.leaf()
	switch s.StopPage {
	case views.StopLives:
		s.History = views.History{Lives: p.shown, Read: len(p.lives), More: p.next != "", At: p.at, Asking: p.asking, Err: p.err}
		return
	case views.StopReport:
		s.Stop, s.Life = nil, m.life()
		if s.Life != nil {
			s.Stop = s.Life.Shutdown
		}
	}
	s.Table.Filter = "" // there are no rows that it could have left out
}

// pageBindings are the keys of the pages of the shutdown view.
func pageBindings() []binding {
	to := func(p views.StopPage) func(*model) tea.Cmd {
		return func(m *model) tea.Cmd { return m.turn(p) }
	}
	return []binding{
		{action: "lives", keys: []string{"left", "h"}, label: "lives", help: "from a report or the plan to the list of past lives", in: ofStop, disabledReason: needsPage, do: to(views.StopLives)},
		{action: "plan", keys: []string{"]"}, label: "plan", help: "what a stop would do now; left goes back to the past lives", in: ofStop, disabledReason: needsNoPlan, do: to(views.StopPlan)},
	}
}

func needsNoRunningStop(f keyContext) string {
	if f.stop != nil {
		return "a stop runs: this is it"
	}
	return ""
}

func needsNoPlan(f keyContext) string {
	if f.page == views.StopPlan {
		return "this is the plan; left goes back to the past lives"
	}
	return needsNoRunningStop(f)
}

func needsPage(f keyContext) string {
	if f.page == views.StopLives {
		return "these are the past lives; enter opens one"
	}
	return needsNoRunningStop(f)
}

// needsLife is for the keys that lists and past lives share.
func needsLife(f keyContext) string {
	switch {
	case f.view != views.Shutdown:
		return ""
	case f.stop != nil:
		return needsNoRunningStop(f)
	case f.page != views.StopLives:
		return "left goes back to the past lives first"
	}
	return ""
}

func needsOpenLife(f keyContext) string {
	if why := needsLife(f); why != "" || f.view != views.Shutdown || f.life != nil {
		return why
	}
	return "no life is selected"
}
