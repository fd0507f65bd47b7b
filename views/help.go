package views

import (
	"fmt"
	"strings"
)

// Help is the page of keys: sections from the one keymap, in columns where the screen is wide.
type Help struct {
	Title    string
	Sections []HelpSection
	// Offset is the first line of the page that is shown; what is beyond the end shows the end.
	Offset int
	// Note is one line at the end, such as how to leave.
	Note string
}

// HelpSection is a group of keys.
type HelpSection struct {
	Name string
	Keys []Hint
}

// helpColumn is how wide a column of keys is at least; a page of one column takes what there is, up to helpWidth.
const (
	helpColumn = 46
	helpWidth  = 78
)

// Lines draws the page.
func (p Help) Lines(o Opts) []string {
	k := painterOf(o)
	columns := min(max((o.W-6)/helpColumn, 1), 3)
	body := func(k painter, w int) []string {
		lines := p.page(k, w, columns)
		room := max(o.H-2-len(p.tail(k, w)), 1)
		if len(lines) <= room {
			return lines
		}
		room-- // for the line that says where we are
		at := min(max(p.Offset, 0), max(len(lines)-room, 0))
		where := fmt.Sprintf("lines %d to %d of %d", at+1, min(at+room, len(lines)), len(lines))
		return append(lines[at:min(at+room, len(lines)):min(at+room, len(lines))], k.theme.Paint(Muted, where))
	}
	return k.box(o, or(shown(p.Title), "help"), Heading, max(columns*helpColumn+6, helpWidth), body, p.tail)
}

func (p Help) tail(k painter, w int) []string {
	if p.Note == "" {
		return nil
	}
	return []string{k.theme.Paint(Muted, k.cut(shown(p.Note), w))}
}

// page lays the sections out in columns of about the same height; a section is never split.
func (p Help) page(k painter, w, columns int) []string {
	width := w / columns
	keys := 5
	for _, s := range p.Sections {
		for _, h := range s.Keys {
			keys = min(max(keys, cellsOf(shown(h.Key))), 16, max(width/3, 1))
		}
	}
	var blocks [][]string
	total := 0
	for _, s := range p.Sections {
		block := []string{k.theme.Paint(Heading, k.cut(shown(s.Name), width-1))}
		for _, h := range s.Keys {
			label := wrap(shown(h.Label), width-keys-3)
			if len(label) == 0 {
				label = []string{""}
			}
			block = append(block, " "+k.cell(Accent, shown(h.Key), keys)+" "+label[0])
			for _, line := range label[1:] {
				block = append(block, spaces(keys+2)+line)
			}
		}
		block = append(block, "")
		blocks = append(blocks, block)
		total += len(block)
	}
	share := (total + columns - 1) / columns
	cols := make([][]string, columns)
	at := 0
	for _, b := range blocks {
		if len(cols[at]) > 0 && len(cols[at])+len(b)/2 >= share && at < columns-1 {
			at++
		}
		cols[at] = append(cols[at], b...)
	}
	h := 0
	for i, c := range cols {
		if n := len(c); n > 0 && c[n-1] == "" {
			cols[i] = c[:n-1]
		}
		h = max(h, len(cols[i]))
	}
	out := make([]string, h)
	for i := range out {
		var b strings.Builder
		for _, c := range cols {
			line := ""
			if i < len(c) {
				line = c[i]
			}
			b.WriteString(fitLine(line, width))
		}
		out[i] = b.String()
	}
	return out
}
