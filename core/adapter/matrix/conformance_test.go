package matrix

import (
	"slices"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/matrix/matrixtest"
)

// steered is the world as the conformance suite steers it. What is said before the bot was ever there is said once it is: to a
// bot without a place it is old.
type steered struct {
	*world
	early []string
}

func (p *steered) Platform() adapter.Platform { return p.world.Platform }

func (p *steered) Say(text string) {
	if p.api.Syncs() == 0 {
		p.early = append(p.early, text)
		return
	}
	p.say(text)
}

func (p *steered) Pass(d time.Duration) {
	if p.api.Syncs() > 0 {
		for _, text := range p.early {
			p.say(text)
		}
		p.early = nil
	}
	p.after(d)
}

func (p *steered) SayFile(text, name, content string) {
	p.api.Say(matrixtest.Says{User: owner, Name: "alice", Text: text, File: name, Content: content})
}

// sent are the bot's messages in the owner's room.
func (p *steered) sent() []matrixtest.Message {
	return slices.DeleteFunc(p.api.Sent(), func(m matrixtest.Message) bool { return m.Room != dm })
}

func (p *steered) Files() (out []conformance.SentFile) {
	for _, m := range p.sent() {
		if m.FileName != "" {
			out = append(out, conformance.SentFile{Name: m.FileName, Content: m.File, Text: m.Text})
		}
	}
	return out
}

func (p *steered) Reactions(message string) []string { return p.api.Reactions(dm, message) }

func (p *steered) Press(label string, stranger bool) bool {
	all := p.sent()
	last := all[len(all)-1]
	who := owner
	if stranger {
		who = "@mallory:example.org"
	}
	p.api.React(dm, who, last.ID, label)
	if stranger { // else the room is one of three
		p.api.Leave(dm, who)
	}
	return slices.Contains(last.Reactions, label)
}

func (p *steered) Texts() (out []string) {
	for _, m := range p.sent() {
		out = append(out, m.Text)
	}
	return out
}

func (p *steered) Fail(f conformance.Fault) bool {
	const upload = "POST /_matrix/media/"
	switch f {
	case conformance.Flood:
		flood := matrixtest.Fault{Status: 429, Code: "M_LIMIT_EXCEEDED", RetryAfter: conformance.Limit}
		p.api.Fail(anyRoom, flood)
		p.api.Fail(upload, flood)
	case conformance.Refusal:
		p.api.Fail(anyRoom, matrixtest.Fault{Status: 403, Code: "M_FORBIDDEN"})
	case conformance.BadToken:
		p.api.Fail(anyCall, matrixtest.Fault{Status: 401, Code: "M_UNKNOWN_TOKEN"})
	case conformance.Gone:
		p.api.Fail(anyCall, matrixtest.Fault{Status: 502})
	case conformance.HalfDead:
		p.api.Fail(anyCall, matrixtest.Fault{Hang: true})
	default: // a homeserver lets several programs use an account
		return false
	}
	return true
}

func (p *steered) Heal() { p.api.Heal() }

func TestPL2_MatrixConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T, f func(t *testing.T, p conformance.Peer)) {
		simulate(t, func(w *world) { f(w.T, &steered{world: w}) })
	})
}
