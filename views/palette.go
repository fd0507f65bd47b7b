package views

import (
	"fmt"

	"github.com/charmbracelet/x/ansi"
)

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
	return painterOf(o).box(o, "command", Heading, paletteWidth, func(k painter, w int) []string {
		lines := []string{":" + k.cutLeft(shown(p.Input), w-2) + "_"}
		room := o.H - 2 - len(lines) - len(p.tail(k, w))
		if len(p.Matches) == 0 {
			return append(lines, k.theme.Paint(Muted, "no command fits"))
		}
		n := len(p.Matches)
		sel := min(max(p.Selected, 0), n-1)
		rows := min(n, max(room, 1))
		if rows < n && rows > 1 {
			rows-- // for the count
		}
		at := min(max(sel-rows/2, 0), n-rows)
		name := 12
		for _, m := range p.Matches[at : at+rows] {
			name = min(max(name, cellsOf(shown(m.Name))), w/2)
		}
		for i := at; i < at+rows; i++ {
			lines = append(lines, p.row(k, p.Matches[i], i == sel, name, w))
		}
		if rows < n {
			lines = append(lines, k.theme.Paint(Muted, fmt.Sprintf("%d to %d of %d", at+1, at+rows, n)))
		}
		return lines
	}, p.tail)
}

func (p Palette) tail(k painter, w int) []string {
	var out []string
	for _, line := range wrap(shown(p.Note), w) {
		out = append(out, k.theme.Paint(Muted, line))
	}
	return out
}

func (p Palette) row(k painter, m Match, selected bool, name, w int) string {
	const key = 8
	text, role := shown(m.Text), Plain
	if m.Off != "" {
		text, role = "not now: "+shown(m.Off), Muted
	}
	mark := "  "
	if selected {
		mark, role = "> ", Selected
	}
	line := k.cell(Plain, shown(m.Name), name) + "  " + k.cell(Plain, text, w-4-name-key) + k.right(Plain, shown(m.Key), key)
	return mark + k.theme.Paint(role, fitLine(line, w-2))
}

// cutLeft keeps the end of text, which is where the cursor is.
func (k painter) cutLeft(text string, w int) string {
	have := cellsOf(text)
	if have <= w || w < 2 {
		return k.cut(text, w)
	}
	return k.ellipsis() + ansi.TruncateLeft(text, have-w+2, "")
}
