package delivery

import (
	"fmt"
	"testing"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
)

// signing is an outbox for chats in which commands begin with a !.
func signing(t *testing.T) (*world, *Outbox) {
	w := newWorld()
	w.manner.Sign = "!"
	o := w.outbox(t)
	o.o.Knows = func(name string) bool { return name == "stop" || name == "new" || name == "approve" }
	return w, o
}

func TestATextOfTheGatewayHasTheSignWithWhichItsReadersWriteCommands(t *testing.T) {
	_, o := signing(t)
	for text, want := range map[string]string{
		"":                                       "",
		"/stop":                                  "!stop",
		"wait, or /stop it first":                "wait, or !stop it first",
		"/stop interrupts. `/new` (/new) /stop.": "!stop interrupts. `!new` (!new) !stop.",
		"/new\n/stop\n":                          "!new\n!stop\n",
		"the folder /stop/new is full":           "the folder /stop/new is full",
		"and/stop, //stop, /stopped, /etc, /":    "and/stop, //stop, /stopped, /etc, /",
		"/approve K7Q2MX turn":                   "!approve K7Q2MX turn",
	} {
		if got := o.Own("chat:dm:1", text); got != want {
			t.Errorf("%q is said as %q, want %q", text, got, want)
		}
	}
	_, slash := signing(t)
	slash.o.Manner = func(string) Manner { return Manner{} }
	if got := slash.Own("chat:dm:1", "/stop"); got != "/stop" {
		t.Errorf("where commands begin with a slash /stop is said as %q", got)
	}
}

func TestOnlyTextsOfTheGatewayGetTheSignOfTheirChat(t *testing.T) {
	w, o := signing(t)
	const key, target = "chat:dm:1", "1"
	o.Notice(key, target, "/stop interrupts.")
	w.tasks.Wait()
	o.Post(key, target, "/new is a fresh one")
	w.tasks.Wait()
	o.PostCard(key, target, "may I run /stop?", nil, func(string) {})
	w.tasks.Wait()
	in := store.Inbox{ID: "1", Session: key, Adapter: "chat", Target: target}
	o.message(in, ops.RoleOwner).Deliver("the model says /stop", nil)
	w.tasks.Wait()
	in.ID = "2"
	o.message(in, ops.RoleOwner).Deliver("", &ops.Error{Code: ops.CodeBusy, Message: "a turn runs", Hint: "/stop it"})
	w.tasks.Wait()
	want := []string{"1: !stop interrupts.", "1: !new is a fresh one", "1: may I run /stop?", "1: the model says /stop", "1: A turn runs. !stop it."}
	if got := w.sent; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestARefusalNamesCommandsAsItsReaderWritesThem(t *testing.T) {
	_, o := signing(t)
	why := &ops.Error{Code: ops.CodeInvalid, Message: "the message is empty", Hint: "say something, or /new"}
	if got := ops.AsError(o.refusal("chat:dm:1", why)); got.Hint != "say something, or !new" || got.Code != why.Code || why.Hint != "say something, or /new" {
		t.Errorf("the refusal is %+v", got)
	}
	if err := o.refusal("chat:dm:1", nil); err != nil {
		t.Errorf("no refusal is %v", err)
	}
}

func TestATextIsAChatCommandWhereTheGatewayKnowsItsName(t *testing.T) {
	i := NewIntake(IntakeOptions{Conversations: &house{}})
	for text, want := range map[string]bool{"/stop": true, "/STOP now": true, "/new@bot": true, "/stopped": false, "/etc/hosts": false, "stop": false, "/": false, "": false} {
		if got := i.Commands(text); got != want {
			t.Errorf("%q is a command: %t, want %t", text, got, want)
		}
	}
}
