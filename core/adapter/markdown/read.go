package markdown

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// reader turns goldmark's tree into blocks.
type reader struct {
	source  []byte
	out     []Block
	tooDeep bool
}

// around is what is around a node.
type around struct {
	nested int
	depth  int
	quoted bool
	marker string
	// tight: no empty line is before the first block below.
	tight bool
	style Style
	url   string
}

// parse has a parser of its own for each text: goldmark does not say that one may be shared.
func (r *reader) parse() ast.Node {
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList, extension.Linkify))
	return md.Parser().Parse(text.NewReader(r.source))
}

// blocks reads the blocks below n. The first of them has a's marker.
func (r *reader) blocks(n ast.Node, a around) {
	if a.nested++; a.nested > maxNested {
		r.tooDeep = true
		return
	}
	first := true
	for child := n.FirstChild(); child != nil && !r.tooDeep; child = child.NextSibling() {
		if !first {
			a.marker, a.tight = "", !child.HasBlankPreviousLines()
		}
		r.block(child, a)
		first = false
	}
	if first && a.marker != "" { // an item without content
		r.add(Block{}, a)
	}
}

func (r *reader) block(n ast.Node, a around) {
	switch n := n.(type) {
	case *ast.Heading:
		r.add(Block{Kind: Heading, Level: n.Level, Spans: r.spans(n, a)}, a)
	case *ast.Blockquote:
		a.quoted = true
		r.blocks(n, a)
	case *ast.List:
		r.list(n, a)
	case *ast.FencedCodeBlock:
		language, rest := "", ""
		if n.Info != nil {
			language, rest, _ = strings.Cut(r.resolve(n.Info.Segment.Value(r.source)), " ")
		}
		if rest = strings.TrimSpace(rest); rest != "" { // a title, for instance
			r.add(Block{Spans: []Span{{Text: rest, Style: Italic}}}, a)
			a.marker, a.tight = "", true
		}
		r.fence(Block{Language: language, Spans: []Span{{Text: r.lines(n)}}}, a)
	case *ast.CodeBlock:
		r.fence(Block{Spans: []Span{{Text: r.lines(n)}}}, a)
	case *ast.HTMLBlock:
		said := r.lines(n)
		if n.HasClosure() {
			said += string(n.ClosureLine.Value(r.source))
		}
		r.add(Block{Spans: []Span{{Text: lineBreak.ReplaceAllString(said, "\n")}}}, a)
	case *ast.ThematicBreak:
		r.add(Block{Kind: Rule}, a)
	case *extast.Table:
		r.fence(Block{Spans: []Span{{Text: r.table(n)}}}, a)
	default:
		r.add(Block{Spans: r.spans(n, a)}, a)
	}
}

func (r *reader) list(n *ast.List, a around) {
	a.depth = min(a.depth+1, maxDepth)
	number := n.Start
	if a.marker != "" { // a list right at the beginning of an item
		r.add(Block{}, around{depth: a.depth - 1, marker: a.marker, quoted: a.quoted, tight: a.tight})
		a.tight = true
	}
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		a.marker = "•"
		if n.IsOrdered() {
			a.marker = fmt.Sprintf("%d%c", number, n.Marker)
			number++
		}
		r.blocks(item, a)
		a.tight = n.IsTight
	}
}

func (r *reader) fence(b Block, a around) {
	if a.marker != "" { // it stands alone, before the fence
		r.add(Block{}, a)
		a.marker, a.tight = "", true
	}
	b.Kind = Fence
	b.Spans[0].Text = strings.TrimRight(b.Spans[0].Text, "\n")
	r.add(b, a)
}

// add adds a block, unless it has nothing to show.
func (r *reader) add(b Block, a around) {
	b.Depth, b.Marker, b.Quoted, b.Tight = a.depth, a.marker, a.quoted, a.tight || len(r.out) == 0
	if b.Kind == Paragraph {
		b.Spans = trim(b.Spans)
	}
	if b.Kind != Rule && b.Marker == "" && strings.TrimSpace(b.Text()) == "" {
		return
	}
	r.out = append(r.out, b)
}

// trim takes the white space off both ends.
func trim(spans []Span) []Span {
	for len(spans) > 0 {
		if spans[0].Text = strings.TrimLeftFunc(spans[0].Text, unicode.IsSpace); spans[0].Text != "" {
			break
		}
		spans = spans[1:]
	}
	for len(spans) > 0 {
		last := &spans[len(spans)-1]
		if last.Text = strings.TrimRightFunc(last.Text, unicode.IsSpace); last.Text != "" {
			break
		}
		spans = spans[:len(spans)-1]
	}
	return spans
}

// lines are the lines of a block of literal text.
func (r *reader) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(r.source))
	}
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

// spans reads the text below n.
func (r *reader) spans(n ast.Node, a around) (spans []Span) {
	if a.nested++; a.nested > maxNested {
		r.tooDeep = true
		return nil
	}
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		spans = append(spans, r.span(child, a)...)
	}
	return merge(spans)
}

func (r *reader) span(n ast.Node, a around) []Span {
	plain := func(s string) []Span { return []Span{{Text: s, Style: a.style, URL: a.url}} }
	switch n := n.(type) {
	case *ast.Text:
		said := n.Segment.Value(r.source)
		s := string(said)
		if !n.IsRaw() {
			s = r.resolve(said)
		}
		if n.SoftLineBreak() || n.HardLineBreak() {
			s += "\n"
		}
		return plain(s)
	case *ast.String:
		return plain(string(n.Value))
	case *ast.AutoLink:
		return plain(string(n.Label(r.source)))
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			b.Write(segment.Value(r.source))
		}
		return plain(lineBreak.ReplaceAllString(b.String(), "\n"))
	case *extast.TaskCheckBox:
		if n.IsChecked {
			return plain("☑ ")
		}
		return plain("☐ ")
	case *ast.CodeSpan:
		a.style |= Code
		spans := r.spans(n, a)
		for i := range spans {
			spans[i].Text = strings.ReplaceAll(spans[i].Text, "\n", " ")
		}
		return spans
	case *ast.Emphasis:
		if n.Level > 1 {
			a.style |= Bold
		} else {
			a.style |= Italic
		}
	case *extast.Strikethrough:
		a.style |= Strike
	case *ast.Link:
		return r.link(n, string(n.Destination), a)
	case *ast.Image:
		return r.link(n, string(n.Destination), a)
	}
	return r.spans(n, a)
}

// link is a link to a page, or a text with the destination behind it where that is something else, such as a path.
func (r *reader) link(n ast.Node, to string, a around) []Span {
	if web(to) {
		a.url = to
		spans := r.spans(n, a)
		if strings.TrimSpace((Block{Spans: spans}).Text()) == "" {
			spans = []Span{{Text: to, Style: a.style, URL: to}}
		}
		return spans
	}
	spans := r.spans(n, a)
	switch said := (Block{Spans: spans}).Text(); {
	case said == "":
		return []Span{{Text: to, Style: a.style, URL: a.url}}
	case to == "" || said == to:
		return spans
	}
	return append(spans, Span{Text: " (" + to + ")", Style: a.style, URL: a.url})
}

// web reports whether a link leads to a page: to nothing that a platform would refuse, or a program would run.
func web(to string) bool {
	for _, scheme := range []string{"https://", "http://"} {
		if len(to) > len(scheme) && strings.EqualFold(to[:len(scheme)], scheme) {
			return !strings.ContainsFunc(to, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) })
		}
	}
	return false
}

// merge joins neighbours of the same style.
func merge(spans []Span) []Span {
	var out []Span
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && out[last].Style == s.Style && out[last].URL == s.URL {
			out[last].Text += s.Text
		} else if s.Text != "" {
			out = append(out, s)
		}
	}
	return out
}

// resolve takes the backslashes off and resolves the names of characters.
func (r *reader) resolve(said []byte) string {
	return string(util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(said))))
}

var (
	lineBreak = regexp.MustCompile(`(?i)<br\s*/?>`)
	// signs are letters of Markdown that are not text.
	signs = regexp.MustCompile(`(?i)<br\s*/?>|&[a-z0-9#]+;|\[x\]`)
)

// lost reports whether the blocks lack a letter of the source, or all of it.
func lost(source string, blocks []Block) bool {
	have, seen := map[rune]int{}, false
	note := func(s string) {
		for _, c := range s {
			if unicode.IsLetter(c) {
				have[c]++
			}
			seen = seen || !unicode.IsSpace(c)
		}
	}
	for _, b := range blocks {
		note(b.Language)
		seen = seen || b.Kind == Rule
		for i, s := range b.Spans {
			note(s.Text)
			if s.URL != s.Text && (i == 0 || b.Spans[i-1].URL != s.URL) {
				note(s.URL)
			}
		}
	}
	for _, c := range signs.ReplaceAllString(source, "") {
		if unicode.IsLetter(c) {
			if have[c]--; have[c] < 0 {
				return true
			}
		}
	}
	return !seen && strings.TrimSpace(source) != ""
}

// cells are the texts of a table, row by row, and its alignments.
func (r *reader) cells(n *extast.Table) (rows [][]string) {
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			said := ""
			for _, s := range r.spans(cell, around{}) {
				said += s.Text
				if s.URL != "" && s.URL != s.Text {
					said += " (" + s.URL + ")"
				}
			}
			cells = append(cells, strings.Join(strings.Fields(said), " "))
		}
		rows = append(rows, cells)
	}
	return rows
}

// table is a table as text with aligned columns.
func (r *reader) table(n *extast.Table) string {
	rows := r.cells(n)
	var widths []int
	for _, cells := range rows {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell))
		}
	}
	var b strings.Builder
	for i, cells := range rows {
		line := make([]string, len(cells))
		for c, cell := range cells {
			align := extast.AlignNone
			if c < len(n.Alignments) {
				align = n.Alignments[c]
			}
			line[c] = pad(cell, widths[c], align)
		}
		b.WriteString(strings.TrimRight(strings.Join(line, " | "), " ") + "\n")
		if i == 0 {
			for c := range line {
				line[c] = strings.Repeat("-", widths[c])
			}
			b.WriteString(strings.Join(line, "-|-") + "\n")
		}
	}
	return b.String()
}

func pad(cell string, to int, align extast.Alignment) string {
	left, free := 0, to-width(cell)
	switch align {
	case extast.AlignRight:
		left = free
	case extast.AlignCenter:
		left = free / 2
	}
	return strings.Repeat(" ", left) + cell + strings.Repeat(" ", free-left)
}
