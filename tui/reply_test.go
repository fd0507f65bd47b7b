package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

func TestOP1_EachKeyGivesTheAnswerThatItSays(t *testing.T) {
	for _, tc := range []struct {
		name string
		keys []string
		sent string // verb, request, turn, then scope, reason and text
	}{
		{"y allows it once", []string{"8", "i", "y"}, "inbox.approve AAA1 t1   "},
		{"enter opens a request that waits", []string{"8", "enter", "s"}, "inbox.approve AAA1 t1 session  "},
		{"a makes a rule", []string{"8", "i", "a"}, "inbox.approve AAA1 t1 always  "},
		{"n denies it", []string{"8", "i", "n"}, "inbox.deny AAA1 t1   "},
		{"r denies it with a reason", []string{"8", "i", "r", "u", "s", "e", "enter"}, "inbox.deny AAA1 t1  use "},
		{"a question is answered with the number of an option", []string{"8", "j", "i", "2"}, "inbox.answer BBB2 t2   production"},
		{"or with a text", []string{"8", "j", "i", "w", "m", "e", "enter"}, "inbox.answer BBB2 t2   me"},
		{"an unknown person is let in", []string{"8", "j", "j", "i", "y"}, "inbox.approve CCC3    "},
		{"i answers the request of the selected session", []string{"2", "i", "y"}, "inbox.approve AAA1 t1   "},
		{"and the first one of the overview", []string{"i", "y"}, "inbox.approve AAA1 t1   "},
		{"a scope that the request does not take has no key", []string{"8", "i", "u"}, ""},
		{"enter does nothing by itself", []string{"8", "i", "enter"}, ""},
		{"esc leaves it for later", []string{"8", "i", "esc"}, ""},
		{"an empty reason is not sent", []string{"8", "i", "r", "enter"}, ""},
		{"what has ended opens its details", []string{"8", "G", "enter"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway()
				g.snap.Inbox = someRequests()
				b := newBench(t, g, Options{})
				b.patiently(tc.keys...)
				sent := ""
				for _, c := range g.commands() {
					sent += fmt.Sprintf("%s %s %s %s %s %s", c.Verb, c.Target, c.Expect, c.Scope, c.Reason, c.Text)
				}
				if sent != tc.sent {
					t.Errorf("the gateway got %q, want %q; message %q", sent, tc.sent, b.m.message)
				}
			})
		})
	}
}

func TestOP1_AStateThatNeedsAPersonIsAnsweredWithTheKeyOfItsRemedy(t *testing.T) {
	for keys, sent := range map[string]string{"I": "interrupt", "R": "reset", "y": "", "r": "", "i": ""} {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway()
			g.snap.Inbox = []ops.InboxItem{{
				ID: "LOOP777", Kind: ops.InboxLooping, Session: "api:user:robot", State: ops.InboxWaiting, Text: "23 turns in a minute", Options: []string{"interrupt", "reset"},
			}}
			b := newBench(t, g, Options{})
			b.patiently("8", "i", keys)
			got := ""
			for _, c := range g.commands() {
				got += c.Text
				if c.Verb != ops.VerbAnswer || c.Target != "LOOP777" {
					t.Errorf("%s gives %+v", keys, c)
				}
			}
			if got != sent {
				t.Errorf("%s gives %q, promised %q", keys, got, sent)
			}
		})
	}
}

func TestOP1_NoKeyAnswersBeforeTheFactsHaveBeenSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.snap.Inbox = someRequests()
		b := newBench(t, g, Options{})
		b.keys("8", "i", "y", "y", "a", "n")
		b.mustHaveGiven()
		if frame := b.m.View(); !strings.Contains(frame, "rm -r build") || !strings.Contains(frame, "in 0.5s") {
			t.Errorf("the facts are not on the screen:\n%s", frame)
		}
		b.patiently("y")
		b.mustHaveGiven("inbox.approve AAA1 t1")
	})
}

// A request that was answered elsewhere closes its dialog, and the key that is under way answers nothing.
func TestOP1_ARequestThatHasEndedIsNotAnswered(t *testing.T) {
	for _, tc := range []struct {
		name string
		then func(g *gateway)
		says string
	}{
		{"denied by another operator", func(g *gateway) { g.snap.Inbox[0].State, g.snap.Inbox[0].By = ops.InboxDenied, "bob" }, "request AAA1 is denied by bob already"},
		{"expired", func(g *gateway) { g.snap.Inbox[0].State = ops.InboxExpired }, "request AAA1 is expired already"},
		{"no longer listed", func(g *gateway) { g.snap.Inbox = g.snap.Inbox[1:] }, "request AAA1 has ended"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway()
				g.snap.Inbox = someRequests()
				b := newBench(t, g, Options{})
				b.patiently("8", "i")
				g.change(func(g *gateway) {
					g.snap.Inbox = slices.Clone(g.snap.Inbox)
					tc.then(g)
				})
				b.refresh()
				if b.m.dialog != nil || !strings.HasPrefix(b.m.message, tc.says) {
					t.Fatalf("dialog %T, message %q, want %q", b.m.dialog, b.m.message, tc.says)
				}
				b.keys("y")
				b.mustHaveGiven()
			})
		})
	}
}

func TestOP1_AReadOnlyConsoleShowsTheInboxAndAnswersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.snap.Inbox = someRequests()
		b := newBench(t, g, Options{ReadOnly: true})
		b.patiently("8", "i", "y", "enter")
		b.mustHaveGiven()
		if b.m.view != views.Inbox || !b.m.detail.Open {
			t.Errorf("view %s, details %v", b.m.view, b.m.detail.Open)
		}
	})
}
