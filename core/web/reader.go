package web

import (
	"bytes"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// mainLeast is how many bytes of text a main part has, so that the rest of its page is left out.
	mainLeast = 200
	// deepest is how deep lists are indented.
	deepest = 6
	// altMost is how much is shown of the description of a picture, titleMost of a title, in runes.
	altMost   = 200
	titleMost = 300
	// hrefMost is the longest address of a link that is shown, in bytes.
	hrefMost = 2000
)

// readHTML reads a page as Markdown: headings, lists, tables, code and links, whose addresses are made absolute with base. Scripts,
// forms and what the page hides are left out. Where the page marks its main part, and that is long enough, the text is that part.
//
// It reads tokens and builds no tree, so that its time and its memory grow with the length of the page alone. It stops at the first error of in.
func readHTML(in io.Reader, base *url.URL) (title, text string) {
	r := &reader{base: base, linkAt: -1}
	for z := html.NewTokenizer(in); ; {
		switch z.Next() {
		case html.ErrorToken:
			return r.title(), r.text()
		case html.TextToken:
			r.write(string(z.Text()))
		case html.StartTagToken:
			r.start(z.Token(), false)
		case html.SelfClosingTagToken:
			r.start(z.Token(), true)
		case html.EndTagToken:
			name, _ := z.TagName()
			r.end(atom.Lookup(name))
		}
	}
}

// Text is a page or a mail in HTML as Markdown, as readHTML reads it, without its title. It stops at the first error of in.
func Text(in io.Reader) string {
	_, text := readHTML(in, &url.URL{})
	return text
}

// reader is the state between two tokens.
type reader struct {
	base *url.URL
	out  []byte
	// skip is the element whose content is left out, and skipDepth how many of its kind are open; 0: none.
	skip      atom.Atom
	skipDepth int
	// heading is the text of the element title, and inTitle says that it is open.
	heading strings.Builder
	inTitle bool
	// breaks are the line breaks that stand before the next text, space a blank.
	breaks int
	space  bool
	// pre says that blanks count. cells is the number of the cell in its row.
	pre   bool
	cells int
	// lists are the open lists: the number of the next item, or 0 for one without numbers.
	lists []int
	// linkAt is where the text of the open link begins in out; -1: none is open. href is its address.
	linkAt int
	href   string
	// mains are the parts of out that are the main part of the page, mainDepth how many of their elements are open.
	mains     [][2]int
	mainDepth int
}

// left are the elements whose content a reader does not read.
var left = []atom.Atom{
	atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object, atom.Canvas, atom.Textarea,
	atom.Select, atom.Datalist, atom.Dialog, atom.Audio, atom.Video, atom.Noembed, atom.Noframes,
}

// hides are the elements that a page may hide, and that have to be closed: an end that is missing could hide the rest of the page.
var hides = []atom.Atom{
	atom.Div, atom.Span, atom.Section, atom.Article, atom.Aside, atom.Nav, atom.Header, atom.Footer, atom.Main, atom.A, atom.B, atom.I,
	atom.Em, atom.Strong, atom.Ul, atom.Ol, atom.Table, atom.Form, atom.Button, atom.Details, atom.Figure, atom.Pre, atom.Code, atom.Label,
}

// breaking are the elements that begin and end a line, and how many line breaks they have around them.
var breaking = map[atom.Atom]int{
	atom.P: 2, atom.H1: 2, atom.H2: 2, atom.H3: 2, atom.H4: 2, atom.H5: 2, atom.H6: 2, atom.Table: 2, atom.Pre: 2, atom.Blockquote: 2, atom.Hr: 2,
	atom.Section: 2, atom.Article: 2, atom.Main: 2, atom.Figure: 2, atom.Header: 2, atom.Footer: 2, atom.Aside: 2, atom.Nav: 2, atom.Details: 2, atom.Dl: 2,
	atom.Div: 1, atom.Li: 1, atom.Tr: 1, atom.Dt: 1, atom.Dd: 1, atom.Form: 1, atom.Fieldset: 1, atom.Address: 1, atom.Summary: 1, atom.Figcaption: 1,
	atom.Caption: 1, atom.Body: 1, atom.Br: 1, atom.Option: 1, atom.Legend: 1,
}

var levels = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}

// skips reports whether an element that begins is left out.
func (r *reader) skips(t html.Token, closed bool) bool {
	tag := t.DataAtom
	switch {
	case r.skipDepth > 0:
		if tag == r.skip && !closed {
			r.skipDepth++
		}
		return true
	case slices.Contains(left, tag) || slices.Contains(hides, tag) && hidden(t):
		if !closed {
			r.skip, r.skipDepth = tag, 1
		}
		return true
	}
	return false
}

func (r *reader) start(t html.Token, closed bool) {
	if r.skips(t, closed) {
		return
	}
	tag := t.DataAtom
	r.lineBreaks(breaking[tag])
	switch tag {
	case atom.Title:
		r.inTitle = r.heading.Len() == 0
	case atom.Base:
		r.rebase(attribute(t, "href"))
	case atom.Main, atom.Article:
		r.startMain()
	case atom.Ul, atom.Ol:
		r.startList(tag, t)
	case atom.Li:
		r.item()
	case atom.Tr:
		r.cells = 0
	case atom.Td, atom.Th:
		if r.cells++; r.cells > 1 {
			r.mark(" | ")
		}
	case atom.Pre:
		r.mark("```\n")
		r.pre = true
	case atom.Code:
		r.tick()
	case atom.Hr:
		r.mark("---")
		r.lineBreaks(2)
	case atom.Img:
		if alt := oneLine(attribute(t, "alt"), altMost); alt != "" {
			r.write(" [picture: " + alt + "] ")
		}
	case atom.A:
		r.startLink(attribute(t, "href"))
	}
	if level := levels[tag]; level > 0 {
		r.mark(strings.Repeat("#", level) + " ")
	}
}

func (r *reader) end(tag atom.Atom) {
	if r.skipDepth > 0 {
		if tag == r.skip {
			r.skipDepth--
		}
		return
	}
	switch tag {
	case atom.Title:
		r.inTitle = false
	case atom.Main, atom.Article:
		r.endMain()
	case atom.Ul, atom.Ol:
		r.lists = r.lists[:max(len(r.lists)-1, 0)]
		if len(r.lists) == 0 {
			r.lineBreaks(2)
		}
	case atom.Pre:
		if r.pre {
			r.pre, r.breaks, r.space = false, 0, false
			r.out = append(r.out, "\n```"...)
		}
	case atom.Code:
		r.tick()
	case atom.A:
		r.endLink()
	}
	r.lineBreaks(breaking[tag])
}

// write adds text with its blanks made one, or as it is in preformatted text.
func (r *reader) write(text string) {
	switch {
	case r.skipDepth > 0:
		return
	case r.inTitle:
		if r.heading.Len() < 4*titleMost {
			r.heading.WriteString(text)
		}
		return
	case r.pre:
		r.pending()
		r.out = append(r.out, strings.ReplaceAll(text, "\r\n", "\n")...)
		return
	}
	for len(text) > 0 {
		i := strings.IndexAny(text, " \t\r\n\f\u00a0")
		if i != 0 {
			word := text
			if i > 0 {
				word = text[:i]
			}
			r.pending()
			r.out = append(r.out, word...)
			text = text[len(word):]
			continue
		}
		text = strings.TrimLeft(text, " \t\r\n\f\u00a0")
		r.space = true
	}
}

// mark adds a sign of Markdown, which begins behind the breaks that stand before it.
func (r *reader) mark(sign string) {
	r.pending()
	r.out = append(r.out, sign...)
	r.space = false
}

// pending writes the breaks or the blank that stand before the next text.
func (r *reader) pending() {
	switch {
	case len(r.out) == 0:
	case r.breaks > 0:
		r.out = append(r.out, "\n\n"[:r.breaks]...)
	case r.space && !r.pre:
		r.out = append(r.out, ' ')
	}
	r.breaks, r.space = 0, false
}

func (r *reader) lineBreaks(n int) {
	if r.pre {
		return
	}
	if n > 0 {
		r.space = false
	}
	if n == 2 && len(r.lists) > 0 {
		n = 1 // a list stays together
	}
	r.breaks = max(r.breaks, n)
}

func (r *reader) tick() {
	if !r.pre && r.linkAt < 0 {
		r.write("`")
	}
}

func (r *reader) startList(tag atom.Atom, t html.Token) {
	if len(r.lists) == 0 {
		r.lineBreaks(2)
	}
	r.lineBreaks(1)
	first := 0
	if tag == atom.Ol {
		first = 1
		if n, err := strconv.Atoi(attribute(t, "start")); err == nil && n > 0 && n < 1<<20 {
			first = n
		}
	}
	r.lists = append(r.lists, first)
}

func (r *reader) item() {
	sign := "- "
	depth := len(r.lists) - 1
	if depth >= 0 && r.lists[depth] > 0 {
		sign = strconv.Itoa(r.lists[depth]) + ". "
		r.lists[depth]++
	}
	r.mark(strings.Repeat("  ", min(max(depth, 0), deepest)) + sign)
}

func (r *reader) startLink(href string) {
	r.endLink() // links do not contain links
	u := r.resolve(href)
	if u == "" || r.pre {
		return
	}
	r.mark("[")
	r.linkAt, r.href = len(r.out), u
}

// endLink ends the open link. One without text leaves nothing.
func (r *reader) endLink() {
	if r.linkAt < 0 {
		return
	}
	at := min(r.linkAt, len(r.out))
	text := strings.Join(strings.Fields(string(r.out[at:])), " ")
	space := r.space
	r.out = r.out[:at]
	if text == "" {
		r.out = r.out[:max(at-1, 0)]
		space = space || len(r.out) > 0 && r.out[len(r.out)-1] == ' '
		r.out = bytes.TrimSuffix(r.out, []byte(" "))
	} else {
		r.out = append(append(append(append(r.out, text...), "]("...), r.href...), ')')
	}
	r.linkAt, r.space = -1, space
}

func (r *reader) startMain() {
	if r.mainDepth++; r.mainDepth == 1 {
		r.mains = append(r.mains, [2]int{len(r.out), -1})
	}
}

func (r *reader) endMain() {
	if r.mainDepth == 0 {
		return
	}
	if r.mainDepth--; r.mainDepth == 0 {
		r.mains[len(r.mains)-1][1] = len(r.out)
	}
}

// rebase takes the address from which the links of the page begin.
func (r *reader) rebase(href string) {
	if u, err := r.base.Parse(strings.TrimSpace(href)); err == nil && href != "" && len(href) <= hrefMost {
		r.base = u
	}
}

// resolve is the absolute address of a link; empty: it leads to no other page.
func (r *reader) resolve(href string) string {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' || len(href) > hrefMost {
		return ""
	}
	u, err := r.base.Parse(href)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return ""
	}
	return strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(u.String())
}

func (r *reader) title() string { return oneLine(r.heading.String(), titleMost) }

// text is the main part of the page, or all of it.
func (r *reader) text() string {
	r.endLink()
	var part []byte
	for _, m := range r.mains {
		end := m[1]
		if end < 0 {
			end = len(r.out)
		}
		part = append(append(part, r.out[min(m[0], end):end]...), '\n', '\n')
	}
	if len(part) < mainLeast {
		part = r.out
	}
	return squeezed(clean(string(part)))
}

// hidden reports whether a page hides an element.
func hidden(t html.Token) bool {
	for _, a := range t.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			if a.Val == "true" {
				return true
			}
		case "style":
			style := strings.ToLower(strings.ReplaceAll(a.Val, " ", ""))
			if strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden") || strings.Contains(style, "font-size:0") || strings.Contains(style, "opacity:0;") {
				return true
			}
		}
	}
	return false
}

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
