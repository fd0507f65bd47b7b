package views

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Dialog asks before something is done: what it would wait for, end and keep, and which key does it. The caller keeps its
// state; Lines draws it.
type Dialog struct {
	Title string
	// Text says what the action is; Facts what it would do here and now, each with its label. Both are wrapped.
	Text  []string
	Facts []Fact
	// Buttons stand side by side; Focus is the index of the one that Enter presses.
	Buttons []Button
	Focus   int
	// Want is the word that has to be typed, empty for none; Typed what has been typed so far.
	Want, Typed string
	// Armed says that keys are taken; until then ArmsIn says when they will be, if no key is pressed.
	Armed  bool
	ArmsIn time.Duration
	// News says what has changed since the dialog opened; Note is any other line at the end.
	News, Note string
	// Danger marks what cannot be undone.
	Danger bool
}

// Fact is one line of a dialog's preview.
type Fact struct{ Label, Text string }

// Button is one answer: its label and the keys that press it.
type Button struct{ Key, Label string }

const (
	dialogWidth = 72
	labelWidth  = 18
)

// Lines draws the dialog. Where it does not fit, the preview is shortened and says so; the buttons and the keys stay.
func (d Dialog) Lines(o Opts) []string {
	role := Heading
	if d.Danger {
		role = Danger
	}
	return o.box(shown(d.Title), role, dialogWidth, func(w int) (body, tail []string) {
		for _, line := range d.Text {
			body = append(body, wrap(shown(line), w)...)
		}
		if len(body) > 0 && len(d.Facts) > 0 {
			body = append(body, "")
		}
		return append(body, o.facts(d.Facts, labelWidth, w)...), d.tail(&o, w)
	})
}

// tail is what is always seen.
func (d Dialog) tail(o *Opts, w int) []string {
	out := append(o.wrapped(Slow, d.News, w), o.wrapped(Muted, d.note(w), w)...)
	if d.Want != "" {
		out = append(out, o.cut("type "+shown(d.Want)+" to go on: "+shown(d.Typed)+"_", w))
	}
	var buttons []string
	for i, b := range d.Buttons {
		label := shown(b.Label)
		switch {
		case i == d.Focus:
			buttons = append(buttons, o.paint(Selected, "[ "+label+" ]"))
		case !d.Armed || d.Want != "" && d.Typed != d.Want:
			buttons = append(buttons, o.paint(Muted, "  "+label+"  "))
		default:
			buttons = append(buttons, "  "+label+"  ")
		}
	}
	if len(buttons) > 0 {
		line := "      " + strings.Join(buttons, "     ")
		if cellsOf(line) > w {
			line = strings.Join(buttons, " ")
		}
		out = append(out, "", o.cut(line, w))
	}
	if line, _ := d.keys(w); line != "" {
		out = append(out, o.paint(Muted, o.cut(line, w)))
	}
	return out
}

// note is the note. Where the line of keys has no room for when keys are taken, the note's line has it.
func (d Dialog) note(w int) string {
	if _, armsShown := d.keys(w); armsShown || d.Note == "" {
		return d.Note
	}
	if longer := d.Note + "   " + d.arms(); cellsOf(longer) <= w {
		return longer
	}
	return d.Note
}

// arms says when keys are taken.
func (d Dialog) arms() string { return "keys armed in " + tenths(d.ArmsIn) }

// keys is the line of keys, in the first form that fits in w cells. The answers that act are never cut: a narrow form has
// them first, then how to cancel, then when keys are taken (TF40). armsShown is false if the line leaves that out.
func (d Dialog) keys(w int) (line string, armsShown bool) {
	var keys []string
	for _, b := range d.Buttons {
		if b.Key != "" {
			keys = append(keys, shown(b.Key)+" "+strings.ToLower(shown(b.Label)))
		}
	}
	if len(keys) == 0 {
		return "", d.Armed
	}
	armed, short := d.arms(), "in "+tenths(d.ArmsIn)
	if d.Armed {
		armed, short = "", ""
	}
	acting := strings.Join(keys[1:], "  ")
	cancel := "esc " + strings.ToLower(shown(d.Buttons[0].Label))
	join := func(gap string, parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), gap)
	}
	for _, form := range []string{
		join("   ", strings.Join(keys, "   "), armed),
		join("   ", armed, strings.Join(keys, "   ")),
		join("  ", acting, cancel, armed),
		join("  ", acting, cancel, short),
	} {
		if cellsOf(form) <= w {
			return form, true
		}
	}
	return join("  ", acting, cancel), d.Armed
}

// facts draws labelled texts in w cells. The texts wrap to the right of their labels, or below them on a narrow screen.
func (o *Opts) facts(list []Fact, label, w int) []string {
	out := make([]string, 0, len(list))
	for _, f := range list {
		if w < 2*label {
			out = append(out, o.paint(Muted, o.cut(shown(f.Label), w)))
			for _, line := range wrap(shown(f.Text), w-2) {
				out = append(out, "  "+line)
			}
			continue
		}
		head := shown(f.Label)
		for _, line := range orBlank(wrap(shown(f.Text), w-label)) {
			out = append(out, o.cell(Muted, head, label-1)+" "+line)
			head = ""
		}
	}
	return out
}

// orBlank is lines, or one blank line where there are none.
func orBlank(lines []string) []string {
	if len(lines) == 0 {
		return []string{""}
	}
	return lines
}

// box draws a frame of at most want cells around the lines that draw makes for a width, with the title in its upper edge: at
// most o.H lines of at most o.W cells. Where there is no room for all of body, its end is left out and a line says how much. A
// screen that is too small for a frame gets none.
func (o *Opts) box(title string, role Role, want int, draw func(w int) (body, tail []string)) []string {
	w := min(want, o.W)
	if w < 12 || o.H < 6 {
		body, tail := draw(o.W)
		lines := append([]string{o.paint(role, o.cut(title, o.W))}, o.squeeze(body, tail, o.H-1)...)
		return fit(lines, o.W, min(len(lines), max(o.H, 0)))
	}
	inner := w - 6 // the edges and two blanks on either side
	body, tail := draw(inner)
	dash, side := o.glyph(glyphLine), o.glyph(glyphBar)
	corner := strings.Split(o.glyph(glyph{"+ + + +", "╭ ╮ ╰ ╯"}), " ")
	head := o.cut(title, w-8)
	out := []string{corner[0] + dash + dash + " " + o.paint(role, head) + " " + strings.Repeat(dash, w-6-cellsOf(head)) + corner[1]}
	for _, line := range o.squeeze(body, tail, o.H-2) {
		out = append(out, side+"  "+fitLine(line, inner)+"  "+side)
	}
	return append(out, corner[2]+strings.Repeat(dash, w-2)+corner[3])
}

// squeeze puts body and tail into at most h lines, a blank one between them if there is room.
func (o *Opts) squeeze(body, tail []string, h int) []string {
	if len(body) > 0 && len(tail) > 0 && tail[0] != "" && len(body)+len(tail) < h {
		body = append(body, "")
	}
	if len(body)+len(tail) > h {
		tail = slices.DeleteFunc(tail, func(line string) bool { return line == "" })
	}
	if n := max(h-len(tail), 0); len(body) > n {
		left := len(body) - n + 1
		if body = body[:max(n-1, 0)]; n > 0 {
			body = append(body, o.paint(Muted, fmt.Sprintf("%s %d more lines", o.glyph(glyphMore), left)))
		}
	}
	out := append(body, tail...)
	return out[max(len(out)-max(h, 0), 0):] // the last lines are the buttons and keys
}

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
