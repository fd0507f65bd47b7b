package tui

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// withTurns is a gateway on which alice's session has three turns, the last of which runs.
func withTurns() *gateway {
	g := newGateway()
	g.timelines = map[string]ops.Timeline{}
	for i, id := range []string{"turn-1", "turn-2", "turn-3"} {
		t := ops.Timeline{
			Turn:   ops.Turn{ID: id, Session: "api:user:alice", State: "done", StartedAt: ops.At(began), ElapsedMS: int64(1000 * (i + 1))},
			Source: ops.FromCalls, Items: []ops.TimelineItem{{Kind: ops.TimelineModel, Name: "model of " + id, StartedAt: ops.At(began), EndedAt: ops.At(began.Add(time.Second)), ElapsedMS: 1000}},
		}
		if i > 0 {
			t.Earlier = "turn-" + string(rune('0'+i))
		}
		if i < 2 {
			t.Later = "turn-" + string(rune('2'+i))
		}
		g.timelines[id] = t
	}
	running := g.timelines["turn-3"]
	running.State = "running"
	g.timelines["turn-3"] = running
	g.turns = map[string][]ops.Turn{"api:user:alice": {running.Turn}}
	return g
}

// looksAtTurns runs f on a console of 140x40 with the timeline of alice's session open.
func looksAtTurns(t *testing.T, f func(l *pulse, shows func() string)) {
	synctest.Test(t, func(t *testing.T) {
		tasks := newTasks(context.Background())
		m := newModel(withTurns(), tasks, Options{})
		l := &pulse{m: m, msgs: make(chan tea.Msg, 100)}
		l.send(tea.WindowSizeMsg{Width: 140, Height: 40})
		l.send(fetchRequest{full: true, order: m.order()}.fetch(context.Background(), m.console))
		defer synctest.Wait()
		defer tasks.end(time.Second)
		f(l, func() string { return ansi.Strip(strings.Join(m.draw(), "\n")) })
	})
}

// OP3: the newest turn is followed, and the keys go to those before it and back.
func TestOP3_TheConsoleGoesFromTurnToTurn(t *testing.T) {
	looksAtTurns(t, func(l *pulse, shows func() string) {
		l.start(l.m.jump(views.Sessions, "api:user:alice"))
		l.send(press("t"))
		l.pass(200 * time.Millisecond)
		for _, step := range []struct{ key, want string }{{"", "turn-3"}, {",", "turn-2"}, {"<", "turn-1"}, {",", "first turn"}, {".", "turn-2"}, {">", "turn-3"}, {".", "turn-3"}, {".", "newest turn"}} {
			if step.key != "" {
				l.send(press(step.key))
				l.pass(200 * time.Millisecond)
			}
			if text := shows(); !strings.Contains(text, step.want) {
				t.Fatalf("after %q it does not show %q:\n%s", step.key, step.want, text)
			}
		}
	})
}

// OP3: a turn that is named elsewhere is opened by its name.
func TestOP3_ATurnIsOpenedByItsName(t *testing.T) {
	looksAtTurns(t, func(l *pulse, shows func() string) {
		l.start(l.m.openTurn("api:user:alice", "turn-1"))
		l.send(nil)
		l.pass(300 * time.Millisecond)
		if text := shows(); !strings.Contains(text, "turn-1  0:01 done") {
			t.Fatalf("it shows\n%s", text)
		}
	})
}
