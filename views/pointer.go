package views

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Spot is what a screen has at one cell.
type Spot struct {
	// Tab is the view whose tab it is, 0 for none.
	Tab View
	// Row is the index of the row of the list, -1 for none.
	Row int
	// Detail says that it is in the detail of the selected row.
	Detail bool
}

// At is what s shows at the cell x, y, counted from 0 at the top left. What is drawn over the view is not looked at.
func At(s Screen, x, y int) Spot {
	s.W, s.H = max(s.W, 1), max(s.H, 1)
	spot, p := Spot{Row: -1}, s.parts()
	top, bottom := len(p.head), s.H-len(p.foot)
	switch {
	case x < 0 || y < 0 || x >= s.W || y >= bottom || s.layout() == layoutLine:
	case y < top:
		spot.Tab = tabAt(p.head[y], x)
	case kinds[s.View] != nil:
		sp := s.split(s.W)
		if spot.Detail = x >= sp.lw; spot.Detail {
			break
		}
		if row := s.Table.Offset + y - top - 1; y > top {
			spot.Row = row
		}
	}
	return spot
}

// tabAt is the view whose tab is at the cell x of a line of the head; 0: the line has no tab there.
func tabAt(line string, x int) (at View) {
	plain, from := ansi.Strip(line), 0
	for _, v := range Views {
		tab := -1
		for _, begin := range []string{" [", " "} {
			if i := strings.Index(plain[from:], begin+strconv.Itoa(int(v))); i >= 0 && (tab < 0 || from+i < tab) {
				tab = from + i
			}
		}
		if tab < 0 || v == Overview && ansi.StringWidth(plain[:tab]) > 2 { // it is no line of tabs
			return at
		}
		if ansi.StringWidth(plain[:tab]) >= x {
			return at
		}
		at, from = v, tab+1
	}
	if end := strings.IndexAny(plain[from:], "─-"); end >= 0 && ansi.StringWidth(plain[:from+end]) <= x {
		return 0
	}
	return at
}
