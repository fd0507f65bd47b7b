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
	out := append(o.wrapped(Slow, d.News, w), o.wrapped(Muted, d.Note, w)...)
	if d.Want != "" {
		out = append(out, o.cut("type "+shown(d.Want)+" to go on: "+shown(d.Typed)+"_", w))
	}
	var buttons, keys []string
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
		if b.Key != "" {
			keys = append(keys, shown(b.Key)+" "+strings.ToLower(label))
		}
	}
	if len(buttons) > 0 {
		line := "      " + strings.Join(buttons, "     ")
		if cellsOf(line) > w {
			line = strings.Join(buttons, " ")
		}
		out = append(out, "", o.cut(line, w))
	}
	if line := d.keys(w, keys); line != "" {
		out = append(out, o.paint(Muted, o.cut(line, w)))
	}
	return out
}

// keys is the line of keys, in the first form that fits in w cells. The answers that act are never cut: a narrow form has
// them first, then how to cancel, then when keys are taken (TF40).
func (d Dialog) keys(w int, keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	armed, short := "keys armed in "+tenths(d.ArmsIn), "in "+tenths(d.ArmsIn)
	if d.Armed {
		armed, short = "", ""
	}
	acting := strings.Join(keys[1:], "  ")
	cancel := "esc " + strings.ToLower(shown(d.Buttons[0].Label))
	join := func(gap string, parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), gap)
	}
	forms := []string{
		join("   ", strings.Join(keys, "   "), armed),
		join("   ", armed, strings.Join(keys, "   ")),
		join("  ", acting, cancel, armed),
		join("  ", acting, cancel, short),
		join("  ", acting, cancel),
	}
	for _, form := range forms {
		if cellsOf(form) <= w {
			return form
		}
	}
	return forms[len(forms)-1]
}

// facts draws labelled texts in w cells. The texts wrap to the right of their labels, or below them on a narrow screen.
func (o *Opts) facts(list []Fact, label, w int) []string {
	var out []string
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
