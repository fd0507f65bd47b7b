package views

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"gatewaytui/core/filter"
	"gatewaytui/core/ops"
)

type rowKind interface {
	about() kindInfo
	len(*ops.Snapshot) int
	keys(*ops.Snapshot) []string
	order(*ops.Snapshot, TableState)
	body(s *Screen, w, h int) []string
	pageLines(s *Screen, p pane) int
}

// kindInfo is what does not depend on the rows of a list: what they are called, by which columns they are sorted, the first of
// which is used when no other is asked for, and the pages of the details.
type kindInfo struct {
	noun, first string
	sorts       []string
	pages       []PageInfo
}

var kinds = map[View]rowKind{Sessions: sessionList, Agents: agentList, Processes: processList, Adapters: adapterList, Inbox: inboxList, Held: heldList}

// infos are made once, because a frame asks for them many times.
var infos = func() map[View]kindInfo {
	out := make(map[View]kindInfo, len(kinds))
	for v, k := range kinds {
		out[v] = k.about()
	}
	out[Events] = kindInfo{pages: []PageInfo{{Name: "details"}}}
	return out
}()

// infoOf is empty for a view without a list.
func infoOf(v View) kindInfo { return infos[v] }

// Order returns snap with the rows of v filtered and sorted as t says. It changes nothing of snap's and may be called
// from any goroutine. Ten thousand rows take milliseconds: call it off the loop that draws.
//
// The filter is in the language of package filter; one that is wrong keeps no rows, and the view says why. Rows are
// sorted by the column that t names, the view's own one if it names none; rows that are equal there by their key. Rows
// with a place in t.Places keep their order; see there.
func Order(snap ops.Snapshot, v View, t TableState) ops.Snapshot {
	if k := kinds[v]; k != nil {
		k.order(&snap, t)
	}
	return snap
}

// Rows is how many rows snap has for v; 0 for a view without a list.
func Rows(snap *ops.Snapshot, v View) int {
	if k := kinds[v]; k != nil {
		return k.len(snap)
	}
	return 0
}

// Keys are the keys of the rows of v, as TableState has them; none for a view without a list. A key is what a command names as its
// target: a session's key (for an agent, too), a pid, an adapter's name.
func Keys(snap *ops.Snapshot, v View) []string {
	if k := kinds[v]; k != nil {
		return k.keys(snap)
	}
	return nil
}

// SortColumns are the names by which the rows of v can be sorted, in the order of the columns.
func SortColumns(v View) []string { return infoOf(v).sorts }

// DefaultSort is the name of the column that v's rows are sorted by when none is named.
func DefaultSort(v View) string { return infoOf(v).first }

func (l *list[T]) len(snap *ops.Snapshot) int { return len(*l.rows(snap)) }

func (l *list[T]) keys(snap *ops.Snapshot) []string {
	rows := *l.rows(snap)
	keys := make([]string, len(rows))
	for i := range rows {
		keys[i] = l.key(&rows[i])
	}
	return keys
}

func (l *list[T]) about() kindInfo {
	i := kindInfo{noun: l.noun, first: l.first}
	for _, c := range l.columns {
		if c.sorts() {
			i.sorts = append(i.sorts, c.name)
		}
	}
	for _, p := range l.pages {
		i.pages = append(i.pages, PageInfo{p.name, p.second, p.ends, p.folds})
	}
	return i
}

// order puts the filtered and sorted rows in the place of all of them.
func (l *list[T]) order(snap *ops.Snapshot, t TableState) {
	rows := l.rows(snap)
	picked := l.filter(*rows, t.Filter)
	l.sort(picked, t, snap.At.Time)
	out := make([]T, len(picked))
	for i, row := range picked {
		out[i] = *row
	}
	*rows = out
}

// filter is the rows that match; none if the filter is wrong, which emptyBody then says.
func (l *list[T]) filter(rows []T, text string) []*T {
	picked := make([]*T, 0, len(rows))
	for i := range matches(rows, text, l.fields) {
		picked = append(picked, &rows[i])
	}
	return picked
}

// matches are the indexes of the rows that match a filter (package filter); none if it is wrong.
func matches[T any](rows []T, text string, fields []filter.Field[T]) iter.Seq[int] {
	return func(yield func(int) bool) {
		picks, err := filter.Parse(text, fields)
		for i := 0; err == nil && i < len(rows); i++ {
			if picks.Match(&rows[i]) && !yield(i) {
				return
			}
		}
	}
}

func kept[T any](rows []T, text string, fields []filter.Field[T]) (out []T) {
	if text == "" {
		return rows
	}
	for i := range matches(rows, text, fields) {
		out = append(out, rows[i])
	}
	return out
}

// FilterEvents are the events that match the filter, in their order: see package filter.
func FilterEvents(events []ops.Event, text string) []ops.Event {
	return kept(events, text, filter.Events)
}

// FilterLog are the lines of the log that match the filter, in their order: see package filter.
func FilterLog(lines []ops.LogLine, text string) []ops.LogLine { return kept(lines, text, filter.Log) }

// FilterLives are the lives that match the filter, in their order: see package filter.
func FilterLives(lives []ops.Life, text string) []ops.Life { return kept(lives, text, filter.Lives) }

func (l *list[T]) sort(rows []*T, t TableState, now time.Time) {
	by := l.column(t.Sort)
	compare := by.compare
	if by.at != nil {
		compare = by.at(now)
	}
	slices.SortFunc(rows, func(a, b *T) int {
		c := compare(a, b)
		if t.Reverse {
			c = -c
		}
		if c == 0 {
			c = l.tie(a, b)
		}
		return c
	})
	switch {
	case l.arrange != nil && by.name == l.first:
		l.arrange(rows)
	case len(t.Places) > 0:
		first := 0
		for by.urgent != nil && !t.Reverse && !t.Still && first < len(rows) && by.urgent(rows[first], now) {
			first++
		}
		l.keep(rows[first:], t.Places)
	}
}

// keep puts the rows that have a place back into the order of their places. A row without one stays behind the row that
// it came behind.
func (l *list[T]) keep(rows []*T, places map[string]int) {
	type group struct {
		place int
		rows  []*T
	}
	groups := []group{{place: -1}}
	for _, row := range rows {
		if place, ok := places[l.key(row)]; ok {
			groups = append(groups, group{place: place})
		}
		last := &groups[len(groups)-1]
		last.rows = append(last.rows, row)
	}
	slices.SortStableFunc(groups, func(a, b group) int { return cmp.Compare(a.place, b.place) })
	n := 0
	for _, g := range groups {
		n += copy(rows[n:], g.rows)
	}
}
