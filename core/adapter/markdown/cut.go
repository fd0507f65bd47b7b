package markdown

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Cut divides blocks into messages. size is how long the message of some blocks is in the platform's own count, and limit,
// at least 64, the most of it. A message ends between blocks where that is possible, else between lines or words; a
// heading is not the last of a message. A fence that is cut is a fence in both messages.
func Cut(blocks []Block, limit int, size func([]Block) int) (messages [][]Block) {
	blocks = slices.Clone(blocks)
	for len(blocks) > 0 {
		// How many fit. A block takes one at least, with what is between it and the next.
		n := sort.Search(min(len(blocks), limit), func(i int) bool { return size(blocks[:i+1]) > limit })
		if n == len(blocks) {
			return append(messages, blocks)
		}
		part, next := slices.Clip(blocks[:n]), blocks[n]
		if n > 0 && (2*size(part) > limit || size(blocks[n:n+1]) <= limit) {
			if n > 1 && part[n-1].Kind == Heading { // it belongs to what follows it
				n--
			}
			messages, blocks = append(messages, part[:n]), blocks[n:]
			continue
		}
		head, rest := next.cut(limit, func(b Block) bool { return size(append(part, b)) <= limit })
		messages = append(messages, append(part, head))
		if blocks = blocks[n+1:]; rest.Text() != "" {
			blocks = slices.Insert(blocks, 0, rest)
		}
	}
	return messages
}

// cut divides a block that does not fit. The head is as long as fits allows, and at most limit characters; it
// has at least one.
func (b Block) cut(limit int, fits func(Block) bool) (head, rest Block) {
	text := b.Text()
	var ends []int // of the heads that are tried, in bytes
	for i := range text {
		if i > 0 {
			ends = append(ends, i)
		}
		if len(ends) == limit {
			break
		}
	}
	switch n := sort.Search(len(ends), func(i int) bool { return !fits(b.at(0, ends[i])) }); {
	case n > 0:
		end := breakBefore(text, ends[n-1])
		head, rest = b.at(0, end), b.after(end)
	case len(ends) == 0:
		return b, Block{}
	default:
		head, rest = b.at(0, ends[0]), b.after(ends[0])
	}
	if b.Kind == Fence && head.Text() != "\n" {
		head.Spans[0].Text = strings.TrimSuffix(head.Spans[0].Text, "\n")
	}
	return head, rest
}

// breakBefore is where a text that may be at most end bytes long is cut: after the last newline in its second half, else
// after the last white space there, else at end.
func breakBefore(text string, end int) int {
	half := text[end/2 : end]
	if i := strings.LastIndexByte(half, '\n'); i >= 0 {
		return end/2 + i + 1
	}
	if i := strings.LastIndexFunc(half, unicode.IsSpace); i >= 0 {
		_, size := utf8.DecodeRuneInString(half[i:])
		return end/2 + i + size
	}
	return end
}

// at is the block with the part of its text from one byte to another.
func (b Block) at(from, to int) Block {
	var spans []Span
	for _, s := range b.Spans {
		n := len(s.Text)
		if low, high := max(from, 0), min(to, n); low < high {
			s.Text = s.Text[low:high]
			spans = append(spans, s)
		}
		from, to = from-n, to-n
	}
	b.Spans = spans
	return b
}

// after is what follows the first bytes of the block.
func (b Block) after(from int) Block {
	b = b.at(from, len(b.Text()))
	b.Marker, b.Tight = "", true
	return b
}

// width is how many columns a text takes in a font of fixed width.
func width(s string) int { return (&runewidth.Condition{StrictEmojiNeutral: true}).StringWidth(s) }
