package views

import (
	"cmp"
	"fmt"
	"time"

	"gatewaytui/core/ops"
)

// Found is what a search found, newest first, one block of lines a message.
type Found struct {
	// Text is what was searched for.
	Text string
	Hits []ops.Hit
	// Selected is the index of the message that Enter goes to. It is always in sight.
	Selected int
	// Note is one line at the end.
	Note string
}

const (
	// foundWidth is how wide the page is at most, in cells.
	foundWidth = 100
	// foundLines is how many lines of a message are shown at most.
	foundLines = 2
)

// Lines draws the page.
func (f Found) Lines(o Opts) []string {
	return o.box("search: "+shown(f.Text), Heading, foundWidth, func(w int) (body, tail []string) {
		tail = []string{o.paint(Muted, o.cut(shown(f.Note), w))}
		first, last := 0, 0 // lines of the selected message
		for i, h := range f.Hits {
			role, mark := Muted, " "
			if i == f.Selected {
				first, role, mark = len(body), Selected, ">"
			}
			head := fmt.Sprintf("%s %s  %s  in %s", mark, h.At.In(o.Now.Location()).Format(time.DateTime), cmp.Or(h.Who, "agent"), h.Session)
			if h.Undone {
				head += "  (undone)"
			}
			body = append(body, o.paint(role, o.cut(shown(head), w)))
			lines := wrap(shown(h.Snippet), max(w-4, 1))
			for _, line := range lines[:min(foundLines, len(lines))] {
				body = append(body, "    "+line)
			}
			if i == f.Selected {
				last = len(body)
			}
		}
		room := max(o.H-2-len(tail), 1)
		at := min(max(last-room, 0), first)
		return body[at:min(at+room, len(body))], tail
	})
}
