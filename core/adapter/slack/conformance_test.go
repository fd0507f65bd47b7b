package slack

import (
	"slices"
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/slack/slacktest"
)

// steered is the world as the conformance suite steers it.
type steered struct{ *world }

func (p *steered) Platform() adapter.Platform { return p.world.Platform }

func (p *steered) Say(text string) { p.say(text) }

func (p *steered) Pass(d time.Duration) { p.after(d) }

func (p *steered) SayFile(text, name, content string) {
	p.api.Say(slacktest.Says{User: owner, Text: text, Files: map[string]string{name: content}})
}

// inChat are the bot's messages in the owner's chat.
func (p *steered) inChat() (out []slacktest.Message) {
	for _, m := range p.api.Sent() {
		if m.Channel == dm {
			out = append(out, m)
		}
	}
	return out
}

func (p *steered) Files() (out []conformance.SentFile) {
	for _, m := range p.inChat() {
		if m.FileName != "" {
			out = append(out, conformance.SentFile{Name: m.FileName, Content: m.File, Text: m.Text})
		}
	}
	return out
}

func (p *steered) Reactions(message string) (out []string) {
	for _, name := range p.api.Reactions(dm, message) {
		for emoji, known := range emojis {
			if known == name {
				out = append(out, emoji)
			}
		}
	}
	return out
}

func (p *steered) Press(label string, stranger bool) bool {
	who := owner
	if stranger {
		who = "U667"
	}
	// What the bot says of a press may come between two of them.
	return slices.ContainsFunc(p.inChat(), func(m slacktest.Message) bool { return p.api.Press(who, m.ID, label) })
}

func (p *steered) Texts() (out []string) {
	for _, m := range p.inChat() {
		out = append(out, m.Text)
	}
	return out
}

func (p *steered) Fail(f conformance.Fault) bool {
	switch f {
	case conformance.Flood:
		p.api.Fail("chat.postMessage", slacktest.Fault{Status: 429, RetryAfter: int(conformance.Limit.Seconds())})
		p.api.Fail("files.", slacktest.Fault{Status: 429, RetryAfter: int(conformance.Limit.Seconds())})
	case conformance.Refusal:
		p.api.Fail("chat.postMessage", slacktest.Fault{Error: "is_archived"})
		p.api.Fail("files.", slacktest.Fault{Error: "is_archived"})
	case conformance.BadToken:
		p.api.Fail("auth.test", slacktest.Fault{Error: "invalid_auth"})
	case conformance.Gone:
		p.api.Fail("", slacktest.Fault{Status: 502})
		p.api.Drop()
	case conformance.HalfDead:
		p.api.Fail("", slacktest.Fault{Hang: true})
		p.api.Deafen(true)
	default: // Slack lets several programs use an app, and its hello says so: TestE9_AnotherProgramWithASocketOfTheAppIsNamed
		return false
	}
	return true
}

func (p *steered) Heal() {
	p.api.Heal()
	p.api.Deafen(false)
}

func TestPL2_SlackConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T, f func(t *testing.T, p conformance.Peer)) {
		simulate(t, func(w *world) { f(w.T, &steered{w}) })
	})
}
