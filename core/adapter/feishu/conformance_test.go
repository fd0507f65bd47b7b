package feishu

import (
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/feishu/feishutest"
)

// steered is the world as the conformance suite steers it.
type steered struct{ *world }

func (p steered) Platform() adapter.Platform { return p.world.Platform }

func (p steered) Say(text string) { p.say(text) }

func (p steered) Pass(d time.Duration) { p.after(d) }

func (p steered) SayFile(text, name, content string) {
	p.api.Say(feishutest.Says{User: owner, Text: text, FileName: name, File: content})
}

// sent are the messages in the chat with the owner.
func (p steered) sent() (out []feishutest.Message) {
	for _, m := range p.api.Sent() {
		if m.To == feishutest.Alone(owner) {
			out = append(out, m)
		}
	}
	return out
}

// Files have the text of the message before them: Feishu has none next to a file.
func (p steered) Files() (out []conformance.SentFile) {
	before := ""
	for _, m := range p.sent() {
		if m.FileName != "" {
			out = append(out, conformance.SentFile{Name: m.FileName, Content: m.File, Text: before})
		}
		before = m.Text
	}
	return out
}

func (p steered) Reactions(message string) (out []string) {
	for _, kind := range p.api.Reactions(message) {
		for emoji, word := range emojis {
			if word == kind {
				out = append(out, emoji)
			}
		}
	}
	return out
}

func (p steered) Press(label string, isStranger bool) bool {
	all := p.sent()
	who := owner
	if isStranger {
		who = stranger
	}
	return len(all) > 0 && p.api.Press(who, all[len(all)-1].ID, label)
}

func (p steered) Texts() (out []string) {
	for _, m := range p.sent() {
		out = append(out, m.Text)
	}
	return out
}

const sends = "POST /open-apis/im/v1/messages"

func (p steered) Fail(f conformance.Fault) bool {
	switch f {
	case conformance.Flood:
		p.api.Fail(sends, feishutest.Fault{Status: 429, Code: 99991400, RetryAfter: int(conformance.Limit.Seconds())})
	case conformance.Refusal:
		p.api.Fail(sends, feishutest.Fault{Status: 400, Code: 230002})
	case conformance.BadToken:
		p.api.Fail("POST /open-apis/auth/", feishutest.Fault{Status: 200, Code: 10014})
	case conformance.Conflict:
		p.api.Refuse(&feishutest.Refusal{Handshake: authFailed, Auth: tooManyOpen})
	case conformance.Gone:
		p.api.Fail("", feishutest.Fault{Status: 502})
		p.api.Drop()
	case conformance.HalfDead:
		p.api.Fail("", feishutest.Fault{Hang: true})
		p.api.Deafen(true)
	default:
		return false
	}
	return true
}

func (p steered) Heal() {
	p.api.Heal()
	p.api.Refuse(nil)
	p.api.Deafen(false)
}

func TestPL2_FeishuConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T, f func(t *testing.T, p conformance.Peer)) {
		simulate(t, func(w *world) { f(w.T, steered{w}) })
	})
}
