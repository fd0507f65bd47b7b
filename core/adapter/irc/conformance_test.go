package irc

import (
	"testing"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/conformance"
	"gatewaytui/core/adapter/irc/irctest"
)

// steered is the world as the conformance suite steers it.
type steered struct{ *world }

func (p *steered) Platform() adapter.Platform { return p.world.Platform }

func (p *steered) Say(text string) { p.server.Say(alice, "bot", text) }

func (p *steered) Pass(d time.Duration) { p.after(d) }

func (p *steered) Texts() []string { return p.texts() }

func (p *steered) Fail(f conformance.Fault) bool {
	switch f {
	case conformance.Flood:
		p.server.Fail(irctest.Faults{Flood: true})
	case conformance.Refusal:
		p.server.Fail(irctest.Faults{NoSuch: true})
	case conformance.BadToken:
		p.server.Fail(irctest.Faults{BadPassword: true})
	case conformance.Conflict:
		p.server.Fail(irctest.Faults{NickTaken: true})
	case conformance.Gone:
		p.server.Fail(irctest.Faults{Gone: true})
		p.server.Drop()
	case conformance.HalfDead:
		p.server.Fail(irctest.Faults{Silent: true})
	default:
		return false
	}
	return true
}

func (p *steered) Heal() { p.server.Fail(irctest.Faults{}) }

func TestPL2_IRCConforms(t *testing.T) {
	for name, o := range map[string]irctest.Options{
		"a server of today":           {Caps: irctest.Modern, Password: password},
		"a server that knows RFC1459": {Password: password},
	} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, func(t *testing.T, f func(t *testing.T, p conformance.Peer)) {
				simulateWith(t, o, func(w *world) { f(w.T, &steered{w}) })
			})
		})
	}
}
