package tui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

func TestAQuestionTakesNoKeyThatWasTypedTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		b.keys("2", "R")
		b.mustBeAsked("Reset api:user:alice?")
		b.keys("y")
		b.mustHaveGiven()
		// Each key begins the wait again.
		time.Sleep(armAfter)
		b.send(armed{asked(b.m), asked(b.m).quiet - 1})
		b.keys("y")
		b.mustHaveGiven()
		b.patiently("y")
		b.mustHaveGiven("session.reset api:user:alice s1")
	})
}

func TestTheDefaultOfEveryQuestionIsCancel(t *testing.T) {
	for _, tc := range []struct {
		name string
		keys []string
		sent []string
	}{
		{"enter cancels", []string{"enter"}, nil},
		{"n cancels", []string{"n"}, nil},
		{"esc cancels", []string{"esc"}, nil},
		{"ctrl+c cancels", []string{"ctrl+c"}, nil},
		{"the other button has to be chosen", []string{"right", "enter"}, []string{"session.reset api:user:alice s1"}},
		{"tab chooses it too", []string{"tab", "enter"}, []string{"session.reset api:user:alice s1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newGateway(), Options{})
				b.keys("2", "R")
				b.patiently(tc.keys...)
				b.mustHaveGiven(tc.sent...)
				if asked(b.m) != nil {
					t.Fatal("the question stays")
				}
			})
		})
	}
}

func TestTheTierDependsOnTheState(t *testing.T) {
	for _, tc := range []struct {
		name string
		keys []string
		tier tier
	}{
		{"an idle session is reset after one line", []string{"2", "j", "R"}, oneLine},
		{"a running one after a dialog", []string{"2", "R"}, withDialog},
		{"an agent without processes is evicted after one line", []string{"2", "j", "E"}, oneLine},
		{"a process is ended after a dialog", []string{"4", "X"}, withDialog},
		{"a drain shows what it waits for", []string{"D"}, withDialog},
		{"a stop shows what ends", []string{"S"}, withDialog},
		{"an immediate stop asks for a word", []string{"S", "m", "m"}, withWord},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newGateway(), Options{})
				b.patiently(tc.keys...)
				if asked(b.m) == nil || b.m.question().tier != tc.tier {
					t.Fatalf("asked %+v, message %q", asked(b.m), b.m.message)
				}
				b.mustHaveGiven()
			})
		})
	}
}

func TestTheDialogShowsThePreview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.preview = ops.Preview{Interrupt: []string{"api:user:alice (3s, model call)"}, Kills: []string{"pid 4711 sleep"}, WorstCaseMS: 1500}
		b := newBench(t, g, Options{})
		b.keys("2", "R")
		frame := b.m.View()
		for _, want := range []string{"would interrupt", "model call", "would kill", "pid 4711", "1.5s", "Cancel"} {
			if !strings.Contains(frame, want) {
				t.Errorf("the dialog does not say %q:\n%s", want, frame)
			}
		}
	})
}

func TestARefusalOfTheGatewayIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.doE = &ops.Error{Code: ops.CodeConflict, Message: "the turn or conversation you saw has ended; nothing was done"}
		b := newBench(t, g, Options{})
		b.patiently("2", "R", "y")
		if !b.m.bad || !strings.Contains(b.m.message, "nothing was done") {
			t.Fatalf("the message is %q", b.m.message)
		}
	})
}

func TestTheOutcomeOfARequestIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.request.Detail = "turn interrupted, 1 process ended"
		b := newBench(t, g, Options{})
		b.patiently("2", "R", "y")
		if b.m.bad || b.m.message != "reset api:user:alice: turn interrupted, 1 process ended" {
			t.Fatalf("the message is %q", b.m.message)
		}
		if len(b.m.doing) != 0 {
			t.Fatalf("it is still said to be done: %+v", b.m.doing)
		}
	})
}

func TestForceWantsTheWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.stopping()
		b := newBench(t, g, Options{})
		b.patiently("F")
		b.mustBeAsked("Force the stop?")
		b.patiently("f", "o", "r", "enter")
		b.mustHaveGiven()
		b.patiently("F")
		b.patiently("f", "o", "r", "c", "e", "enter")
		b.mustHaveGiven("shutdown.force  ")
	})
}

func TestMarkedRowsAreDoneWithOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		b.patiently("2", " ", " ", " ", "E")
		// telegram:dm:7 has no agent, api:user:alice a running turn.
		b.mustBeAsked("Evict cli:local?")
		if want := "Left out: telegram:dm:7 (has no cached agent). i interrupts the busy ones and evicts them as well: api:user:alice"; asked(b.m).Note != want {
			t.Fatalf("noted %q, promised %q", asked(b.m).Note, want)
		}
		b.patiently("i")
		b.mustBeAsked("Evict 2 marked?")
		b.patiently("i")
		b.mustBeAsked("Evict cli:local?")
		b.patiently("esc", "R")
		b.mustBeAsked("Reset 3 marked?")
		b.patiently("y")
		b.mustHaveGiven("session.reset api:user:alice s1", "session.reset cli:local s2", "session.reset telegram:dm:7 s3")
		if len(b.m.lists[views.Sessions].Marked) != 0 {
			t.Fatal("the marks stay")
		}
	})
}

func TestAPasteIsNeverAKeyPress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		paste := func(text string) { b.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: true}) }
		b.keys("2")
		paste("R")
		paste("q")
		if asked(b.m) != nil || b.m.view != views.Sessions {
			t.Fatal("a paste was taken for a key")
		}
		b.patiently("R")
		b.arm()
		paste("y")
		b.mustHaveGiven()
		b.keys("esc", "/")
		paste("cli\x1b[2J\n")
		if got := b.m.lists[views.Sessions].Filter; got != "cli␛[2J⏎" {
			t.Fatalf("the filter holds %q", got)
		}
	})
}

func TestAReadOnlyConsoleGivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		b := newBench(t, g, Options{Attached: true, ReadOnly: true})
		for _, v := range views.Views {
			b.m.openView(v)
			b.refresh()
			for _, binding := range bindings {
				if !binding.isAction() {
					continue
				}
				for _, k := range binding.keys {
					b.patiently(k)
					if asked(b.m) != nil {
						t.Fatalf("%s asks %q", k, asked(b.m).Title)
					}
				}
				b.keys(":")
				b.typing(binding.action)
				if p := b.m.dialog.(*palette); len(p.Matches) == 0 && p.Note != "this console is read-only" {
					t.Errorf(":%s says %q", binding.action, p.Note)
				}
				b.keys("enter", "esc")
			}
			for _, h := range b.m.hints() {
				if x := bindingFor(h.Key, v, views.StopNow); x != nil && x.isAction() {
					t.Errorf("%s is hinted at in %s", h.Key, v)
				}
			}
		}
		b.mustHaveGiven()
	})
}

func TestAKeyThatDoesNotApplySaysWhy(t *testing.T) {
	for _, tc := range []struct {
		name string
		keys []string
		says string
	}{
		{"an idle session has no turn", []string{"2", "j", "I"}, "cli:local has no running turn"},
		{"a session without an agent is not evicted", []string{"2", "G", "E"}, "telegram:dm:7 has no cached agent"},
		{"a gateway that does not drain is not undrained", []string{"U"}, "not draining; D drains"},
		{"a connected adapter is not resumed", []string{"5", "c"}, "api is not paused"},
		{"a paused one is not paused again", []string{"5", "j", "P"}, "telegram is paused; c resumes it"},
		{"no shutdown runs", []string{"6", "F"}, "no shutdown is running"},
		{"it works in another view", []string{"1", "E"}, "works in the sessions view"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newGateway(), Options{})
				b.patiently(tc.keys...)
				if !b.m.bad || !strings.Contains(b.m.message, tc.says) {
					t.Fatalf("said %q, promised %q", b.m.message, tc.says)
				}
				b.mustHaveGiven()
			})
		})
	}
}

func TestAQuestionAboutTheGatewayNamesIt(t *testing.T) {
	for name, want := range map[string]string{"": "Drain the gateway?", "prod-1": "Drain gateway prod-1?", "\x1b[2J": "Drain gateway ␛[2J?"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, newGateway(), Options{Name: name})
			b.keys("D")
			b.mustBeAsked(want)
		})
	}
}

func TestAnotherVersionIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{Attached: true, Version: "v2"})
		if !strings.Contains(b.m.message, "version v1, this console v2") {
			t.Fatalf("the message is %q", b.m.message)
		}
	})
}

// DESIGN.md, 8.2: evicting an agent whose session has live processes asks whether they are kept or ended.
func TestAnEvictionKeepsTheProcessesUnlessTheyAreEndedByChoice(t *testing.T) {
	for _, tc := range []struct {
		name string
		row  []string
		keys []string
		asks string
		gave []string
		says string
	}{
		{"kept", []string{"2", "j"}, []string{"y"}, "Evict cli:local?", []string{"session.evict cli:local s2"}, "evicted cli:local"},
		{"ended", []string{"2", "j"}, []string{"c", "y"}, "Evict cli:local and its 2 process trees?", []string{"session.evict cli:local s2", "process.kill 4801 ", "process.kill 4802 "}, "evicted cli:local and its 2 process trees"},
		{"kept after all", []string{"2", "j"}, []string{"c", "c", "y"}, "Evict cli:local?", []string{"session.evict cli:local s2"}, "evicted cli:local"},
		{"nothing by a burst: the choice arms the keys again", []string{"2", "j"}, nil, "Evict cli:local and its 2 process trees?", nil, ""},
		{"no processes: no choice", []string{"2", "G"}, []string{"c"}, "", nil, "Nothing was done."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway()
				g.snap.Sessions[1].Processes, g.snap.Sessions[2].Cached = 2, true
				for i := range 2 {
					g.snap.Processes = append(g.snap.Processes, ops.Process{PID: 4801 + i, StartTicks: 7, Session: "cli:local", Command: "make", State: "running"})
				}
				g.preview = ops.Preview{Keeps: []string{"2 of its processes"}}
				b := newBench(t, g, Options{})
				b.keys(tc.row...)
				b.keys("E")
				if tc.keys == nil {
					b.patiently("c")
					b.keys("y") // too early
				}
				for i, k := range tc.keys {
					if i == len(tc.keys)-1 && tc.asks != "" {
						b.mustBeAsked(tc.asks)
						if b.m.question().closes == strings.Contains(b.text(), "2 of its processes") {
							t.Errorf("the dialog says of the processes:\n%s", b.text())
						}
					}
					b.patiently(k)
				}
				b.mustHaveGiven(tc.gave...)
				if !strings.HasPrefix(b.m.message, tc.says) {
					t.Errorf("it says %q, promised %q", b.m.message, tc.says)
				}
			})
		})
	}
}

// What ends while the question is open is left out; without the agent there is nothing to ask.
func TestAnEvictionWithItsProcessesFollowsWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.snap.Sessions[1].Processes = 1
		g.snap.Processes = append(g.snap.Processes, ops.Process{PID: 4801, Session: "cli:local", State: "running"})
		b := newBench(t, g, Options{})
		b.keys("2", "j", "E")
		b.patiently("c")
		g.change(func(g *gateway) { g.snap.Processes = g.snap.Processes[:1] })
		b.refresh()
		b.refresh()
		b.patiently("y")
		b.mustHaveGiven("session.evict cli:local s2")
	})
}
