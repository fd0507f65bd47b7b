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
	k := painterOf(o)
	role := Heading
	if d.Danger {
		role = Danger
	}
	return k.box(o, shown(d.Title), role, dialogWidth, d.body, d.tail)
}

// body is what may be shortened.
func (d Dialog) body(k painter, w int) []string {
	var out []string
	for _, line := range d.Text {
		out = append(out, wrap(shown(line), w)...)
	}
	if len(out) > 0 && len(d.Facts) > 0 {
		out = append(out, "")
	}
	return append(out, k.facts(d.Facts, labelWidth, w)...)
}

// tail is what is always seen.
func (d Dialog) tail(k painter, w int) []string {
	var out []string
	for _, line := range wrap(shown(d.News), w) {
		out = append(out, k.theme.Paint(Slow, line))
	}
	for _, line := range wrap(shown(d.Note), w) {
		out = append(out, k.theme.Paint(Muted, line))
	}
	if d.Want != "" {
		out = append(out, k.cut("type "+shown(d.Want)+" to go on: "+shown(d.Typed)+"_", w))
	}
	var buttons, keys []string
	for i, b := range d.Buttons {
		label := shown(b.Label)
		switch {
		case i == d.Focus:
			buttons = append(buttons, k.theme.Paint(Selected, "[ "+label+" ]"))
		case !d.Armed || d.Want != "" && d.Typed != d.Want:
			buttons = append(buttons, k.theme.Paint(Muted, "  "+label+"  "))
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
		out = append(out, "", k.cut(line, w))
	}
	if line := d.keys(w, keys); line != "" {
		out = append(out, k.theme.Paint(Muted, k.cut(line, w)))
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
func (k painter) facts(list []Fact, label, w int) []string {
	beside := w >= 2*label
	var out []string
	for _, f := range list {
		if !beside {
			out = append(out, k.theme.Paint(Muted, k.cut(shown(f.Label), w)))
			for _, line := range wrap(shown(f.Text), w-2) {
				out = append(out, "  "+line)
			}
			continue
		}
		lines := wrap(shown(f.Text), w-label)
		if len(lines) == 0 {
			lines = []string{""}
		}
		for i, line := range lines {
			head := ""
			if i == 0 {
				head = shown(f.Label)
			}
			out = append(out, k.cell(Muted, head, label-1)+" "+line)
		}
	}
	return out
}

// box draws a frame of at most want cells around body and tail, with the title in its upper edge: at most o.H lines of at
// most o.W cells. Where there is no room for all of body, its end is left out and a line says how much. A screen that is too
// small for a frame gets none.
func (k painter) box(o Opts, title string, role Role, want int, body, tail func(k painter, w int) []string) []string {
	w := min(want, o.W)
	if w < 12 || o.H < 6 {
		lines := append([]string{k.theme.Paint(role, k.cut(title, o.W))}, k.squeeze(body(k, o.W), tail(k, o.W), o.H-1)...)
		return fit(lines, o.W, min(len(lines), max(o.H, 0)))
	}
	inner := w - 6 // the edges and two blanks on either side
	lines := k.squeeze(body(k, inner), tail(k, inner), o.H-2)
	dash, side := k.pick("-", "─"), k.pick("|", "│")
	corner := strings.Split(k.pick("+ + + +", "╭ ╮ ╰ ╯"), " ")
	head := k.cut(title, w-8)
	out := make([]string, 0, len(lines)+2)
	out = append(out, corner[0]+strings.Repeat(dash, 2)+" "+k.theme.Paint(role, head)+" "+strings.Repeat(dash, w-6-cellsOf(head))+corner[1])
	for _, line := range lines {
		out = append(out, side+"  "+fitLine(line, inner)+"  "+side)
	}
	return append(out, corner[2]+strings.Repeat(dash, w-2)+corner[3])
}

// squeeze puts body and tail into at most h lines, a blank one between them if there is room.
func (k painter) squeeze(body, tail []string, h int) []string {
	if len(body) > 0 && len(tail) > 0 && tail[0] != "" && len(body)+len(tail) < h {
		body = append(body, "")
	}
	if len(body)+len(tail) > h {
		tail = withoutBlanks(tail)
	}
	if n := h - len(tail); len(body) > n {
		switch {
		case n < 1:
			body = nil
		default:
			left := len(body) - n + 1
			body = append(body[:n-1:n-1], k.theme.Paint(Muted, fmt.Sprintf("%s %d more lines", k.pick("...", "…"), left)))
		}
	}
	out := append(body[:len(body):len(body)], tail...)
	if len(out) > h { // the last lines are the buttons and keys
		out = out[len(out)-max(h, 0):]
	}
	return out
}

func withoutBlanks(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}
