// Package tui is the console: a Bubble Tea program over an ops.Console, which is the gateway in this process or the
// client of its control socket; it cannot tell which.
//
// What it promises: a terminal that is frozen, closed or hostile never slows the gateway, and Show returns within 0.6 s of
// the end of its context, however the terminal behaves. The terminal's modes are afterwards what they were before. No key
// ends anything without the confirmation that its tier asks for. Every action on the gateway has a key or a command, all of
// them in one table (keymap.go).
//
// It alone imports Bubble Tea. It asks the gateway and is never asked: nothing of core calls into it. Drawing is
// package views'.
package tui

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
	_ "gatewaytui/tui/darkbg" // or importing bubbletea costs 5 s on a silent terminal
)

// How the program is left: each step has this long, then the next, harder one is taken (DESIGN.md, 8.1). With
// guardDrain they come to 0.6 s.
const (
	quitGrace = 250 * time.Millisecond
	killGrace = 150 * time.Millisecond
	taskGrace = 100 * time.Millisecond
)

// framesPerSecond bounds what is written; the first frame waits for one of them too.
const framesPerSecond = 30

// Show runs the console of c on the terminal until it is left, until the embedded gateway has ended, or until ctx ends. It never asks
// more of c than one look at a time, and it returns within 0.6 s of the end of ctx even if the terminal does not take
// another byte. Signals stay with the caller: Bubble Tea would end the console at the first SIGTERM, just when
// a stop is worth watching.
//
// The error is of a terminal that cannot be used, or of a console that failed too often; the gateway is not touched.
func (t *Terminal) Show(ctx context.Context, c ops.Console, o Options) (Exit, error) {
	o.out = t.out
	return t.Run(ctx, func(ctx context.Context) (Exit, error) { return t.screen(ctx, c, o) })
}

func (t *Terminal) screen(ctx context.Context, c ops.Console, o Options) (Exit, error) {
	terminal, lose := context.WithCancel(context.Background()) // ends when the terminal is gone
	defer lose()
	out := newOutputGuard(t.out, lose)
	tasks := newTasks(ctx)
	m := newModel(c, tasks, o)
	m.repaint = out.takeDropped
	m.raw = out.write
	p := tea.NewProgram(m, tea.WithInput(&inputWatcher{File: t.in, lost: lose}), tea.WithOutput(out), tea.WithAltScreen(),
		tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler(), tea.WithoutCatchPanics())

	ended := make(chan error, 1)
	go func() { // waited for below, with a bound: Bubble Tea's own end is not in our hands
		ended <- runProgram(p)
	}()
	err, orderly := await(ctx, p, ended, terminal.Done())
	tasks.end(taskGrace)
	out.close(orderly && terminal.Err() == nil)

	exit := Exit{How: Cancelled}
	switch {
	case terminal.Err() != nil:
		exit.How = TerminalLost
		err = nil
	case errors.Is(err, errHung):
		err = nil
	case err == nil && (m.exit.How != Cancelled || m.failure != nil): // Bubble Tea has returned: no other goroutine holds the model
		exit, err = m.exit, m.failure
	case ctx.Err() != nil:
		err = nil
		exit.Final = m.witnessed()
	default:
		err = fmt.Errorf("run the console: %w", err)
	}
	return exit, err
}

// errHung says that Bubble Tea did not return.
var errHung = errors.New("the console does not end")

// await waits for the program to end. At the end of ctx, or once the terminal is gone, it ends the program: it asks, then
// cancels, then leaves the program behind. orderly says that the program has cleaned up the screen.
func await(ctx context.Context, p *tea.Program, ended <-chan error, gone <-chan struct{}) (err error, orderly bool) {
	select {
	case err := <-ended:
		return err, err == nil
	case <-ctx.Done():
	case <-gone:
	}
	asked := make(chan struct{})
	go func() { // ends with the program's context, at the latest at Kill
		defer close(asked)
		p.Quit()
	}()
	select {
	case err := <-ended:
		<-asked
		return err, err == nil
	case <-time.After(quitGrace):
	}
	p.Kill()
	<-asked
	select {
	case <-ended:
		return nil, false
	case <-time.After(killGrace):
		return errHung, false
	}
}

// runProgram is p.Run with its panics as errors: Bubble Tea would print them on standard output itself.
func runProgram(p *tea.Program) (err error) {
	defer func() {
		if r := recover(); r != nil {
			p.Kill()
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	_, err = p.Run()
	return err
}

func init() {
	levers := actionBindings()
	levers = append(levers, tableBindings(levers)...)
	for i := range levers {
		levers[i] = fromTable(levers[i])
	}
	bindings = slices.Concat(levers, pageBindings(), replayBindings(), detailBindings(), streamBindings(), timelineBindings(), overviewBindings(), usageBindings(), navigationBindings())
}
