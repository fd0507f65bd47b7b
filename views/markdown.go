package views

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/adapter/markdown"
	"gatewaytui/core/term"
)

// run is a piece of text with one look.
type run struct {
	text string
	role Role
}

// markdown draws the Markdown of a model in lines of at most w cells. Nothing of the text is lost: what is not Markdown, or too
// much of it, is drawn as plain text, and long lines of code go on in the next line.
func (o *Opts) markdown(text string, w int) []string {
	var lines []string
	for i, b := range markdown.Parse(text) {
		if i > 0 && !b.Tight {
			lines = append(lines, "")
		}
		lines = append(lines, o.markdownBlock(b, max(w, 1))...)
	}
	return lines
}

func (o *Opts) markdownBlock(b markdown.Block, w int) []string {
	first, rest := "", ""
	if b.Depth > 0 {
		indent := spaces(2 * (b.Depth - 1))
		marker := o.clean(b.Marker, 12)
		first = indent + marker
		rest = indent + spaces(max(cellsOf(marker), 1)+1)
		first += spaces(cellsOf(rest) - cellsOf(first))
	}
	if b.Quoted {
		bar := o.glyph(glyphBar) + " "
		first, rest = bar+first, bar+rest
	}
	if cellsOf(rest) > w/2 { // deep lists on a narrow screen
		first, rest = "", ""
	}
	room := w - cellsOf(rest)
	var lines []string
	switch b.Kind {
	case markdown.Rule:
		lines = []string{o.paint(Muted, strings.Repeat(o.glyph(glyphLine), min(room, 20)))}
	case markdown.Fence:
		lines = o.code(b.Text(), room, Accent)
	default:
		lines = o.flow(o.runs(b), room)
	}
	for i, line := range lines {
		before := rest
		if i == 0 {
			before = first
		}
		lines[i] = o.paint(Muted, before) + line
	}
	return lines
}

// runs is the text of a block with its look.
func (o *Opts) runs(b markdown.Block) []run {
	var out []run
	for _, s := range b.Spans {
		text, role := s.Text, Plain
		switch {
		case b.Kind == markdown.Heading, s.Style&markdown.Bold != 0:
			role = Heading
		case s.Style&markdown.Code != 0:
			role = Accent
		}
		if s.Style&markdown.Italic != 0 && s.Style&markdown.Code == 0 {
			text = around(text, "_")
		}
		if s.Style&markdown.Strike != 0 {
			text = around(text, "~~")
		}
		out = append(out, run{text, role})
		if s.URL != "" && s.URL != s.Text {
			out = append(out, run{" (" + s.URL + ")", Muted})
		}
	}
	return out
}

// around puts a sign on both ends of text, within its white space.
func around(text, sign string) string {
	core := strings.TrimSpace(text)
	if core == "" {
		return text
	}
	at := strings.Index(text, core)
	return text[:at] + sign + core + sign + text[at+len(core):]
}

// flow breaks runs into lines of at most w cells, between words where it can. A line break of the text stays one.
func (o *Opts) flow(runs []run, w int) []string {
	f := flowing{o: o, w: max(w, 1)}
	for _, r := range runs {
		for rest := r.text; rest != ""; {
			switch n := strings.IndexFunc(rest, unicode.IsSpace); {
			case n < 0:
				f.add(rest, r.role)
				rest = ""
			case n > 0:
				f.add(rest[:n], r.role)
				rest = rest[n:]
			default:
				f.endWord()
				c, size := utf8.DecodeRuneInString(rest)
				if f.gap++; c == '\n' {
					f.endLine()
				}
				rest = rest[size:]
			}
		}
	}
	f.endWord()
	if f.used > 0 {
		f.endLine()
	}
	return f.lines
}

// flowing is a paragraph on its way into lines.
type flowing struct {
	o     *Opts
	w     int
	lines []string
	line  strings.Builder
	used  int // cells of line
	word  []run
	long  int // cells of word
	gap   int // blanks before word: a text may have columns
}

// add adds a part of a word, cleaned.
func (f *flowing) add(text string, role Role) {
	if text = f.o.clean(text, 0); text != "" {
		f.word = append(f.word, run{text, role})
		f.long += cellsOf(text)
	}
}

// endWord puts the word into the line, or into the next one if it does not fit. One that fits in no line is cut.
func (f *flowing) endWord() {
	if len(f.word) == 0 {
		return
	}
	if f.used > 0 {
		if f.used+f.gap+f.long > f.w {
			f.endLine()
		} else {
			f.line.WriteString(spaces(f.gap))
			f.used += f.gap
		}
	}
	for _, part := range f.word {
		for text := part.text; text != ""; {
			piece := text
			if cellsOf(piece) > f.w-f.used {
				if piece = ansi.Truncate(text, f.w-f.used, ""); piece == "" && f.used > 0 {
					f.endLine()
					continue
				} else if piece == "" { // a character that is wider than a line
					_, size := utf8.DecodeRuneInString(text)
					piece = text[:size]
				}
			}
			f.line.WriteString(f.o.paint(part.role, piece))
			f.used += cellsOf(piece)
			if text = strings.TrimPrefix(text, piece); text != "" {
				f.endLine()
			}
		}
	}
	f.word, f.long, f.gap = f.word[:0], 0, 0
}

func (f *flowing) endLine() {
	f.lines = append(f.lines, f.line.String())
	f.line.Reset()
	f.used, f.gap = 0, 0
}

// code is literal text in lines of at most w cells: white space stays, and a long line goes on in the next one.
func (o *Opts) code(text string, w int, role Role) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		line = strings.ReplaceAll(term.StripSGR(strings.TrimSuffix(line, "\r")), "\t", "    ")
		for part := range strings.SplitSeq(ansi.Hardwrap(o.clean(line, 0), max(w, 1), true), "\n") {
			lines = append(lines, o.paint(role, part))
		}
	}
	return lines
}
