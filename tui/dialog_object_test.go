package tui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
)

// Changes that other people, clients and the gateway make while a dialog is open.
var changes = []struct {
	name string
	do   func(g *gateway)
}{
	{"the turn ended", func(g *gateway) { g.snap.Sessions[0].Turn, g.snap.Sessions[0].State = "", ops.SessionIdle }},
	{"a newer turn began", func(g *gateway) { g.snap.Sessions[0].Turn = "t2" }},
	{"a turn of another session began", func(g *gateway) {
		g.snap.Sessions[1].Turn, g.snap.Sessions[1].State = "t3", ops.SessionRunning
	}},
	{"the session has another number of processes", func(g *gateway) { g.snap.Sessions[0].Processes = 7 }},
	{"an adapter was lost", func(g *gateway) { g.snap.Adapters[0].State = ops.AdapterStale }},
	{"someone else reset the conversation", func(g *gateway) {
		g.snap.Sessions[0].ID, g.snap.Sessions[0].Turn, g.snap.Sessions[0].State, g.snap.Sessions[0].Cached = "s9", "", ops.SessionIdle, false
	}},
	{"the session is gone", func(g *gateway) { g.snap.Sessions = g.snap.Sessions[1:] }},
	{"the process exited", func(g *gateway) { g.snap.Processes = nil }},
	{"the pid is another process", func(g *gateway) { g.snap.Processes[0].StartTicks = 99 }},
	{"the gateway drains", func(g *gateway) { g.snap.State = ops.StateDraining }},
	{"the gateway stops", func(g *gateway) {
		g.snap.State, g.stop = ops.StateStopping, someStop()
		g.snap.Shutdown = g.stop
	}},
	{"another life answers", func(g *gateway) { g.snap.Life = "life-2" }},
	{"the gateway is gone", func(g *gateway) { g.err = &ops.Error{Code: ops.CodeUnavailable, Message: "nothing listens"} }},
}

// TF1, TF2: a dialog is about its object. What comes and goes in the object neither closes the dialog nor disarms its keys;
// the end of the object closes it, and that is said.
func TestAQuestionIsAboutItsObject(t *testing.T) {
	gatewayGone := map[string]string{
		"the gateway stops": "the gateway is stopping already", "another life answers": "a new gateway answers", "the gateway is gone": "the gateway is gone",
	}
	conversationGone := map[string]string{
		"someone else reset the conversation": "api:user:alice was reset by someone else",
		"the session is gone":                 "no session",
	}
	processGone := map[string]string{"the process exited": "process 4711 has ended", "the pid is another process": "process 4711 has ended"}
	for _, tc := range []struct {
		name   string
		keys   []string
		gives  string
		closes []map[string]string
	}{
		{"a stop", []string{"S"}, "stop graceful life-1", []map[string]string{gatewayGone}},
		{"a fast stop", []string{"S", "m"}, "stop fast life-1", []map[string]string{gatewayGone}},
		{"a drain", []string{"D"}, "drain  life-1", []map[string]string{gatewayGone, {"the gateway drains": "the gateway is draining already"}}},
		{"a reset", []string{"2", "R"}, "session.reset api:user:alice s1", []map[string]string{gatewayGone, conversationGone}},
		{"an interrupt", []string{"2", "I"}, "session.interrupt api:user:alice s1", []map[string]string{{
			"another life answers": "a new gateway answers", "the gateway is gone": "the gateway is gone",
		}, conversationGone}},
		{"an eviction", []string{"2", "E"}, "session.evict api:user:alice s1", []map[string]string{gatewayGone, conversationGone}},
		{"the end of a process tree", []string{"4", "X"}, "process.kill 4711 ", []map[string]string{{
			"another life answers": "a new gateway answers", "the gateway is gone": "the gateway is gone",
		}, processGone}},
	} {
		for _, change := range changes {
			t.Run(tc.name+", "+change.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newGateway()
					b := newBench(t, g, Options{Attached: true})
					b.patiently(tc.keys...)
					b.arm()
					quiet := asked(b.m).quiet
					g.change(change.do)
					time.Sleep(refreshGap)
					b.refresh()
					why := ""
					for _, closes := range tc.closes {
						if text := closes[change.name]; text != "" {
							why = text
						}
					}
					if why != "" {
						if asked(b.m) != nil || !strings.Contains(b.m.message, why) || !strings.HasSuffix(b.m.message, "Nothing was done.") {
							t.Fatalf("the dialog is %+v and the message %q, promised %q", asked(b.m), b.m.message, why)
						}
						b.keys("y")
						b.mustHaveGiven()
						return
					}
					if asked(b.m) == nil || !asked(b.m).armed || asked(b.m).quiet != quiet {
						t.Fatalf("the dialog is disarmed or closed: %+v, %q", asked(b.m), b.m.message)
					}
					b.keys("y")
					b.mustHaveGiven(tc.gives)
				})
			})
		}
	}
}

// A snapshot is bounded. A session that it leaves out is still there if the gateway says so.
func TestASessionThatTheSnapshotLeavesOutIsStillAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		b := newBench(t, g, Options{})
		b.patiently("2", "R")
		b.arm()
		short := b.m.snapshot()
		short.Sessions = short.Sessions[1:]
		b.m.recheck()
		b.keys("y")
		b.mustHaveGiven("session.reset api:user:alice s1")
	})
}

// TF1, TF2: with turns that begin and end all the time one press is enough.
func TestTurnsThatComeAndGoNeverDisarmAQuestion(t *testing.T) {
	for keys, gives := range map[string]string{
		"S": "stop graceful life-1", "D": "drain  life-1", "2R": "session.reset api:user:alice s1", "2I": "session.interrupt api:user:alice s1",
		"2E": "session.evict api:user:alice s1",
	} {
		t.Run(keys, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway()
				b := newBench(t, g, Options{})
				storm := func(i int) {
					g.change(func(g *gateway) {
						s := &g.snap.Sessions[0]
						s.Turn, s.State, s.LastActivityAt = fmt.Sprintf("t%d", i), ops.SessionRunning, ops.At(time.Now())
						if i%3 == 0 {
							s.Turn, s.State = "", ops.SessionIdle
						}
						g.snap.Counts.RunningTurns = i % 7
						g.preview.Interrupt = []string{fmt.Sprintf("api:user:alice (turn %d)", i)}
					})
					time.Sleep(10 * time.Millisecond)
					b.refresh()
				}
				if strings.HasPrefix(keys, "2") {
					b.keys("2")
				}
				storm(0) // the row is between two turns when the key is pressed
				b.keys(keys[len(keys)-1:])
				if asked(b.m) == nil {
					t.Fatalf("nothing is asked; the message is %q", b.m.message)
				}
				b.arm()
				for i := range 500 {
					storm(i)
					if asked(b.m) == nil || !asked(b.m).armed || !b.m.question().known {
						t.Fatalf("after %d changes the dialog is %+v, the message %q", i, asked(b.m), b.m.message)
					}
				}
				if text := b.text(); !strings.Contains(text, "(turn 4") {
					t.Errorf("the list is not refreshed:\n%s", text)
				}
				b.keys("y")
				b.mustHaveGiven(gives)
			})
		})
	}
}

func TestAnInterruptSaysWhichTurnRunsNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		b := newBench(t, g, Options{})
		b.patiently("2", "I")
		for _, tc := range []struct {
			turn string
			says string
		}{
			{"t1", ""},
			{"", "no turn runs at this moment"},
			{"t2", "a newer turn has begun: 0:07"},
			{"t1", ""},
		} {
			g.change(func(g *gateway) {
				g.snap.Sessions[0].Turn, g.snap.Sessions[0].State = tc.turn, ops.SessionRunning
				if tc.turn == "" {
					g.snap.Sessions[0].State = ops.SessionIdle
				}
				g.snap.Sessions[0].TurnStartedAt = ops.At(time.Now().Add(-7 * time.Second))
			})
			b.refresh()
			if asked(b.m) == nil || !strings.HasPrefix(asked(b.m).News, tc.says) || tc.says == "" && asked(b.m).News != "" {
				t.Fatalf("with turn %q it says %+v", tc.turn, asked(b.m))
			}
		}
	})
}

// E on a busy session leads on: one dialog, the interrupt first, then the eviction.
func TestAnEvictionOfABusySessionInterruptsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		b := newBench(t, g, Options{})
		b.keys("2", "E")
		b.mustBeAsked("Interrupt and evict api:user:alice?")
		if text := b.text(); !strings.Contains(text, "Interrupt it first, then drop the cached agent.") {
			t.Errorf("the dialog does not say what it does:\n%s", text)
		}
		b.patiently("y")
		b.mustHaveGiven("session.evict api:user:alice s1")
		if cmd := g.commands()[0]; !cmd.Interrupt {
			t.Fatalf("the turn is not interrupted: %+v", cmd)
		}
	})
}

// What is typed into a dialog at the moment when it closes without a key means nothing to the view below.
func TestKeysTypedIntoADialogThatClosesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.snap.Adapters = g.snap.Adapters[1:] // c would resume it
		b := newBench(t, g, Options{Attached: true})
		b.patiently("5", "S", "m", "m")
		b.patiently("i", "m")
		g.change(func(g *gateway) { g.err = &ops.Error{Code: ops.CodeUnavailable, Message: "nothing listens"} })
		b.refresh()
		g.change(func(g *gateway) { g.err = nil })
		b.refresh()
		for _, k := range "ccc" {
			time.Sleep(armAfter / 2)
			b.keys(string(k))
		}
		b.mustHaveGiven()
		time.Sleep(armAfter)
		b.keys("c")
		b.mustHaveGiven("adapter.resume telegram ")
	})
}

// TF41: a dialog on several rows says once what is the same for each.
func TestAQuestionAboutManyRowsDoesNotRepeatItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		g.preview.Keeps = []string{"the old transcript, for /sessions and /resume"}
		b := newBench(t, g, Options{})
		b.patiently("2", " ", " ", " ", "R")
		b.mustBeAsked("Reset 3 marked?")
		if n := strings.Count(b.text(), "the old transcript"); n != 1 {
			t.Errorf("it is said %d times:\n%s", n, b.text())
		}
	})
}

// TF36: ctrl+c opens the leave dialog, and ctrl+c in it stops gracefully, however quickly it comes.
func TestCtrlCInTheLeaveDialogStopsGracefully(t *testing.T) {
	for _, gap := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond, time.Second, time.Minute} {
		t.Run(gap.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateway()
				b := newBench(t, g, Options{})
				b.keys("ctrl+c")
				b.mustBeAsked("Leave?")
				if text := b.text(); !strings.Contains(text, "ctrl+c again stops the gateway gracefully") {
					t.Errorf("the dialog does not say so:\n%s", text)
				}
				b.mustHaveGiven()
				time.Sleep(gap)
				b.keys("ctrl+c")
				b.mustHaveGiven("stop graceful life-1")
				if asked(b.m) != nil {
					t.Errorf("the dialog stays: %+v", asked(b.m))
				}
			})
		})
	}
	t.Run("mashed, it stops once and climbs no further", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway()
			b := newBench(t, g, Options{})
			b.keys("ctrl+c", "ctrl+c")
			g.stopping()
			b.refresh()
			for range 10 {
				time.Sleep(100 * time.Millisecond)
				b.keys("ctrl+c")
			}
			b.mustHaveGiven("stop graceful life-1")
		})
	})
	t.Run("an attached console is left, and stops nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGateway()
			b := newBench(t, g, Options{Attached: true})
			b.keys("ctrl+c")
			time.Sleep(time.Second)
			b.keys("ctrl+c")
			b.mustHaveGiven()
			if !b.quit {
				t.Error("it is not left")
			}
		})
	})
}

func TestTheCommandLineTakesTheFlagsOfTheVerbs(t *testing.T) {
	for text, gives := range map[string]string{
		"stop": "stop graceful life-1", "stop fast": "stop fast life-1", "stop --mode fast": "stop fast life-1", "stop --mode=graceful": "stop graceful life-1",
	} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, newGateway(), Options{})
				b.keys(":")
				b.typing(text)
				b.keys("enter")
				if asked(b.m) == nil {
					t.Fatalf("nothing is asked; the message is %q", b.m.message)
				}
				b.patiently("y")
				b.mustHaveGiven(gives)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{})
		b.keys(":")
		b.typing("drain --reason deploy at 15:00")
		b.keys("enter")
		b.patiently("y")
		if did := b.g.commands(); len(did) != 1 || did[0].Reason != "deploy at 15:00" {
			t.Errorf("the gateway was given %+v", did)
		}
	})
}

// TF40: on the smallest screen that has dialogs the Stop dialog shows the key that stops.
func TestTheStopDialogShowsTheKeyThatActsOnASmallScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, newGateway(), Options{Name: "a-name-that-is-not-short"})
		b.send(tea.WindowSizeMsg{Width: 40, Height: 6})
		for _, mode := range []struct{ key, acts string }{{"S", "y stop"}, {"m", "y stop"}, {"m", "enter stop"}} {
			b.patiently(mode.key)
			for _, armed := range []bool{false, true} {
				asked(b.m).armed, b.m.stale = armed, true
				if text := b.text(); !strings.Contains(text, mode.acts) || !strings.Contains(text, "esc cancel") {
					t.Errorf("armed %v, %q is not on the screen:\n%s", armed, mode.acts, text)
				}
			}
		}
	})
}

func TestTheTitleOfAnEvictionFollowsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateway()
		b := newBench(t, g, Options{})
		b.keys("2", "E")
		b.mustBeAsked("Interrupt and evict api:user:alice?")
		g.change(func(g *gateway) { g.snap.Sessions[0].Turn, g.snap.Sessions[0].State = "", ops.SessionIdle })
		b.refresh()
		b.mustBeAsked("Evict api:user:alice?")
	})
}

func TestAnOutcomeReadsAsOneSentence(t *testing.T) {
	for _, tc := range []struct {
		verb         ops.Verb
		what, detail string
		says         string
	}{
		{ops.VerbSkip, "turn cli:a", "skipped", "no longer waiting for turn cli:a"},
		{ops.VerbKill, "9336", "process tree 9336 ended: 2 processes, SIGTERM", "process tree 9336 ended: 2 processes, SIGTERM"},
		{ops.VerbPause, "api", "api paused; `gatewaytui adapter resume api` resumes it", "api paused; c resumes it"},
		{ops.VerbUndrain, "", "accepting new turns; no messages were waiting", "accepting new turns; no messages were waiting"},
		{ops.VerbInterrupt, "cli:a", "Interrupted the running turn.", "cli:a: Interrupted the running turn."},
		{ops.VerbReset, "cli:a", "nothing was running.", "reset cli:a: nothing was running."},
		{ops.VerbEvict, "2 marked", "", "evicted 2 marked"},
	} {
		if got := result(tc.verb, tc.what, tc.detail); got != tc.says {
			t.Errorf("%s says %q, promised %q", tc.verb, got, tc.says)
		}
	}
}
