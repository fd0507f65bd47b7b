package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// remembering is a console that remembers, and what it wrote down last.
func remembering(t *testing.T, h Habits) (b *bench, last func() Habits) {
	t.Helper()
	var kept []Habits
	g := newGateway()
	g.snap.Inbox = someRequests()
	b = newBench(t, g, Options{Habits: h, Keep: func(_ context.Context, h Habits) error {
		kept = append(kept, h)
		return nil
	}})
	return b, func() Habits {
		if len(kept) == 0 {
			return Habits{}
		}
		return kept[len(kept)-1]
	}
}

func TestTF37_AConsoleOpensAsTheLastOneWasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, last := remembering(t, Habits{})
		b.keys("2", "/", "a", "enter", "o", ":", "t", "h", "e", "m", "e", " ", "m", "o", "n", "o", "enter")
		h := last()
		if h.View != "sessions" || h.Lists["sessions"].Sort == "" || h.Theme != "mono" || !slices.Equal(h.Lines, []string{"theme mono"}) {
			t.Fatalf("remembered is %+v", h)
		}
		again, _ := remembering(t, h)
		l := again.m.lists[views.Sessions]
		if again.m.view != views.Sessions || l.Sort != h.Lists["sessions"].Sort || again.m.chosenTheme != "mono" {
			t.Errorf("the next console shows %s sorted by %s in the theme %s", again.m.view, l.Sort, again.m.chosenTheme)
		}
		if l.Filter != "" {
			t.Errorf("the filter %q was remembered", l.Filter)
		}
	})
}

func TestTF37_WhatIsNotKnownAnyMoreIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, last := remembering(t, Habits{View: "dreams", Theme: "pink", Lists: map[string]ListHabit{"sessions": {Sort: "smell"}, "dreams": {Sort: "x"}}})
		if b.m.view != views.Overview || b.m.lists[views.Sessions].Sort == "smell" || b.m.chosenTheme != "" {
			t.Errorf("the console shows %s, sorted by %s, in the theme %s", b.m.view, b.m.lists[views.Sessions].Sort, b.m.chosenTheme)
		}
		if b.keys("2"); last().View != "sessions" {
			t.Errorf("remembered is %+v", last())
		}
	})
}

func TestTF37_LinesAreRecalledAndTextsForAgentsAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, last := remembering(t, Habits{Lines: []string{"sort-by session", "theme dark"}})
		b.keys(":", "up")
		if text := b.m.dialog.(*palette).typed.text(); text != "theme dark" {
			t.Errorf("up recalls %q", text)
		}
		b.keys("up", "up")
		if text := b.m.dialog.(*palette).typed.text(); text != "sort-by session" {
			t.Errorf("up thrice recalls %q", text)
		}
		b.keys("down", "down")
		if text := b.m.dialog.(*palette).typed.text(); text != "" {
			t.Errorf("down leads to %q", text)
		}
		b.keys("esc")
		key := b.m.snap.Sessions[0].Key
		for _, line := range []string{"send " + key + " my password is 1234", "answer BBB2 my secret", "deny AAA1 because of the secret", "search my secret", "theme light"} {
			b.keys(":")
			b.keys(strings.Split(line, "")...)
			b.keys("enter")
			b.keys("esc")
		}
		if got := last().Lines; !slices.Equal(got, []string{"sort-by session", "theme dark", "theme light"}) {
			t.Errorf("kept are %q", got)
		}
	})
}

func TestTF37_AFileThatCannotBeWrittenIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		b := newBench(t, newGateway(), Options{Keep: func(context.Context, Habits) error {
			tries++
			return errors.New("read-only file system")
		}})
		b.keys("2")
		if !strings.Contains(b.m.message, "read-only file system") {
			t.Errorf("the console says %q", b.m.message)
		}
		if b.keys("3", "4"); tries != 1 {
			t.Errorf("%d writes were tried", tries)
		}
	})
}

func TestTF37_TheIdsOfRequestsAreCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := remembering(t, Habits{})
		b.keys(strings.Split(":approve aa", "")...)
		b.keys("tab")
		if text := b.m.dialog.(*palette).typed.text(); strings.TrimSpace(text) != "approve AAA1" {
			t.Errorf("completed to %q", text)
		}
		b.keys(strings.Split(" turn", "")...)
		b.keys("enter")
		if got := b.g.commands(); len(got) != 1 || got[0].Target != "AAA1" || got[0].Scope != ops.ScopeTurn {
			t.Errorf("the gateway was given %+v", got)
		}
	})
}
