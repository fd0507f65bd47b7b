package tui

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// order is how the rows of the open view are wanted. Its number tells results that came too late.
type order struct {
	number int
	view   views.View
	table  views.TableState
}

// ordered are the rows of one view as they are shown.
type ordered struct {
	number int
	snap   ops.Snapshot
	keys   []string
	index  map[string]int
	total  int
	// fresh is false where the rows kept their places.
	fresh bool
}

// restTime is how long rows keep the order that they have on the screen, so that a list can be read while what it shows
// changes many times a second. What needs attention moves up at once, unless a person has pressed a key in this time: then no
// row moves, so that the next key finds its row where it was seen.
const restTime = 5 * time.Second

func (m *model) order() order {
	l := m.lists[m.view]
	o := order{number: m.orders, view: m.view, table: views.TableState{Sort: l.Sort, Reverse: l.Reverse, Filter: l.Filter}}
	o.table.Still = time.Since(m.keyAt) < restTime
	if m.shownOrder == m.orders && !m.wanted && (o.table.Still || time.Since(l.placedAt) < restTime) {
		o.table.Places = l.index // never changed, only replaced
	}
	return o
}

// settle makes the order afresh that was kept, when no key was pressed and no order made for a time.
func (m *model) settle() tea.Cmd {
	l := m.lists[m.view]
	if !l.kept || m.link.Paused || time.Since(m.keyAt) < restTime || time.Since(l.placedAt) < restTime {
		return nil
	}
	return m.reorder()
}

// apply filters and sorts. Ten thousand rows take milliseconds, so it runs outside of the loop.
func (o order) apply(snap *ops.Snapshot) ordered {
	r := ordered{number: o.number, snap: views.Order(*snap, o.view, o.table), total: views.Rows(snap, o.view), fresh: o.table.Places == nil}
	if o.view == views.Sessions && snap.Omitted != nil {
		r.total = max(snap.Counts.Sessions, r.total)
	}
	r.keys = views.Keys(&r.snap, o.view)
	r.index = placesOf(r.keys)
	return r
}

// fewRows are ordered at once, in microseconds, so that the next key of a burst finds its row.
const fewRows = 256

// reorder makes the rows of the open view again, of the snapshot that is there: another view, another sort, another filter.
func (m *model) reorder() tea.Cmd {
	m.orders++
	m.stale = true
	if m.snap == nil {
		return nil
	}
	o, snap := m.order(), m.snap
	if views.Rows(snap, m.view) <= fewRows {
		return m.show(o.apply(snap))
	}
	return m.tasks.cmd("order the rows", func(context.Context) tea.Msg { return o.apply(snap) })
}

// show accepts ordered rows, unless their order is out of date or the picture is frozen.
func (m *model) show(r ordered) tea.Cmd {
	if r.number != m.orders {
		return m.reorder()
	}
	if m.link.Paused && m.shownOrder == r.number {
		return nil
	}
	if m.shownOrder == r.number && r.snap.At.Before(m.shown.At.Time) {
		return nil // what is shown is newer already
	}
	m.shown, m.shownOrder = r.snap, r.number
	m.settleOverview()
	if slices.Contains(ofLists, m.view) { // a snapshot does not have the rows of other views
		l := m.lists[m.view]
		l.set(r.keys, r.index, r.total)
		if l.kept = !r.fresh; r.fresh {
			l.placedAt = time.Now()
		}
	}
	m.followBusiest()
	m.resize()
	m.stale = true
	return nil
}

// resize asks views how many rows the screen holds, and keeps the selected one among them.
func (m *model) resize() {
	l := m.lists[m.view]
	s := m.bare()
	s.Guide = m.guide()
	if m.view == views.Shutdown {
		m.showHistory(&s)
	}
	l.page = views.Page(s)
	if m.view != views.Events { // its window moves as moveStream says
		l.clamp()
	}
}
