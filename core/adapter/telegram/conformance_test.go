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
		p.w.api.Fail("sendMessage", botapitest.Fault{Code: 429, RetryAfter: int(conformance.Limit.Seconds())})
	case conformance.Refusal:
		p.w.api.Fail("sendMessage", botapitest.Fault{Code: 403})
	case conformance.BadToken:
		p.w.api.Fail("", botapitest.Fault{Code: 401})
	case conformance.Conflict:
		p.w.api.Fail("getUpdates", botapitest.Fault{Code: 409})
	case conformance.Gone:
		p.w.api.Fail("", botapitest.Fault{Drop: true, Code: 0, Delay: 0, Hang: false})
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
