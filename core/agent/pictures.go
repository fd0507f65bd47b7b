package agent

import (
	"errors"
	"fmt"
	"sync"

	"gatewaytui/core/model"
	"gatewaytui/core/window"
)

const (
	// picturesPerCall bounds the pictures that the result of one call shows.
	picturesPerCall = 4
	// mostPictures and mostPictureBytes bound the pictures of results in a request. Endpoints take requests of 32 MB, with what users show:
	// https://docs.anthropic.com/en/api/overview#request-size-limits
	mostPictures     = 16
	mostPictureBytes = 12 << 20
)

// pictures are those that one call of a tool shows.
type pictures struct {
	mu    sync.Mutex // guards what follows; never held over I/O
	all   []model.Image
	bytes int
	over  bool
}

// shows is what a call of a tool may show; nil if the model cannot see.
func (r *run) shows() *pictures {
	if !r.a.cfg.Models.Vision() {
		return nil
	}
	return &pictures{}
}

// function is tool.Call.Show.
func (p *pictures) function() func(model.Image) error {
	if p == nil {
		return nil
	}
	return p.show
}

func (p *pictures) show(picture model.Image) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.over:
		return errors.New("the call has ended")
	case len(p.all) == picturesPerCall:
		return fmt.Errorf("a result shows at most %d pictures", picturesPerCall)
	case p.bytes+len(picture.URL) > mostPictureBytes:
		return fmt.Errorf("the pictures of a result have at most %d MiB", mostPictureBytes>>20)
	}
	p.all, p.bytes = append(p.all, picture), p.bytes+len(picture.URL)
	return nil
}

// taken are the pictures when the call has ended: what comes later is refused.
func (p *pictures) taken() []model.Image {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	return p.all
}

// boundPictures hides the oldest pictures of results where there are too many. It leaves half of what may be there: each time that it hides
// some, the endpoint's cache of the conversation is lost.
func (a *Agent) boundPictures() {
	bytes, n := 0, 0
	for _, m := range a.messages {
		if m.Role == model.RoleTool {
			n, bytes = n+len(m.Images), bytes+pictureBytes(m)
		}
	}
	if n <= mostPictures && bytes <= mostPictureBytes {
		return
	}
	for i, m := range a.messages {
		if n <= mostPictures/2 && bytes <= mostPictureBytes/2 || i == len(a.messages)-1 { // the newest result has bounds of its own
			return
		}
		if m.Role == model.RoleTool && len(m.Images) > 0 {
			n, bytes = n-len(m.Images), bytes-pictureBytes(m)
			a.hide(i)
		}
	}
}

// result names the result of a call. Endpoints may give the calls of two turns the same id.
type result struct{ call, text string }

// shownResults are the pictures of results, which are in memory alone.
func (a *Agent) shownResults() map[result][]model.Image {
	shown := map[result][]model.Image{}
	for _, m := range a.messages {
		if m.Role == model.RoleTool && len(m.Images) > 0 {
			shown[result{m.ToolCallID, m.Content}] = m.Images
		}
	}
	return shown
}

// showAgain gives results that were read again their pictures.
func (a *Agent) showAgain(shown map[result][]model.Image) {
	if len(shown) == 0 {
		return
	}
	for i := range a.messages {
		if m := &a.messages[i]; m.Role == model.RoleTool {
			m.Images = shown[result{m.ToolCallID, m.Content}]
		}
	}
	a.take(a.past())
}

func pictureBytes(m model.Message) (n int) {
	for _, i := range m.Images {
		n += len(i.URL)
	}
	return n
}

// forgetImages hides the pictures of the turn that ended: a later turn does not pay for them again, and what is durable has the note as
// well.
func (a *Agent) forgetImages() {
	for i := range a.messages {
		a.hide(i)
	}
}

// hide leaves the pictures of a message out. Its text names them.
func (a *Agent) hide(i int) {
	m := &a.messages[i]
	if len(m.Images) == 0 {
		return
	}
	a.bytes.Add(-m.Bytes())
	a.tokens -= window.Message(*m)
	m.Images = nil
	a.bytes.Add(m.Bytes())
	a.tokens += window.Message(*m)
}
