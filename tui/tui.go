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
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"gatewaytui/core/ops"
	_ "gatewaytui/tui/darkbg" // or importing bubbletea costs 5 s on a silent terminal
	"gatewaytui/views"
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

// Options are how a console is run.
type Options struct {
	// Attached is true for a gateway of another process: leaving never touches it, and when it has ended the console
	// waits for its next life. False: the gateway lives in this process, and Run returns when it has ended.
	Attached bool
	// ReadOnly removes the action keys. The server refuses their commands as well.
	ReadOnly bool
	// Theme is auto, dark, light, high-contrast or mono; empty is auto.
	Theme string
	// ASCII draws with ASCII characters alone; NoColor draws without colours in each theme.
	ASCII, NoColor bool
	// Slow halves the refresh rate during a stop, for a terminal on a slow line.
	Slow bool
	// Version is this program's: an attached console tells of a gateway with another one; empty does not. Name is what the
	// gateway is called in questions, empty for none.
	Version, Name string

	out *os.File // of which the theme depends; nil has no colours
}

// How says how a console was left.
type How int

const (
	// Cancelled: the context ended.
	Cancelled How = iota
	// Detached: an attached console was left; the gateway was not touched.
	Detached
	// LeftRunning: an embedded console was left; its gateway shall run on without one.
	LeftRunning
	// StopAsked: an embedded console was left while its gateway stops; the stop goes on.
	StopAsked
	// TerminalLost: the terminal is gone. The gateway goes on.
	TerminalLost
	// GatewayEnded: the embedded gateway has ended. Exit.Final is its last record.
	GatewayEnded
)

// String is the way out in words, for logs.
func (h How) String() string {
	return [...]string{"cancelled", "detached", "left running", "left while stopping", "terminal lost", "gateway ended"}[h]
}

// Exit is how a console ended.
type Exit struct {
	How How
	// Final is the record of the stop that this console saw, as far as it saw it; nil if it saw none, or if another life
	// has begun since.
	Final *ops.Shutdown
	// Screen is the last frame as plain lines, for the caller to leave on the normal screen where the reader should keep
	// it; empty if the console was left by hand.
	Screen []string
}

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
	var lost atomic.Bool
	gone := make(chan struct{}, 1)
	lose := func() {
		lost.Store(true)
		select {
		case gone <- struct{}{}:
		default:
		}
	}
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
	err, orderly := await(ctx, p, ended, gone)
	tasks.end(taskGrace)
	out.close(orderly && !lost.Load())

	exit := Exit{How: Cancelled}
	switch {
	case lost.Load():
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

// theme makes the theme for the terminal. What the terminal can show is read from the environment alone: a question to
// it would wait for an answer that may not come.
func theme(o Options) *views.Theme {
	name := o.Theme
	if name == "" || name == "auto" {
		name = "dark"
		if light(os.Getenv("COLORFGBG")) {
			name = "light"
		}
	}
	profile := termenv.Ascii
	if !o.NoColor && o.out != nil {
		profile = lipgloss.NewRenderer(o.out).ColorProfile()
	}
	return views.NewTheme(name, profile)
}

// light reports whether COLORFGBG ("15;0", as rxvt and its likes set it) names a light background.
func light(colors string) bool {
	fields := strings.Split(colors, ";")
	last := fields[len(fields)-1]
	return last == "7" || last == "15"
}
