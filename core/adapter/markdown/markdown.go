// Package markdown reads the Markdown of a model into blocks, from which each platform renders its own format, and cuts the
// blocks to messages (CV8). It knows no platform.
//
// What it promises: Parse never panics, and no letter of the text is lost: where the blocks would lack one, the text is one
// block of plain text. Cut divides between blocks where it can, and a fence only between its lines, so that each message
// has whole fences.
package markdown

import (
	"strings"
	"unicode"
)

// Style is how a span is written. Its values combine.
type Style uint8

// The styles.
const (
	Bold Style = 1 << iota
	Italic
	Strike
	Code
)

// Span is a piece of text of one style.
type Span struct {
	Text  string
	Style Style
	// URL is where a link leads; empty: it is no link.
	URL string
}

// Kind is what a block is.
type Kind int

// The kinds of blocks. A table is a fence with aligned columns.
const (
	Paragraph Kind = iota
	Heading
	Fence
	Rule
)

// Block is a paragraph, a heading, a fence with code, or a line across.
type Block struct {
	Kind Kind
	// Level is a heading's, from 1.
	Level int
	// Depth is in how many lists the block is, at most maxDepth. Marker begins the item, such as "•" or "3."; it is empty for
	// what follows in the same item.
	Depth  int
	Marker string
	// Quoted means that the block is in a quote. Tight means that no empty line is before it.
	Quoted, Tight bool
	// Language is a fence's, empty if it has none.
	Language string
	// Spans are the text. A fence has one, without its last newline.
	Spans []Span
}

// Text is the text of the block without its marker.
func (b Block) Text() string {
	var text strings.Builder
	for _, s := range b.Spans {
		text.WriteString(s.Text)
	}
	return text.String()
}

const (
	// maxSource and maxBrackets bound what is parsed, in bytes and in opening brackets: the parser's effort grows with their
	// squares. A longer text is taken as plain.
	maxSource   = 64 << 10
	maxBrackets = 2000
	// maxDepth bounds the depth of lists.
	maxDepth = 6
	// maxNested bounds how many blocks and styles are around a piece of text. What is deeper makes the whole text plain.
	maxNested = 64
)

// Parse reads Markdown as GitHub understands it. Bytes that are not UTF-8 become replacement characters.
func Parse(source string) []Block {
	source = strings.ToValidUTF8(source, "\uFFFD")
	if len(source) > maxSource || strings.Count(source, "[") > maxBrackets || nesting(source) > maxNested {
		return Plain(source)
	}
	r := reader{source: []byte(source)}
	r.blocks(r.parse(), around{tight: true})
	if r.tooDeep || lost(source, r.out) {
		return Plain(source)
	}
	return r.out
}

// Plain is text as one block, without a style; none if the text is blank.
func Plain(text string) []Block {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []Block{{Tight: true, Spans: []Span{{Text: text}}}}
}

// nesting is the most signs at the beginning of a line that open a block inside of another one. The parser's effort grows with it.
func nesting(source string) (most int) {
	for line := range strings.Lines(source) {
		n := 0
		for _, c := range line {
			if c == '>' || c == '-' || c == '*' || c == '+' || c == ')' || c == '.' {
				n++
			} else if !unicode.IsSpace(c) && !unicode.IsDigit(c) {
				break
			}
		}
		if strings.Trim(line, " \t\r\n-*") != "" { // else it is a line across
			most = max(most, n)
		}
	}
	return most
}
