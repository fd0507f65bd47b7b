package lines

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Bounds of a cell, in terminal columns.
const (
	MaxCell = 60
	maxLast = 200 // the last column has nothing to its right that it could displace
	// minCell is the least that a table leaves of a text before it drops a column; see least for the first two ranks.
	minCell = 16
	// cellGap separates two columns.
	cellGap = 2
)

// Column is one column of a table of T.
type Column[T any] struct {
	Head string
	Cell func(T) string
	// Rank orders the columns for a terminal that is too narrow for all of them: the highest rank is dropped first.
	// Rank 0 identifies the row and rank 1 is what the table is read for: neither is dropped, only shortened.
	Rank int
}

// Table prints rows under aligned heads, as wide as the terminal allows. On a terminal that is too narrow it drops
// columns by rank and shortens texts, and returns the heads of the columns that it dropped. Cells are cleaned here.
func Table[T any](p Printer, columns []Column[T], rows []T) (dropped []string) {
	cells := make([][]string, len(columns))
	for i, c := range columns {
		limit := MaxCell
		if i == len(columns)-1 {
			limit = maxLast
		}
		cells[i] = make([]string, 0, len(rows)+1)
		cells[i] = append(cells[i], c.Head)
		for _, r := range rows {
			cells[i] = append(cells[i], cmp.Or(term.Clean(c.Cell(r), limit), "-"))
		}
	}
	limit := p.Columns
	shown := make([]fitted, len(columns))
	for i, c := range columns {
		f := fitted{at: i, rank: c.Rank, empty: len(rows) > 0}
		for j, cell := range cells[i] {
			f.natural = max(f.natural, ansi.StringWidth(cell))
			f.empty = f.empty && (j == 0 || cell == "-")
		}
		f.least = least(f, max(minCell, ansi.StringWidth(c.Head)), limit)
		shown[i] = f
	}
	shown = fit(shown, limit)
	for line := range len(rows) + 1 {
		var b strings.Builder
		for i, f := range shown {
			cell := f.shorten(cells[f.at][line])
			b.WriteString(cell)
			if i < len(shown)-1 {
				b.WriteString(strings.Repeat(" ", f.width-ansi.StringWidth(cell)+cellGap))
			}
		}
		fmt.Fprintln(p.Out, b.String())
	}
	for i, c := range columns {
		if !slices.ContainsFunc(shown, func(f fitted) bool { return f.at == i }) {
			dropped = append(dropped, c.Head)
		}
	}
	return dropped
}

// fitted is a column and the room that it gets, in terminal columns.
type fitted struct {
	at, rank int
	// empty says that no row has a value in it.
	empty          bool
	least, natural int
	width          int
}

// shorten makes text fit the column. A name keeps its beginning and its end, which identify the row.
func (f fitted) shorten(text string) string {
	wide := ansi.StringWidth(text)
	if f.rank > 0 || wide <= f.width || f.width < 3 {
		return ansi.Truncate(text, f.width, "…")
	}
	end := (f.width - 1) / 2
	return ansi.Truncate(text, f.width-1-end, "") + "…" + ansi.TruncateLeft(text, wide-end, "")
}

// fit chooses the columns that a line of limit terminal columns has room for, in their order, and sets their widths. A
// limit of 0 is none.
func fit(columns []fitted, limit int) []fitted {
	for i := range columns {
		columns[i].width = columns[i].natural
	}
	if limit <= 0 || total(columns) <= limit {
		return columns
	}
	for i := range columns {
		columns[i].width = columns[i].least
	}
	for total(columns) > limit {
		i := expendable(columns)
		if i < 0 {
			break
		}
		columns = slices.Delete(columns, i, i+1)
	}
	byRank := make([]*fitted, len(columns))
	for i := range columns {
		byRank[i] = &columns[i]
	}
	// The columns that stay are shortened beyond that, the widest first.
	for total(columns) > limit {
		widest := slices.MaxFunc(byRank, func(a, b *fitted) int { return cmp.Compare(a.width, b.width) })
		if widest.width <= 1 {
			break
		}
		widest.width--
	}
	// The room that is left goes to the texts, those of the lowest rank first.
	slices.SortStableFunc(byRank, func(a, b *fitted) int { return cmp.Compare(a.rank, b.rank) })
	for _, c := range byRank {
		c.width += max(0, min(limit-total(columns), c.natural-c.width))
	}
	return columns
}

// least is the width below which f is not shortened while another column can be dropped: what a table is read for is
// worth more than one column more. It is half of the line for the first rank and a quarter for the second.
func least(f fitted, usual, limit int) int {
	switch f.rank {
	case 0:
		return f.natural
	case 1:
		usual = max(usual, limit/2)
	case 2:
		usual = max(usual, limit/4)
	}
	return min(f.natural, usual)
}

func total(columns []fitted) int {
	n := -cellGap
	for _, c := range columns {
		n += c.width + cellGap
	}
	return n
}

// expendable is the column to drop first: one without a value, else the one with the highest rank; -1 if all must stay.
func expendable(columns []fitted) int {
	found := -1
	for i, c := range columns {
		if c.rank <= 1 {
			continue
		}
		if found < 0 || c.empty && !columns[found].empty || c.empty == columns[found].empty && c.rank >= columns[found].rank {
			found = i
		}
	}
	return found
}

// Hidden says on Notes which columns a table left out.
func (p Printer) Hidden(dropped []string) {
	if n := len(dropped); n > 0 {
		Line(p.Notes, "%s hidden; -o wide shows %s", text.Count(n, "column"), text.Plural(n, "it", "them"))
	}
}
