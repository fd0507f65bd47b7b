package telegram

import (
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/telegram/botapitest"
)

// steered is the world as the conformance suite steers it.
type steered struct{ w *world }

func (p steered) Platform() adapter.Platform { return p.w.Platform }
func (p steered) Say(text string)            { p.w.say(text) }
func (p steered) Heal()                      { p.w.api.Heal() }
func (p steered) Pass(d time.Duration)       { p.w.after(d) }

func (p steered) SayFile(text, name, content string) {
	m := fields{"document": p.w.api.Document(name, "text/plain", content)}
	if text != "" {
		m["caption"] = text
	}
	p.w.api.Inject(botapitest.Update{User: owner, Message: m})
}

func (p steered) Files() (out []conformance.SentFile) {
	for _, m := range p.w.api.Sent() {
		if m.ChatID == owner && m.Kind != "" {
			out = append(out, conformance.SentFile{Name: m.FileName, Content: m.File, Text: m.Text})
		}
	}
	return out
}

func (p steered) Drafts() (out []string) {
	for _, d := range p.w.api.Drafts() {
		if d.ChatID == owner && d.ID == 7 {
			out = append(out, d.Text)
		}
	}
	return out
}

func (p steered) Reactions(message string) []string {
	id, err := messageID(message)
	if err != nil {
		p.w.Fatal(err)
	}
	if r := p.w.api.Reaction(owner, id); r != "" {
		return []string{r}
	}
	return nil
}

func (p steered) Press(label string, stranger bool) bool {
	if stranger {
		return p.w.api.Press(other, owner, label)
	}
	return p.w.api.Press(owner, 0, label)
}

func (p steered) Texts() (out []string) {
	for _, m := range p.w.api.Sent() {
		if m.ChatID == owner {
			out = append(out, m.Text)
		}
	}
	return out
}

func (p steered) Fail(f conformance.Fault) bool {
	switch f {
	case conformance.Flood:
		for _, method := range []string{"sendMessage", "sendDocument"} {
			p.w.api.Fail(method, botapitest.Fault{Code: 429, RetryAfter: int(conformance.Limit.Seconds())})
		}
	case conformance.Refusal:
		for _, method := range []string{"sendMessage", "sendDocument"} {
			p.w.api.Fail(method, botapitest.Fault{Code: 403})
		}
	case conformance.BadToken:
		p.w.api.Fail("", botapitest.Fault{Code: 401})
	case conformance.Conflict:
		p.w.api.Fail("getUpdates", botapitest.Fault{Code: 409})
	case conformance.Gone:
		p.w.api.Fail("", botapitest.Fault{Drop: true})
	case conformance.HalfDead:
		p.w.api.Fail("", botapitest.Fault{Hang: true})
	}
	return true
}

func TestPL2_TelegramConforms(t *testing.T) {
	conformance.Run(t, func(t *testing.T, f func(t *testing.T, p conformance.Peer)) {
		simulate(t, func(w *world) { f(w.T, steered{w}) })
	})
}
