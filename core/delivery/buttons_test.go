package delivery

import (
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
)

func TestTheButtonsOfAMessageAreInTheJournal(t *testing.T) {
	w := newWorld()
	o := w.outbox(t)
	in := store.Inbox{ID: "m1", Session: "chat:dm:1", Adapter: "chat", Target: "1"}
	choices := []session.Choice{{Label: "a", Text: "/model a"}, {Label: "b", Text: "/model b"}, {Label: "c", Text: "/model c"}, {Label: "d", Text: "/model d"}}
	o.message(in, ops.RoleMember).Offer("which?", choices)
	if len(w.answers) != 1 || w.answers[0].Text != "which?" {
		t.Fatalf("the journal has %+v", w.answers)
	}
	rows := o.buttons(&w.answers[0])
	if len(rows) != 2 || len(rows[0]) != perRow || rows[1][0].Text != "/model d" {
		t.Errorf("the buttons are %v", rows)
	}
	if rows := o.buttons(&store.Outbox{Buttons: "{"}); rows != nil {
		t.Errorf("broken buttons are %v", rows)
	}
	if text := buttonsOf(nil); text != "" {
		t.Errorf("no buttons are %q", text)
	}
}
