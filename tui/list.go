package tui

import (
	"slices"
	"strconv"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

var (
	ofLists   = []views.View{views.Sessions, views.Agents, views.Processes, views.Adapters, views.Inbox, views.Held}
	ofRows    = slices.Concat(ofLists, []views.View{views.Shutdown, views.Events})
	ofDetails = slices.Concat(ofLists, []views.View{views.Events})
	ofMoves   = slices.Concat([]views.View{views.Overview}, ofRows)
)

// list is how the person looks at one table: which row, which window, which marks. Rows are known by their keys, not by their
// places: a selection follows its row through sorting and new snapshots.
type list struct {
	views.TableState
	keys  []string
	index map[string]int
	page  int
	// open is the name of the open page of the detail, empty for the first.
	open string
	// placedAt is when the rows were last put in order afresh.
	placedAt time.Time
	// kept says that they have kept their places since then.
	kept bool
}

// at is the index of the selected row, -1 for none.
func (l *list) at() int {
	if i, ok := l.index[l.Selected]; ok {
		return i
	}
	return -1
}

// set replaces the rows. The selection stays on its row; if that is gone, the row that is now in its place is selected.
func (l *list) set(keys []string, index map[string]int, total int) {
	at := l.at()
	l.keys, l.index, l.Total = keys, index, total
	if _, ok := index[l.Selected]; !ok {
		l.Selected = ""
		if len(keys) > 0 {
			l.Selected = keys[min(max(at, 0), len(keys)-1)]
		}
	}
	for k := range l.Marked {
		if _, ok := index[k]; !ok {
			delete(l.Marked, k)
		}
	}
	l.clamp()
}

func (l *list) move(by int) { l.to(max(l.at(), 0) + by) }

func (l *list) to(i int) {
	if len(l.keys) == 0 {
		return
	}
	l.Selected = l.keys[min(max(i, 0), len(l.keys)-1)]
	l.clamp()
}

// clamp keeps the selected row in the window and the window on the rows.
func (l *list) clamp() {
	at := max(l.at(), 0)
	page := max(l.page, 1)
	switch {
	case at < l.Offset:
		l.Offset = at
	case at >= l.Offset+page:
		l.Offset = at - page + 1
	}
	l.Offset = min(max(l.Offset, 0), max(len(l.keys)-page, 0))
}

func (l *list) mark() {
	if l.at() < 0 {
		return
	}
	if l.Marked[l.Selected] {
		delete(l.Marked, l.Selected)
		return
	}
	if l.Marked == nil {
		l.Marked = map[string]bool{}
	}
	l.Marked[l.Selected] = true
}

// row is the selected one of rows: by its index where rows are those of the list, else by its key.
func row[T any](l *list, rows []T, of func(T) string) *T {
	if i := l.at(); i >= 0 && i < len(rows) && of(rows[i]) == l.Selected {
		return &rows[i]
	}
	return find(rows, l.Selected, of)
}

// placesOf is the place of each key.
func placesOf(keys []string) map[string]int {
	index := make(map[string]int, len(keys))
	for i, key := range keys {
		index[key] = i
	}
	return index
}

func sessionKey(s ops.Session) string { return s.Key }
func agentKey(a ops.Agent) string     { return a.Session }
func processKey(p ops.Process) string { return strconv.Itoa(p.PID) }
func adapterKey(a ops.Adapter) string { return a.Name }
func heldKey(h ops.Held) string       { return views.HeldKey(h) }

// find returns the row with a key, for the rare moments that need the newest one: the key of a press, of a confirmation.
func find[T any](rows []T, key string, of func(T) string) *T {
	if key == "" {
		return nil
	}
	for i := range rows {
		if of(rows[i]) == key {
			return &rows[i]
		}
	}
	return nil
}
