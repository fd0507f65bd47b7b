package views

import "fmt"

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
	columns := min(max((o.W-6)/helpColumn, 1), 3)
	return o.box(or(shown(p.Title), "help"), Heading, max(columns*helpColumn+6, helpWidth), func(w int) (body, tail []string) {
		if p.Note != "" {
			tail = []string{o.paint(Muted, o.cut(shown(p.Note), w))}
		}
		lines := p.page(&o, w, columns)
		room := max(o.H-2-len(tail), 1)
		if len(lines) <= room {
			return lines, tail
		}
		room-- // for the line that says where we are
		at := min(max(p.Offset, 0), max(len(lines)-room, 0))
		end := min(at+room, len(lines))
		where := fmt.Sprintf("lines %d to %d of %d", at+1, end, len(lines))
		return append(lines[at:end:end], o.paint(Muted, where)), tail
	})
}

// page lays the sections out in columns of about the same height; a section is never split.
func (p Help) page(o *Opts, w, columns int) []string {
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
		block := []string{o.paint(Heading, o.cut(shown(s.Name), width-1))}
		for _, h := range s.Keys {
			key := " " + o.cell(Accent, shown(h.Key), keys) + " "
			for _, line := range orBlank(wrap(shown(h.Label), width-keys-3)) {
				block = append(block, key+line)
				key = spaces(keys + 2)
			}
		}
		blocks = append(blocks, append(block, ""))
		total += len(block) + 1
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
	for _, c := range cols {
		h = max(h, len(c)-1) // a blank line ends each section
	}
	out := make([]string, max(h, 0))
	for _, c := range cols {
		for i, line := range fit(c, width, h) {
			out[i] += line
		}
	}
	return out
}
