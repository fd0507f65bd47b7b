package gateway

import (
	"fmt"
	"testing"

	"gatewaytui/core/adapter"
)

// pressable is a platform whose messages may have buttons.
type pressable struct{ *platform }

func (pressable) Abilities() []adapter.Ability { return []adapter.Ability{adapter.AbilityButtons} }

func TestCV5_TheModelsAreOfferedAsButtonsWhereThereAreSomeAndAsTextEverywhere(t *testing.T) {
	able := pressable{&platform{name: "able"}}
	l := start(t, two, func(s *setup) { s.platforms = append(s.platforms, able) })
	for _, name := range []string{"able", "chat"} {
		in := adapter.Inbound{Adapter: name, Session: name + ":dm:1", User: "maria", Target: "1", Text: "/model"}
		if _, err := l.g.intake.Receive(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	sent := func(p *platform) adapter.Outgoing {
		t.Helper()
		l.wait("the answer on "+p.name, func() bool { return len(p.messages()) > 0 })
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.sent[0]
	}
	offered, plain := sent(able.platform), sent(l.chat)
	if got := fmt.Sprint(offered.Buttons); got != "[[{default /model default} {second /model second} {auto /model auto}]]" {
		t.Errorf("the buttons are %s", got)
	}
	if len(plain.Buttons) != 0 || plain.Text != offered.Text || plain.Text == "" {
		t.Errorf("without buttons the chat reads %q with %v, else %q", plain.Text, plain.Buttons, offered.Text)
	}
}
