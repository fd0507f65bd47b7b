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
	// pageRetry is the pause after an answer that did not come.
	pageRetry = 2 * time.Second
)

// history are the past lives as far as they have been read, newest first. A life that has ended does not change, so that only
// the first page is ever read again.
type history struct {
	views.History // as it is drawn
	lives         []ops.Life
	next          string // the cursor of what has not been read; empty: nothing
	// wanted says that the first page is to be read again: the view was entered, or a life has ended.
	wanted  bool
	retryAt time.Time
}

// page is one page of a table that was asked for. number is that of the reading: an answer to an earlier one is too late. more says
// that it follows those that were read before.
type page[T any] struct {
	ops.Page[T]
	number int
	more   bool
	at     time.Time
	err    error
}

func read[T any](m *model, task string, ask func(context.Context, ops.Query) (ops.Page[T], error), q ops.Query, number int) tea.Cmd {
	return m.tasks.cmd(task, func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
		defer cancel()
		r := page[T]{number: number, more: q.Cursor != ""}
		r.Page, r.err = ask(ctx, q)
		r.at = time.Now()
		return r
	})
}

// readHistory asks for past lives if some are wanted: the first page, or the next one when the selection nears the end of those
// that were read. It asks once at a time, and only while they are looked at and the gateway answers.
func (m *model) readHistory() tea.Cmd {
	p := &m.history
	if m.view != views.Shutdown || m.leaf() != views.StopLives && m.leaf() != views.StopReport || m.link.State != views.LinkLive || p.Asking || m.now.Before(p.retryAt) {
		return nil
	}
	q := ops.Query{Limit: lifePage}
	l := m.lists[views.Shutdown]
	switch {
	case p.wanted || p.At.IsZero():
	case p.next != "" && l.at() >= len(p.Lives)-1-max(l.page, 1):
		q.Cursor = p.next
	default:
		return nil
	}
	p.Asking, m.stale = true, true
	p.wanted = p.wanted && q.Cursor != ""
	return read(m, taskRecall, m.console.History, q, 0)
}

func (m *model) onHistoryPage(r page[ops.Life]) tea.Cmd {
	p := &m.history
	p.Asking, m.stale = false, true
	if r.err != nil {
		p.Err, p.retryAt = ops.AsError(r.err).Error(), r.at.Add(pageRetry)
		p.wanted = p.wanted || !r.more
		m.resize()
		return nil
	}
	p.Err, p.retryAt = "", time.Time{}
	if r.more {
		p.lives, p.next = append(p.lives, r.Items...), r.Next
	} else {
		p.renew(r.Page)
		p.At = r.at
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

func (m *model) showLives() {
	l, p := m.lists[views.Shutdown], &m.history
	p.Lives, p.Read, p.More = views.FilterLives(p.lives, l.Filter), len(p.lives), p.next != ""
	keys := make([]string, len(p.Lives))
	for i, life := range p.Lives {
		keys[i] = life.Life
	}
	l.set(keys, placesOf(keys), len(p.lives))
	m.resize()
}

func (m *model) turn(to views.StopPage) tea.Cmd {
	m.stopPage, m.stale = to, true
	if to != views.StopReplay && m.replay != nil {
		m.replay.Paused = true
	}
	forget := m.forgetWhatIf()
	m.resize()
	return tea.Batch(forget, m.readHistory())
}

func pageBindings() []binding {
	to := func(p views.StopPage) func(*model) tea.Cmd {
		return func(m *model) tea.Cmd { return m.turn(p) }
	}
	return append([]binding{
		{action: "lives", keys: []string{"left", "h"}, label: "lives", help: "from a report or the plan to the list of past lives", in: ofStop, pages: notReplay, disabledReason: needsPage, do: to(views.StopLives)},
		{action: "plan", keys: []string{"]"}, label: "plan", help: "what a stop would do now; left goes back to the past lives", in: ofStop, pages: notReplay, disabledReason: needsNoPlan, do: to(views.StopPlan)},
	}, whatIfBindings()...)
}

// notReplay are the pages whose keys change the page.
var notReplay = []views.StopPage{views.StopNow, views.StopLives, views.StopReport, views.StopPlan}

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

// A snapshot has the first sessions of the gateway's order alone: those that need attention, those with work, and the most
// recent idle ones. What a person scrolls to or filters for beyond them is asked for page by page.
const (
	// pageRows is how many sessions one page brings.
	pageRows = 500
	// mostRows is how many a console holds in addition to those of the snapshot; a filter finds the others.
	mostRows = 20_000
	// renewAfter is how long the pages of a filter are taken to hold.
	renewAfter = 3 * time.Second
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
	return read(m, taskPages, m.console.Sessions, q, p.number)
}

func (m *model) onPaged(r page[ops.Session]) tea.Cmd {
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
	rows := r.Items
	if p.begun {
		rows = append(p.rows[:len(p.rows):len(p.rows)], rows...)
	} else {
		p.begun, p.at = true, r.at
	}
	p.rows, p.next = rows, r.Next
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
		idle = idle || first[i].Group() == ops.GroupIdle
	}
	all := first[:len(first):len(first)]
	for i := range further {
		r := &further[i]
		if !has[r.Key] && !gone[r.Key] && !(idle && r.Group() != ops.GroupIdle) {
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
