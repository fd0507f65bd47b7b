package tui

import (
	"strings"
	"testing"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// CV13: an operator searches all conversations, and goes from a message to its session.
func TestCV13_TheConsoleSearchesAllConversations(t *testing.T) {
	g := newGateway()
	g.snap.Sessions = crowd(began, 3)
	g.hits = []ops.Hit{
		{Session: g.snap.Sessions[0].Key, Who: "maria", Snippet: "the disk is full", At: ops.At(time.Now())},
		{Session: g.snap.Sessions[2].Key, Who: "paul", Snippet: "my disk as well", At: ops.At(time.Now())},
	}
	b := newBench(t, g, Options{})
	ask := func(text string) {
		t.Helper()
		b.keys(":")
		b.typing(text)
		b.keys("enter")
	}
	ask("search")
	if !b.m.bad || !strings.Contains(b.m.message, "needs a text") {
		t.Errorf("without a text it says %q", b.m.message)
	}
	ask("search nothing")
	if b.m.bad || !strings.Contains(b.m.message, "no message has nothing; 7 older messages are not in the index yet") {
		t.Errorf("where nothing is found it says %q", b.m.message)
	}
	ask("search disk")
	for _, want := range []string{"search: disk", "the disk is full", "my disk as well"} {
		if !strings.Contains(b.m.View(), want) {
			t.Fatalf("%q is not in\n%s", want, b.m.View())
		}
	}
	b.keys("j", "j", "enter")
	if b.m.dialog != nil || b.m.view != views.Sessions || b.m.lists[views.Sessions].Selected != g.snap.Sessions[2].Key {
		t.Errorf("enter goes to %v, %q", b.m.view, b.m.lists[views.Sessions].Selected)
	}
	ask("search disk")
	b.keys("esc")
	if b.m.dialog != nil {
		t.Error("esc does not close it")
	}
}
