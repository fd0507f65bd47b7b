package tui

import (
	"context"
	"fmt"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// bench drives a model without a terminal: commands are run at once, one after the other, but for those that only wait.
type bench struct {
	t     testing.TB
	m     *model
	g     *gateway
	rests int // ticks, arms and other waits that were postponed
	quit  bool
}

// newBench makes a console that has seen its first snapshot.
func newBench(t testing.TB, g *gateway, o Options) *bench {
	t.Helper()
	tasks := newTasks(context.Background())
	t.Cleanup(func() { tasks.end(time.Second) })
	b := &bench{t: t, g: g, m: newModel(g, tasks, o)}
	b.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	b.refresh()
	return b
}

// refresh looks once, also if nothing is due.
func (b *bench) refresh() {
	b.m.looking = true
	b.send(fetchRequest{full: true, order: b.m.order(), plan: true, stop: true, more: b.m.more.rows, held: b.m.held()}.fetch(context.Background(), b.g))
}

// send updates the model and does what comes of it. What waits (the pulse, the feed, the arming) is left to the test.
func (b *bench) send(msg tea.Msg) {
	b.t.Helper()
	_, cmd := b.m.Update(msg)
	b.do(cmd)
}

func (b *bench) do(cmd tea.Cmd) {
	b.t.Helper()
	if cmd == nil {
		return
	}
	out := make(chan tea.Msg, 1)
	go func() { out <- cmd() }()
	select {
	case msg := <-out:
		switch msg := msg.(type) {
		case tea.BatchMsg:
			for _, c := range msg {
				b.do(c)
			}
		case tea.QuitMsg:
			b.quit = true
		case tick, batch, armed:
			b.rests++
		case nil:
		default:
			b.send(msg)
		}
	case <-time.After(quickly):
		b.rests++
	}
}

// quickly is what a command that does not wait may take; one that takes longer is left to itself.
const quickly = 50 * time.Millisecond

// keys presses keys, each after the questions have been armed if patient.
func (b *bench) keys(names ...string) {
	b.t.Helper()
	for _, name := range names {
		b.send(press(name))
	}
}

// patiently waits for the keys of a question to be armed, then presses.
func (b *bench) patiently(names ...string) {
	b.t.Helper()
	for _, name := range names {
		if asked(b.m) != nil {
			b.arm()
		}
		b.keys(name)
	}
}

// asked is the open question of either kind, nil for none.
func asked(m *model) *asking {
	switch d := m.dialog.(type) {
	case *question:
		return &d.asking
	case *reply:
		return &d.asking
	case *leaving:
		return &d.asking
	}
	return nil
}

// arm lets the open question take keys.
func (b *bench) arm() {
	b.t.Helper()
	b.send(armed{asked(b.m), asked(b.m).quiet})
}

var special = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "esc": tea.KeyEsc, "ctrl+c": tea.KeyCtrlC, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "backspace": tea.KeyBackspace,
	"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "ctrl+d": tea.KeyCtrlD,
	"ctrl+u": tea.KeyCtrlU, "ctrl+l": tea.KeyCtrlL, "ctrl+w": tea.KeyCtrlW, "ctrl+n": tea.KeyCtrlN, "ctrl+p": tea.KeyCtrlP,
}

func press(name string) tea.KeyMsg {
	if t, ok := special[name]; ok {
		return tea.KeyMsg{Type: t}
	}
	if name == " " {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune(" ")}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// typing presses one key for each rune.
func (b *bench) typing(text string) {
	b.t.Helper()
	for _, r := range text {
		b.keys(string(r))
	}
}

func (b *bench) mustBeAsked(title string) {
	b.t.Helper()
	if asked(b.m) == nil {
		b.t.Fatalf("nothing is asked; the message is %q", b.m.message)
	}
	if got := asked(b.m).Title; got != title {
		b.t.Fatalf("asked %q, promised %q", got, title)
	}
}

func (b *bench) mustHaveGiven(want ...string) {
	b.t.Helper()
	var got []string
	for _, c := range b.g.commands() {
		got = append(got, string(c.Verb)+" "+c.Target+c.Phase+c.Item+string(c.Mode)+" "+c.Expect)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Fatalf("the gateway was given %q, promised %q; message %q", got, want, b.m.message)
	}
}
