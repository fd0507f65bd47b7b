package process

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/term"
)

// output keeps the beginning and the end of what a process wrote, and how many bytes are missing in between. It never
// holds more than limit bytes. Known secrets are masked before anything is kept, so that no cut leaves a part of one
// (HF23).
type output struct {
	limit int

	mu     sync.Mutex
	mask   term.Masker
	head   []byte // the first limit/2 bytes
	tail   []byte // the last bytes of the rest
	total  int64  // everything that was written
	lastAt time.Time
}

func newOutput(limit int, secrets *term.Redactor) *output {
	return &output{limit: limit, mask: secrets.Masker()}
}

// add adds what was read, except for an end that may be the beginning of a secret.
func (o *output) add(b []byte, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	b = o.mask.Next(b)
	o.total += int64(len(b))
	o.lastAt = at
	if room := o.limit/2 - len(o.head); room > 0 {
		n := min(room, len(b))
		o.head = append(o.head, b[:n]...)
		b = b[n:]
	}
	size := o.limit - o.limit/2
	if len(b) > size {
		b = b[len(b)-size:]
	}
	if over := len(o.tail) + len(b) - size; over > 0 {
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	o.tail = append(o.tail, b...)
}

// written is how many bytes were written, and when the last of them.
func (o *output) written() (total int64, last time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total, o.lastAt
}

// shownTail is the tail plus what add held back. o.mu is held.
func (o *output) shownTail() []byte { return slices.Concat(o.tail, o.mask.Rest()) }

// text is everything that is kept, with a line in place of the missing bytes.
func (o *output) text() (s string, truncated bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	end := o.shownTail()
	dropped := o.total + int64(len(o.mask.Rest())) - int64(len(o.head)+len(end))
	if dropped == 0 {
		return valid(slices.Concat(o.head, end)), false
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", valid(o.head), dropped, valid(end)), true
}

// since returns what was written from offset on, at most limit bytes of it, the offset to continue with, and how many
// bytes before the text are lost.
func (o *output) since(offset int64, limit int) (s string, next, missed int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	offset = min(max(offset, 0), o.total)
	end := o.tail
	endAt := o.total - int64(len(end))
	var b []byte
	switch head := int64(len(o.head)); {
	case offset < head && endAt == head:
		b = slices.Concat(o.head[offset:], end)
	case offset < head:
		b = o.head[offset:]
	case offset < endAt:
		missed = endAt - offset
		offset, b = endAt, end
	default:
		b = end[offset-endAt:]
	}
	if limit > 0 && len(b) > limit {
		b = b[:limit]
	}
	return valid(b), offset + int64(len(b)), missed
}

// lastLine is the last line that is not empty, within the last kilobyte.
func (o *output) lastLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	const look = 1 << 10
	end := o.shownTail()
	if len(end) < look {
		end = slices.Concat(o.head, end)
	}
	if len(end) > look {
		end = end[len(end)-look:]
	}
	s := strings.TrimRight(string(end), "\r\n \t")
	// A carriage return starts the line again; only what a progress bar shows last counts.
	return s[strings.LastIndexAny(s, "\r\n")+1:]
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }
