package tui

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"gatewaytui/core/ops"
	"gatewaytui/fixtures/soak"
	"gatewaytui/views"
)

// usual are pressed more often: they lead to where something can be done, and do it.
var usual = []string{"2", "2", "3", "4", "5", "6", "j", " ", "R", "E", "I", "X", "A", "F", "y", "y", "enter", "tab"}

// anyKeys are all keys of the table and what dialogs and lines take.
func anyKeys() []string {
	keys := []string{"y", "n", "m", "s", "k", "enter", "esc", "ctrl+c", "left", "right", "tab", "backspace", "ctrl+w", "ctrl+p", "ctrl+n", "x", "force", "ü", "Q", "w", "z"}
	for _, b := range bindings {
		keys = append(keys, b.keys...)
	}
	return keys
}

func drawSnapshot(t *rapid.T) ops.Snapshot {
	text := rapid.OneOf(rapid.StringMatching(`[a-c]:[a-c]{1,2}`), rapid.Just("\x1b[2J\u202e"), rapid.Just("\xff\xfe"), rapid.Just(""))
	number := rapid.Int64Range(-10, 1<<40)
	at := rapid.Custom(func(t *rapid.T) ops.Time {
		if rapid.Bool().Draw(t, "zero") {
			return ops.Time{}
		}
		return ops.At(began.Add(time.Duration(rapid.Int64Range(-1e15, 1e15).Draw(t, "at"))))
	})
	s := ops.Snapshot{Status: ops.Status{
		Life: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "life"), PID: int(number.Draw(t, "pid")),
		State: ops.State(rapid.SampledFrom([]string{"starting", "running", "draining", "stopping", "nonsense"}).Draw(t, "state")), StartedAt: at.Draw(t, "started"),
	}}
	for range rapid.IntRange(0, 4).Draw(t, "sessions") {
		s.Sessions = append(s.Sessions, ops.Session{
			Key: text.Draw(t, "key"), ID: text.Draw(t, "id"), Turn: rapid.SampledFrom([]string{"", "t"}).Draw(t, "turn"),
			State: ops.SessionState(rapid.SampledFrom([]string{"idle", "running", "stalled", "?"}).Draw(t, "session state")),
			Doing: text.Draw(t, "doing"), TurnStartedAt: at.Draw(t, "turn at"), TokensIn: number.Draw(t, "tokens"), Processes: int(number.Draw(t, "n")), Cached: rapid.Bool().Draw(t, "cached"),
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "agents") {
		s.Agents = append(s.Agents, ops.Agent{Session: text.Draw(t, "agent"), IdleMS: number.Draw(t, "idle"), Bytes: number.Draw(t, "bytes")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "processes") {
		s.Processes = append(s.Processes, ops.Process{PID: int(number.Draw(t, "p")), PPID: int(number.Draw(t, "pp")), AgeMS: number.Draw(t, "age"), Command: text.Draw(t, "command")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "adapters") {
		s.Adapters = append(s.Adapters, ops.Adapter{Name: text.Draw(t, "name"), State: ops.AdapterState(rapid.SampledFrom([]string{"connected", "paused", "?"}).Draw(t, "adapter state"))})
	}
	if s.State == ops.StateStopping && rapid.Bool().Draw(t, "report") {
		stop := someStop()
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			stop.Phases[1].Items = append(stop.Phases[1].Items, ops.Item{
				Kind: "task", ID: text.Draw(t, "item"), ElapsedMS: number.Draw(t, "elapsed"), BudgetMS: number.Draw(t, "budget"),
				State: ops.StepState(rapid.SampledFrom([]string{"pending", "running", "done", "?"}).Draw(t, "item state")),
			})
		}
		s.Shutdown = stop
	}
	return s
}

// bubbled hides the deadline of a test, which may not be asked for in virtual time.
type bubbled struct{ *testing.T }

// For any keys and any answers of the gateway: no panic, a whole frame, a selection that is a row, and nothing that
// ends something is given without the answer to its question.
func TestRandomKeysAgainstRandomSnapshots(t *testing.T) {
	soak.Checks(t, 30, 200)
	keys := anyKeys()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubbled{t}, func(rt *rapid.T) {
			g := newGateway()
			tasks := newTasks(t.Context())
			defer tasks.end(time.Minute)
			m := newModel(g, tasks, Options{Attached: rapid.Bool().Draw(rt, "attached"), ReadOnly: rapid.IntRange(0, 4).Draw(rt, "read-only") == 0})
			g.snap = drawSnapshot(rt)
			g.stop = g.snap.Shutdown
			g.withLives(rapid.IntRange(0, 2*lifePage).Draw(rt, "lives"))
			for i := range g.lives[:min(len(g.lives), 3)] {
				g.lives[i].Reason, g.lives[i].Phase = "\x1b[2J\u202e", "\x9b31m\x00"
			}
			b := &bench{t: t, m: m, g: g}
			b.send(tea.WindowSizeMsg{Width: rapid.IntRange(1, 140).Draw(rt, "w"), Height: rapid.IntRange(1, 40).Draw(rt, "h")})
			b.refresh()
			for range rapid.IntRange(20, 200).Draw(rt, "steps") {
				switch rapid.IntRange(0, 9).Draw(rt, "what") {
				case 0:
					snap := drawSnapshot(rt)
					g.change(func(g *gateway) { g.snap, g.stop = snap, snap.Shutdown })
					b.refresh()
				case 1:
					if asked(m) != nil {
						b.arm()
					}
				case 2:
					b.send(tea.WindowSizeMsg{Width: rapid.IntRange(0, 140).Draw(rt, "w"), Height: rapid.IntRange(0, 40).Draw(rt, "h")})
				case 3:
					b.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(rapid.SampledFrom([]string{"y", "force", "R", "\x1b[2J"}).Draw(rt, "paste")), Paste: true})
				default:
					key := rapid.OneOf(rapid.SampledFrom(keys), rapid.SampledFrom(usual)).Draw(rt, "key")
					if rapid.IntRange(0, 15).Draw(rt, "by name") == 0 && m.dialog == nil {
						words := m.commands()
						text := words[rapid.IntRange(0, len(words)-1).Draw(rt, "command")].name
						if keys := m.lists[m.view].keys; len(keys) > 0 && rapid.Bool().Draw(rt, "target") {
							text += " " + rapid.SampledFrom(keys).Draw(rt, "target")
						}
						m.openPalette(text)
						key = "enter"
					}
					given, open, rung := len(g.commands()), m.dialog, m.rung
					asked, _ := open.(*question)
					_, leaves := open.(*leaving)
					answered := asked != nil && asked.armed && asked.known
					b.send(press(key))
					for _, cmd := range g.commands()[given:] {
						spec, _ := cmd.Verb.Spec()
						climbed := key == "ctrl+c" && rung == 1 && cmd.Verb == ops.VerbStop && m.status.State == ops.StateStopping
						left := key == "ctrl+c" && leaves && cmd.Verb == ops.VerbStop && cmd.Mode == ops.ModeGraceful
						if m.opt.ReadOnly {
							rt.Fatalf("%s gave %+v in a read-only console", key, cmd)
						}
						if spec.Ends && !climbed && !left && !(answered && slices.ContainsFunc(asked.cmds, func(c ops.Command) bool { return c.Verb == cmd.Verb })) {
							rt.Fatalf("%s gave %+v without its question", key, cmd)
						}
						if asked != nil && asked.Want != "" && asked.typed.text() != asked.Want {
							rt.Fatalf("%s gave %+v without its word", key, cmd)
						}
					}
				}
				if len(m.fails) > 0 {
					rt.Fatalf("the console failed: %s", m.message)
				}
				lines := strings.Split(m.View(), "\n")
				if len(lines) != m.h {
					rt.Fatalf("%d lines on a screen of %d", len(lines), m.h)
				}
				for _, line := range lines {
					if w := ansi.StringWidth(line); w != m.w {
						rt.Fatalf("%d cells in a line of %d: %q", w, m.w, line)
					}
				}
				for _, v := range views.Views {
					l := m.lists[v]
					if len(l.keys) > 0 && v == m.view && m.shownOrder == m.orders && l.at() < 0 {
						rt.Fatalf("in %s the selected %q is not one of %q", v, l.Selected, l.keys)
					}
				}
				if n := len(m.history.Lives); n > 0 && m.lists[views.Shutdown].at() < 0 {
					rt.Fatalf("of %d lives none is selected", n)
				}
				if m.stopItem != "" && m.stop == nil {
					rt.Fatalf("the item %q of no stop is selected", m.stopItem)
				}
			}
		})
	})
}
