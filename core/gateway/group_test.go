package gateway

import (
	"slices"
	"testing"

	"gatewaytui/core/adapter"
)

func TestCV10_ATurnIsStoppedByThePersonWhoAskedForIt(t *testing.T) {
	l := start(t)
	const key = "chat:group:7:topic:1"
	say := func(user, text string) {
		t.Helper()
		if _, err := l.g.intake.Receive(t.Context(), adapter.Inbound{
			Adapter: "chat", Session: key, User: user, Sender: user, Target: "7", Text: text,
		}); err != nil {
			t.Fatal(err)
		}
	}
	said := func(text string) func() bool {
		return func() bool { return slices.Contains(l.chat.messages(), "7: "+text) }
	}
	say("ann", "hang")
	l.running(key)
	say("bob", "/stop")
	l.wait("the refusal", said("Only ann can stop this turn, who asked for it."))
	if _, running := l.g.table.Running(key); !running {
		t.Fatal("the turn ended")
	}
	say("ann", "stop")
	l.wait("the stop", said("Stopped. Nothing else is running here."))
}
