package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"gatewaytui/core/term"
)

// Bounds of a cell, in terminal columns.
const (
	maxCell = 60
	maxLast = 200 // the last column has nothing to its right that it could displace
	// minCell is the least that a table leaves of a text before it drops a column; see least for the first two ranks.
	minCell = 16
	// cellGap separates two columns.
	cellGap = 2
)

// column is one column of a table of T.
type column[T any] struct {
	head string
	cell func(T) string
	// rank orders the columns for a terminal that is too narrow for all of them: the highest rank is dropped first.
	// Rank 0 identifies the row and rank 1 is what the table is read for: neither is dropped, only shortened.
	rank int
}

// terminalColumns returns the width that tables fit: $COLUMNS, else what the terminal reports. It is 0, which means no
// limit, if f is not a terminal or the terminal does not know its width.
func terminalColumns(f *os.File, getenv func(string) string) int {
	if !isTerminal(f) {
		return 0
	}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// The values of -o.
const (
	outputWide = "wide"
	outputJSON = "json"
)

// tableFlag adds -o to a verb that prints a table.
func (p *program) tableFlag(c *cobra.Command) {
	words := choice{&p.output, []string{outputWide, outputJSON}}
	c.Flags().VarP(output{words, p}, "output", "o", "wide shows every column at any terminal width; json is --json")
}

// output is the flag -o.
type output struct {
	choice
	p *program
}

// Set implements pflag.Value.
func (o output) Set(s string) error {
	if err := o.choice.Set(s); err != nil {
		return err
	}
	o.p.json = o.p.json || s == outputJSON
	return nil
}

// table prints rows under aligned heads, as wide as the terminal allows. On a terminal that is too narrow it drops
// columns by rank and shortens texts, and returns the heads of the columns that it dropped. Cells are cleaned here.
func table[T any](p *program, w io.Writer, columns []column[T], rows []T) (dropped []string) {
	cells := make([][]string, len(columns))
	for i, c := range columns {
		limit := maxCell
		if i == len(columns)-1 {
			limit = maxLast
		}
		cells[i] = make([]string, 0, len(rows)+1)
		cells[i] = append(cells[i], c.head)
		for _, r := range rows {
			cells[i] = append(cells[i], cmp.Or(term.Clean(c.cell(r), limit), "-"))
		}
	}
	limit := p.columns
	if p.output == outputWide {
		limit = 0
	}
	shown := make([]fitted, len(columns))
	for i, c := range columns {
		f := fitted{at: i, rank: c.rank, empty: len(rows) > 0}
		for j, cell := range cells[i] {
			f.natural = max(f.natural, ansi.StringWidth(cell))
			f.empty = f.empty && (j == 0 || cell == "-")
		}
		f.least = least(f, max(minCell, ansi.StringWidth(c.head)), limit)
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
		fmt.Fprintln(w, b.String())
	}
	for i, c := range columns {
		if !slices.ContainsFunc(shown, func(f fitted) bool { return f.at == i }) {
			dropped = append(dropped, c.head)
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
	// The columns that stay are shortened beyond that, the widest first.
	for total(columns) > limit {
		i := widest(columns)
		if columns[i].width <= 1 {
			break
		}
		columns[i].width--
	}
	// The room that is left goes to the texts, those of the lowest rank first.
	order := make([]int, len(columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return columns[a].rank - columns[b].rank })
	for _, i := range order {
		columns[i].width += max(0, min(limit-total(columns), columns[i].natural-columns[i].width))
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

// total is the width of a line of columns.
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

func widest(columns []fitted) int {
	found := 0
	for i, c := range columns {
		if c.width > columns[found].width {
			found = i
		}
	}
	return found
}

// hidden says on stderr which columns a table left out, to a person at the terminal.
func (p *program) hidden(dropped []string) {
	switch len(dropped) {
	case 0:
		return
	case 1:
		p.line(p.err, "1 column hidden; -o wide shows it")
	default:
		p.line(p.err, "%d columns hidden; -o wide shows them", len(dropped))
	}
}
