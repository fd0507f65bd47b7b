package views

import "fmt"

// Palette is the command line with what it could mean: every action by name, and the key that does the same.
type Palette struct {
	// Input is what has been typed, without the colon.
	Input string
	// Matches are what fits, best first; Selected is the index of the one that Enter takes.
	Matches  []Match
	Selected int
	// Note is one line below, such as why the input is not understood.
	Note string
}

// Match is one completion.
type Match struct {
	// Name is the command as it is typed, Text what it does, Key what does the same, if anything.
	Name, Text, Key string
	// Off says why it does not apply now; empty if it does.
	Off string
}

const paletteWidth = 76

// Lines draws the palette.
func (p Palette) Lines(o Opts) []string {
	return o.box("command", Heading, paletteWidth, func(w int) (lines, tail []string) {
		input := shown(p.Input)
		if cellsOf(input) > w-2 { // the cursor is at its end
			input = o.cutHead(input, w-3)
		}
		lines, tail = []string{":" + input + "_"}, o.wrapped(Muted, p.Note, w)
		n := len(p.Matches)
		if n == 0 {
			return append(lines, o.paint(Muted, "no command fits")), tail
		}
		sel := min(max(p.Selected, 0), n-1)
		rows := min(n, max(o.H-3-len(tail), 1))
		if rows < n && rows > 1 {
			rows-- // for the count
		}
		at := min(max(sel-rows/2, 0), n-rows)
		name := 12
		for _, m := range p.Matches[at : at+rows] {
			name = min(max(name, cellsOf(shown(m.Name))), w/2)
		}
		for i := at; i < at+rows; i++ {
			lines = append(lines, p.Matches[i].line(&o, i == sel, name, w))
		}
		if rows < n {
			lines = append(lines, o.paint(Muted, fmt.Sprintf("%d to %d of %d", at+1, at+rows, n)))
		}
		return lines, tail
	})
}

func (m Match) line(o *Opts, selected bool, name, w int) string {
	const key = 8
	text, role := shown(m.Text), Plain
	if m.Off != "" {
		text, role = "not now: "+shown(m.Off), Muted
	}
	if selected {
		role = Selected
	}
	line := o.cell(Plain, shown(m.Name), name) + "  " + o.cell(Plain, text, w-4-name-key) + o.right(Plain, shown(m.Key), key)
	return pointer(selected) + o.paint(role, fitLine(line, w-2))
}
