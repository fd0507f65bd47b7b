package tui

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

func TestAStopOpensItsViewOnceAndEscGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		b := newBench(t, g, Options{})
		b.keys("2", "p") // even a frozen picture gives way
		g.stopping()
		b.refresh()
		if b.m.view != views.Shutdown || b.m.link.Paused {
			t.Fatalf("the view is %s", b.m.view)
		}
		b.keys("esc")
		if b.m.view != views.Sessions {
			t.Fatalf("esc went to %s", b.m.view)
		}
		b.refresh()
		b.refresh()
		if b.m.view != views.Sessions {
			t.Fatalf("the stop took the screen a second time")
		}
	})
}

func TestTheLeversOfAStop(t *testing.T) {
	for _, tc := range []struct {
		name string
		keys []string
		want []string
	}{
		{"A abandons the item that is stuck", []string{"A", "y"}, []string{"shutdown.skip adaptersadapter:telegram "}},
		{"A abandons the selected one", []string{"j", "A", "y"}, []string{"shutdown.skip adaptersadapter:api "}},
		{"> ends the phase", []string{">", "y"}, []string{"shutdown.skip adapters "}},
		{"+ asks for time at once", []string{"+"}, []string{"shutdown.extend adapters "}},
		{"d diagnoses at once", []string{"d"}, []string{"diagnose  "}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway()
				g.stopping()
				b := newBench(t, g, Options{})
				b.patiently(tc.keys...)
				b.mustHaveGiven(tc.want...)
			})
		})
	}
}

// The plan says which phases these are, the reap among them; the console has no list of its own.
func TestAPhaseThatCannotBeSkippedIsOfferedNoLever(t *testing.T) {
	for _, name := range []string{"mark", "reap", "stores", "surrender"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway()
				g.stopping()
				g.stop.Phases[1].State, g.stop.Phases[2].State = ops.StepTimedOut, ops.StepRunning
				g.stop.Phases[0].Name, g.stop.Phases[2].Name = "notify", name
				g.stop.Phases[2].Items = []ops.Item{{Kind: "store", ID: "gateway.db", State: ops.StepRunning}}
				b := newBench(t, g, Options{})
				for _, k := range []string{">", "A"} {
					b.patiently(k)
					b.mustHaveGiven()
					if asked(b.m) != nil || !strings.Contains(b.m.message, "never skipped") {
						t.Fatalf("%s asks %+v and answers %q", k, asked(b.m), b.m.message)
					}
				}
			})
		})
	}
}

func TestAnItemThatEndedWhileItWasAskedAboutIsNotAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.stopping()
		b := newBench(t, g, Options{})
		b.patiently("A")
		g.change(func(g *gateway) {
			next := someStop()
			next.Phases[1].Items[0].State = ops.StepDone
			g.stop, g.snap.Shutdown = next, next
		})
		b.refresh()
		b.patiently("y", "enter")
		b.mustHaveGiven()
	})
}

// DESIGN.md, 8.3: one rung per two presses within 2 s; a held key does not climb.
func TestCtrlCClimbsOneRungPerTwoPresses(t *testing.T) {
	for _, tc := range []struct {
		name string
		wait []time.Duration // before each press
		want []string
	}{
		{"one press only says what the next does", []time.Duration{0}, nil},
		{"two presses climb", []time.Duration{0, time.Second}, []string{"stop fast "}},
		{"a held key does not", []time.Duration{0, 30 * time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond}, nil},
		{"two presses that are far apart do not", []time.Duration{0, 3 * time.Second}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway()
				g.stopping()
				b := newBench(t, g, Options{})
				time.Sleep(time.Minute)
				for i, wait := range tc.wait {
					time.Sleep(wait)
					b.keys("ctrl+c")
					if i == 0 && !strings.Contains(b.m.message, "ctrl+c once more interrupts the running turns") {
						t.Fatalf("said %q", b.m.message)
					}
				}
				b.mustHaveGiven(tc.want...)
			})
		})
	}
	t.Run("a press that closes a question is not a step", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway()
			g.stopping()
			b := newBench(t, g, Options{})
			b.patiently("A")
			for range 2 {
				time.Sleep(time.Second)
				b.keys("ctrl+c")
			}
			b.mustHaveGiven()
			if asked(b.m) != nil || !strings.Contains(b.m.message, "ctrl+c once more") {
				t.Fatalf("said %q", b.m.message)
			}
		})
	})
	t.Run("the last rung is the question for the word", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway()
			g.stopping()
			g.stop.Mode = ops.ModeImmediate
			b := newBench(t, g, Options{})
			b.keys("ctrl+c")
			time.Sleep(time.Second)
			b.keys("ctrl+c")
			b.mustBeAsked("Force the stop?")
			b.mustHaveGiven()
		})
	})
}

func TestTheWaysToLeave(t *testing.T) {
	for _, tc := range []struct {
		name string
		opt  Options
		at   func(*gateway)
		keys []string
		how  How
		stay bool
		gave []string
	}{
		{name: "q asks, y detaches", opt: Options{Attached: true}, keys: []string{"q", "y"}, how: Detached},
		{name: "enter on the default stays", opt: Options{Attached: true}, keys: []string{"q", "enter"}, stay: true},
		{name: "esc never leaves", opt: Options{Attached: true}, keys: []string{"esc", "esc", "esc"}, stay: true},
		{name: "an embedded gateway is kept", keys: []string{"q", "k"}, how: LeftRunning},
		{name: "an embedded gateway is stopped after its own question", keys: []string{"q", "s", "y"}, stay: true, gave: []string{"stop graceful life-1"}},
		{name: "a stop goes on", at: (*gateway).stopping, keys: []string{"q", "q", "y"}, how: StopAsked},
		{name: "from a view q goes back first", opt: Options{Attached: true}, keys: []string{"2", "q"}, stay: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway()
				if tc.at != nil {
					tc.at(g)
				}
				b := newBench(t, g, tc.opt)
				b.patiently(tc.keys...)
				if b.quit == tc.stay {
					t.Fatalf("left: %v; asked %+v, view %s", b.quit, asked(b.m), b.m.view)
				}
				if !tc.stay && b.m.exit.How != tc.how {
					t.Fatalf("left as %s, promised %s", b.m.exit.How, tc.how)
				}
				b.mustHaveGiven(tc.gave...)
			})
		})
	}
}

func TestASecondCtrlCLeavesAnAttachedConsole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{Attached: true})
		b.keys("ctrl+c")
		if b.quit || asked(b.m) == nil {
			t.Fatal("the first press does not ask")
		}
		time.Sleep(time.Second)
		b.keys("ctrl+c")
		if !b.quit || b.m.exit.How != Detached {
			t.Fatal("the second press does not leave")
		}
	})
}

// Where the gateway is gone one press is enough, under any dialog: there is nothing that leaving could touch.
func TestOneCtrlCLeavesAConsoleWhoseGatewayIsGone(t *testing.T) {
	for _, open := range []string{"", "q", ":", "?", "/"} {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway()
			b := newBench(t, g, Options{Attached: true})
			b.keys("2")
			g.end(errGone)
			b.refresh()
			if open != "" {
				b.keys(open)
			}
			b.keys("ctrl+c")
			if !b.quit || b.m.exit.How != Detached {
				t.Fatalf("with %q open one press does not leave", open)
			}
		})
	}
}

func TestThePaletteDoesEverythingByName(t *testing.T) {
	for _, tc := range []struct {
		name  string
		typed string
		keys  []string
		gave  []string
		says  string
	}{
		{name: "a lever with its target", typed: "reset cli:local", keys: []string{"enter", "y"}, gave: []string{"session.reset cli:local s2"}},
		{name: "a process", typed: "kill 4711", keys: []string{"enter", "y"}, gave: []string{"process.kill 4711 "}},
		{name: "an adapter", typed: "resume-adapter telegram", keys: []string{"enter"}, gave: []string{"adapter.resume telegram "}},
		{name: "a stop in a mode", typed: "stop fast", keys: []string{"enter", "y"}, gave: []string{"stop fast life-1"}},
		{name: "a message", typed: "send cli:local are you there", keys: []string{"enter"}, gave: []string{"session.message cli:local "}},
		{name: "what is not yet a name is completed, not run", typed: "reset cli", keys: []string{"enter"}},
		{name: "then it runs", typed: "reset cli", keys: []string{"enter", "enter", "y"}, gave: []string{"session.reset cli:local s2"}},
		{name: "why it does not apply", typed: "interrupt cli:local", keys: []string{"enter"}, says: "cli:local has no running turn"},
		{name: "a bad duration", typed: "more-time soon", keys: []string{"enter"}, says: "no shutdown is running"},
		{name: "a view", typed: "events", keys: []string{"enter"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newGateway(), Options{})
				b.keys(":")
				b.typing(tc.typed)
				b.patiently(tc.keys...)
				b.mustHaveGiven(tc.gave...)
				if !strings.Contains(b.m.message, tc.says) {
					t.Fatalf("said %q, promised %q", b.m.message, tc.says)
				}
			})
		})
	}
}

func TestAnUnknownCommandIsOfferedTheNearest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		b.keys(":")
		b.typing("restet")
		p := b.m.dialog.(*palette)
		if p.Note != "no command restet; nearest: reset" {
			t.Fatalf("noted %q", p.Note)
		}
		b.keys("enter")
		b.mustHaveGiven()
		if b.m.dialog == nil {
			t.Fatal("what is not understood closes the palette")
		}
	})
}

func TestASelectionFollowsItsRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		b := newBench(t, g, Options{})
		b.keys("2", "j")
		l := b.m.lists[views.Sessions]
		if l.Selected != "cli:local" {
			t.Fatalf("selected %s", l.Selected)
		}
		g.change(func(g *gateway) { slices.Reverse(g.snap.Sessions) })
		b.refresh()
		b.keys("O")
		if l.Selected != "cli:local" {
			t.Fatalf("after sorting %s is selected", l.Selected)
		}
		g.change(func(g *gateway) {
			g.snap.Sessions = slices.DeleteFunc(g.snap.Sessions, func(s ops.Session) bool { return s.Key == "cli:local" })
		})
		b.refresh()
		if l.at() < 0 {
			t.Fatalf("when the row is gone nothing is selected, but there are %v", l.keys)
		}
	})
}

func TestAFilterIsLiveAndEscClearsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		b.keys("2", "/")
		b.typing("tele")
		l := b.m.lists[views.Sessions]
		if !slices.Equal(l.keys, []string{"telegram:dm:7"}) || l.Total != 3 {
			t.Fatalf("shown %v of %d", l.keys, l.Total)
		}
		b.keys("enter", "esc")
		if len(l.keys) != 3 {
			t.Fatalf("shown %v", l.keys)
		}
		b.keys("g", "n")
		if l.Selected != "telegram:dm:7" {
			t.Fatalf("n went to %s", l.Selected)
		}
	})
}

func TestAResultForAnotherOrderIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		b.keys("2")
		late := b.m.order().apply(b.m.snap)
		b.m.lists[views.Sessions].Filter = "tele"
		b.m.orders++
		b.send(late)
		if got := b.m.lists[views.Sessions].keys; len(got) != 1 {
			t.Fatalf("rows of before are shown: %v", got)
		}
	})
}
