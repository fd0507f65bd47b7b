package external

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
)

// steered is the world as the conformance suite steers it.
type steered struct{ *world }

func (p *steered) Platform() adapter.Platform { return p.world.Platform }

func (p *steered) Say(text string) { p.there.hear(direct(owner, text)) }

func (p *steered) Pass(d time.Duration) { p.after(d) }

func (p *steered) Texts() (out []string) {
	for _, o := range p.there.sent() {
		if o.file == "" {
			out = append(out, o.text)
		}
	}
	return out
}

func (p *steered) Fail(f conformance.Fault) bool {
	p.there.fails(string(f))
	return true
}

func (p *steered) Heal() { p.there.fails("") }

func (p *steered) SayFile(text, name, content string) {
	p.there.mu.Lock()
	p.there.content = append(p.there.content, []byte(content))
	ref := fmt.Sprintf("file-%d", len(p.there.content)-1)
	p.there.mu.Unlock()
	m := direct(owner, text)
	m.Files = []file{{Ref: ref, Name: name, Size: int64(len(content))}}
	p.there.hear(m)
}

func (p *steered) Files() (out []conformance.SentFile) {
	for _, o := range p.there.sent() {
		if o.file != "" {
			out = append(out, conformance.SentFile{Name: o.file, Content: string(o.content), Text: o.text})
		}
	}
	return out
}

func (p *steered) Reactions(id string) []string {
	p.there.mu.Lock()
	defer p.there.mu.Unlock()
	i := slices.IndexFunc(p.there.said, func(m message) bool { return m.ID == id })
	return p.there.signs[i]
}

func (p *steered) Press(label string, byStranger bool) bool {
	sent := p.there.sent()
	for _, row := range sent[len(sent)-1].buttons {
		for _, b := range row {
			if b.Label == label {
				m := direct(owner, b.Text)
				if byStranger {
					m.User = person(stranger)
				}
				m.Mentioned = true
				p.there.hear(m)
				return true
			}
		}
	}
	return false
}

func TestPL2_AProgramConforms(t *testing.T) {
	for name, r := range map[string]ready{
		"that can do everything": able,
		"that can only talk":     {Type: typeReady, Version: version},
	} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, func(t *testing.T, f func(t *testing.T, p conformance.Peer)) {
				simulateWith(t, r, func(w *world) { f(w.T, &steered{w}) })
			})
		})
	}
}
