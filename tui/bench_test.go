package tui

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/creack/pty"

	"gatewaytui/core/ops"
	"gatewaytui/views"
)

// crowded is the size of issue 3's figures: 10,000 sessions and 1,000 processes.
func crowded() ops.Snapshot {
	s := someSnapshot()
	s.Sessions, s.Processes = nil, nil
	for i := range 10_000 {
		s.Sessions = append(s.Sessions, ops.Session{
			Key: fmt.Sprintf("telegram:dm:%d", i), ID: fmt.Sprint(i), State: ops.SessionIdle, User: "someone", LastActivityAt: ops.At(began.Add(-time.Duration(i) * time.Second)),
		})
	}
	for i := range 1000 {
		s.Processes = append(s.Processes, ops.Process{PID: 1000 + i, PPID: 1, Session: s.Sessions[i].Key, Command: "sleep 60", State: "running"})
	}
	return s
}

func crowdedBench(b *testing.B) *model {
	b.Helper()
	g := newGateway()
	g.snap = crowded()
	x := newBench(b, g, Options{})
	x.m.Update(tea.WindowSizeMsg{Width: 140, Height: 40})
	x.m.view = views.Sessions
	x.refresh()
	if len(x.m.lists[views.Sessions].keys) != 10_000 {
		b.Fatal("the rows are not there")
	}
	return x.m
}

// BenchmarkKey is one key that moves: at most 0.2 ms.
func BenchmarkKey(b *testing.B) {
	m := crowdedBench(b)
	keys := []tea.KeyMsg{press("j"), press("j"), press("k")}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		m.Update(keys[i%len(keys)])
		i++
	}
}

// BenchmarkKeyThatAsks is one key that opens a question and one that closes it.
func BenchmarkKeyThatAsks(b *testing.B) {
	m := crowdedBench(b)
	b.ReportAllocs()
	for b.Loop() {
		m.Update(press("R"))
		m.Update(press("esc"))
	}
}

// BenchmarkFrame is one frame after a key: at most 1 ms and 600 allocations.
func BenchmarkFrame(b *testing.B) {
	m := crowdedBench(b)
	b.ReportAllocs()
	for b.Loop() {
		m.stale = true
		m.View()
	}
}

// BenchmarkUnchangedFrame is what Bubble Tea asks for after a message that changed nothing.
func BenchmarkUnchangedFrame(b *testing.B) {
	m := crowdedBench(b)
	m.View()
	b.ReportAllocs()
	for b.Loop() {
		m.View()
	}
}

// BenchmarkOrder runs outside the loop.
func BenchmarkOrder(b *testing.B) {
	m := crowdedBench(b)
	b.ReportAllocs()
	for b.Loop() {
		m.order().apply(m.snap)
	}
}

// BenchmarkLeave is what a console costs a stop that is over: from the end of its context to the terminal given back.
func BenchmarkLeave(b *testing.B) {
	user, program, err := pty.Open()
	if err != nil {
		b.Fatal(err)
	}
	defer user.Close()
	defer program.Close()
	go func() { _, _ = io.Copy(io.Discard, user) }() // ends with user
	on, why := FindTerminal(program, program, func(string) string { return "" }, false)
	if on == nil {
		b.Fatal(why)
	}
	for b.Loop() {
		b.StopTimer()
		ctx, cancel := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		g := newGateway()
		go func() {
			_, err := on.Show(ctx, g, Options{})
			ended <- err
		}()
		time.Sleep(200 * time.Millisecond) // modelled: a console that is open for a while, and has drawn its first frames
		b.StartTimer()
		cancel()
		if err := <-ended; err != nil {
			b.Fatal(err)
		}
	}
}
