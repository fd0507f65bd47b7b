package views

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gatewaytui/core/ops"
)

// rowKind is a list whatever its rows are.
type rowKind interface {
	len(*ops.Snapshot) int
	keyAt(*ops.Snapshot, int) string
	index(*ops.Snapshot, string) int
	order(*ops.Snapshot, TableState)
	sorts() []string
	tabNames() []string
	firstSort() string
	name() string
	body(s *Screen, w, h int) []string
}

// kindOf is the list that v shows, nil for a view that is no list.
func kindOf(v View) rowKind {
	switch v {
	case Sessions:
		return sessionList
	case Agents:
		return agentList
	case Processes:
		return processList
	case Adapters:
		return adapterList
	}
	return nil
}

// Order returns snap with the rows of v filtered and sorted as t says. It changes nothing of snap's and may be called
// from any goroutine. Ten thousand rows take milliseconds: call it off the loop that draws.
//
// A filter is words that a row must all match. A word matches where it occurs in one of the row's texts, upper and
// lower case alike; "~word" matches where its letters occur in this order; "field:word" looks at that column alone, if
// there is one (a session's key has colons too); a "!" before any of these takes the rows that do not match. Rows are
// sorted by the column that t names, the view's own one if it names none; rows that are equal there by their key. Rows
// with a place in t.Places keep their order; see there.
func Order(snap ops.Snapshot, v View, t TableState) ops.Snapshot {
	if k := kindOf(v); k != nil {
		k.order(&snap, t)
	}
	return snap
}

// Rows is how many rows snap has for v; 0 for a view that is no list.
func Rows(snap *ops.Snapshot, v View) int {
	if k := kindOf(v); k != nil {
		return k.len(snap)
	}
	return 0
}

// RowKey is the key of row i of v, as TableState has it; empty if there is no such row. It is what a command names as
// its target: a session's key (for an agent, too), a pid, an adapter's name.
func RowKey(snap *ops.Snapshot, v View, i int) string {
	if k := kindOf(v); k != nil && i >= 0 && i < k.len(snap) {
		return k.keyAt(snap, i)
	}
	return ""
}

// RowIndex is where the row with that key is in v, -1 if it is not.
func RowIndex(snap *ops.Snapshot, v View, key string) int {
	if k := kindOf(v); k != nil && key != "" {
		return k.index(snap, key)
	}
	return -1
}

// SortColumns are the names by which the rows of v can be sorted, in the order of the columns.
func SortColumns(v View) []string {
	if k := kindOf(v); k != nil {
		return k.sorts()
	}
	return nil
}

// DefaultSort is the name of the column that v's rows are sorted by when none is named.
func DefaultSort(v View) string {
	if k := kindOf(v); k != nil {
		return k.firstSort()
	}
	return ""
}

// DetailTabs are the names of the pages of v's details.
func DetailTabs(v View) []string {
	if k := kindOf(v); k != nil {
		return k.tabNames()
	}
	return nil
}

// FilterEvents are the events that filter matches, in their order, with the language of Order; the fields are type,
// subject and text.
func FilterEvents(events []ops.Event, filter string) []ops.Event {
	terms := parse(filter, eventField)
	if len(terms) == 0 {
		return events
	}
	var out []ops.Event
	for i := range events {
		if matches(&events[i], terms, eventText, eventSearch) {
			out = append(out, events[i])
		}
	}
	return out
}

var eventFields = []string{"type", "subject", "text"}

func eventField(name string) int { return slices.Index(eventFields, name) }

func eventText(e *ops.Event, field int) string {
	switch field {
	case 0:
		return string(e.Type)
	case 1:
		return e.Subject
	}
	return e.Text
}

func eventSearch(e *ops.Event, t *needle) bool {
	return t.in(e.Text) || t.in(e.Subject) || t.in(string(e.Type))
}

func (l *list[T]) len(snap *ops.Snapshot) int { return len(*l.rows(snap)) }

func (l *list[T]) keyAt(snap *ops.Snapshot, i int) string { return l.key(&(*l.rows(snap))[i]) }

func (l *list[T]) index(snap *ops.Snapshot, key string) int {
	rows := *l.rows(snap)
	for i := range rows {
		if l.key(&rows[i]) == key {
			return i
		}
	}
	return -1
}

func (l *list[T]) sorts() []string {
	var names []string
	for _, c := range l.columns {
		if c.sorts() {
			names = append(names, c.name)
		}
	}
	return names
}

func (l *list[T]) tabNames() []string {
	names := make([]string, len(l.tabs))
	for i, t := range l.tabs {
		names[i] = t.name
	}
	return names
}

func (l *list[T]) firstSort() string { return l.first }

func (l *list[T]) name() string { return l.noun }

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

func (l *list[T]) filter(rows []T, filter string) []*T {
	terms := parse(filter, func(name string) int {
		return slices.IndexFunc(l.columns, func(c column[T]) bool { return c.name == name && c.text != nil })
	})
	text := func(row *T, field int) string { return l.columns[field].text(row) }
	picked := make([]*T, 0, len(rows))
	for i := range rows {
		if matches(&rows[i], terms, text, l.search) {
			picked = append(picked, &rows[i])
		}
	}
	return picked
}

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
		for by.urgent != nil && !t.Reverse && first < len(rows) && by.urgent(rows[first], now) {
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

// needle is one word of a filter.
type needle struct {
	// field is the column, -1 for none.
	field          int
	inverse, fuzzy bool
	// low is what is looked for, in lower case; ascii that it has no other letters.
	low   string
	ascii bool
}

// parse reads a filter; field finds a column by its name, -1 if there is none. A word with nothing to look for in it,
// such as the "!" of one that is still being typed, is left out.
func parse(filter string, field func(string) int) []needle {
	var terms []needle
	for word := range strings.FieldsSeq(filter) {
		t := needle{field: -1}
		word, t.inverse = strings.CutPrefix(word, "!")
		if name, rest, ok := strings.Cut(word, ":"); ok {
			if at := field(strings.ToLower(name)); at >= 0 {
				t.field, word = at, rest
			}
		}
		word, t.fuzzy = strings.CutPrefix(word, "~")
		if word == "" {
			continue
		}
		t.low = strings.ToLower(word)
		t.ascii = isASCII(t.low)
		terms = append(terms, t)
	}
	return terms
}

func matches[T any](row *T, terms []needle, text func(*T, int) string, search func(*T, *needle) bool) bool {
	for i := range terms {
		t := &terms[i]
		var found bool
		if t.field >= 0 {
			found = t.in(text(row, t.field))
		} else {
			found = search(row, t)
		}
		if found == t.inverse {
			return false
		}
	}
	return true
}

// in reports whether t is in text.
func (t *needle) in(text string) bool {
	switch {
	case t.fuzzy:
		return subsequence(text, t.low)
	case t.ascii:
		return containsFold(text, t.low)
	}
	return strings.Contains(strings.ToLower(text), t.low)
}

// subsequence reports whether the letters of low are in text in their order.
func subsequence(text, low string) bool {
	for _, r := range strings.ToLower(text) {
		want, n := utf8.DecodeRuneInString(low)
		if n == 0 {
			return true
		}
		if r == want {
			low = low[n:]
		}
	}
	return low == ""
}

// containsFold is strings.Contains for ASCII in lower case, without a copy of text.
func containsFold(text, low string) bool {
	c := low[0]
	for len(text) >= len(low) {
		at := strings.IndexByte(text, c)
		if 'a' <= c && c <= 'z' {
			before := text
			if at >= 0 {
				before = text[:at]
			}
			if up := strings.IndexByte(before, c-'a'+'A'); up >= 0 {
				at = up
			}
		}
		if at < 0 || len(text)-at < len(low) {
			return false
		}
		if foldEqual(text[at:at+len(low)], low) {
			return true
		}
		text = text[at+1:]
	}
	return false
}

func foldEqual(text, low string) bool {
	for i := range len(low) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != low[i] {
			return false
		}
	}
	return true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
