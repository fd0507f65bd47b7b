package feishu

import (
	"slices"
	"time"

	"gatewaytui/core/adapter/feishu/longconn"
)

const (
	// maxFrame bounds one frame, and the payload of several, in bytes.
	maxFrame = 4 << 20
	// maxPieces bounds the frames of one event, and maxOpen the events of which a frame is missing.
	maxPieces = 256
	maxOpen   = 32
	// maxWait is how long the missing frames of an event may take. Feishu sends one again of which some were lost.
	maxWait = time.Minute
)

// joiner joins the frames of events that came in several. It is for one goroutine.
type joiner struct {
	open []*torn // the oldest first
	size int     // bytes of all of them, at most maxFrame
}

// torn is an event of which a frame is missing.
type torn struct {
	id      string
	begun   time.Time
	parts   [][]byte
	size    int
	missing int
}

// join takes the payload of a frame and returns the event's; false: frames of it are missing, or it cannot be read.
func (p *joiner) join(f longconn.Frame, now time.Time) (payload []byte, whole bool) {
	sum, seq, id := f.Number(longconn.HeaderSum), f.Number(longconn.HeaderSeq), f.Header(longconn.HeaderID)
	if sum <= 1 {
		return f.Payload, true
	}
	if id == "" || sum > maxPieces || seq < 0 || seq >= sum || len(f.Payload) == 0 {
		return nil, false
	}
	for len(p.open) > 0 && now.Sub(p.open[0].begun) > maxWait {
		p.drop(0)
	}
	at := slices.IndexFunc(p.open, func(t *torn) bool { return t.id == id })
	if at >= 0 && len(p.open[at].parts) != sum { // it was sent again in another way
		p.drop(at)
		at = -1
	}
	if at < 0 {
		p.open = append(p.open, &torn{id: id, begun: now, parts: make([][]byte, sum), missing: sum})
		at = len(p.open) - 1
	}
	t := p.open[at]
	if t.parts[seq] == nil {
		t.missing--
	}
	grown := len(f.Payload) - len(t.parts[seq])
	t.parts[seq], t.size, p.size = f.Payload, t.size+grown, p.size+grown
	if t.missing == 0 {
		payload = slices.Concat(t.parts...)
		p.drop(at)
		return payload, len(payload) <= maxFrame
	}
	for len(p.open) > maxOpen || p.size > maxFrame {
		p.drop(0)
	}
	return nil, false
}

func (p *joiner) drop(at int) {
	p.size -= p.open[at].size
	p.open = slices.Delete(p.open, at, at+1)
}
