package tui

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"gatewaytui/core/ops"
)

// soon is the promise of 0.6 s with room for a busy machine.
const soon = 3 * time.Second

type ending struct {
	exit Exit
	err  error
}

// start runs a console on tt.
func start(t *testing.T, tt *terminal, g *gateway, o Options) (cancel func(), ended <-chan ending) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	on, why := FindTerminal(tt.program, tt.program, func(string) string { return "" }, false)
	if on == nil {
		t.Fatal(why)
	}
	ch := make(chan ending, 1)
	go func() {
		e, err := on.Show(ctx, g, o)
		ch <- ending{e, err}
	}()
	return stop, ch
}

func (tt *terminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(tt.user, keys); err != nil {
		t.Fatal(err)
	}
}

func mustEnd(t *testing.T, ended <-chan ending, within time.Duration, how How) Exit {
	t.Helper()
	select {
	case e := <-ended:
		if e.err != nil || e.exit.How != how {
			t.Fatalf("ended as %s, %v; promised %s", e.exit.How, e.err, how)
		}
		return e.exit
	case <-time.After(within):
		t.Fatalf("it has not ended after %s", within)
	}
	return Exit{}
}

func modes(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), getModes)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

// stall fills the terminal's buffer: from now on it takes nothing.
func (tt *terminal) stall(t *testing.T) {
	t.Helper()
	fd := int(tt.program.Fd())
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	junk := []byte(strings.Repeat("x", 512))
	for {
		if _, err := unix.Write(fd, junk); errors.Is(err, unix.EAGAIN) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
}

func TestTheConsoleShowsTheGatewayAndGivesTheTerminalBack(t *testing.T) {
	for _, tc := range []struct {
		name  string
		leave func(t *testing.T, tt *terminal, cancel func())
		how   How
	}{
		{"left by hand", func(t *testing.T, tt *terminal, _ func()) {
			tt.press(t, "\x03")
			tt.await(t, "Detach?")
			time.Sleep(2 * stepLeast) // modelled: two presses, not a key that is held
			tt.press(t, "\x03")
		}, Detached},
		{"by its context", func(_ *testing.T, _ *terminal, cancel func()) { cancel() }, Cancelled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tt := newTerminal(t)
			before := modes(t, tt.program)
			cancel, ended := start(t, tt, newGateway(), Options{Attached: true})
			tt.await(t, "RUNNING")
			if modes(t, tt.program) == before {
				t.Fatal("the terminal was never in raw mode: the comparison below would show nothing")
			}
			tc.leave(t, tt, cancel)
			mustEnd(t, ended, soon, tc.how)
			if got := modes(t, tt.program); got != before {
				t.Fatalf("the modes are %+v, were %+v", got, before)
			}
			tt.await(t, "\x1b[?1049l")
		})
	}
}

// J1, J2, J3; DESIGN.md, 8.1: a terminal that is not read.
func TestATerminalThatTakesNothingDelaysNothing(t *testing.T) {
	tt := newTerminal(t)
	before := modes(t, tt.program)
	tt.stall(t)
	g := newGateway()
	cancel, ended := start(t, tt, g, Options{})
	for range 50 { // frames that are not read, and a gateway that does not notice
		at := time.Now()
		g.emit(ops.Event{Type: ops.EventTurnProgress, Subject: "cli:local"})
		if d := time.Since(at); d > soon {
			t.Fatalf("an event took the gateway %s", d)
		}
		time.Sleep(10 * time.Millisecond) // modelled: events over half a second
	}
	cancel()
	mustEnd(t, ended, soon, Cancelled)
	if got := modes(t, tt.program); got != before {
		t.Fatalf("the modes are %+v, were %+v", got, before)
	}
}

func TestAFrozenTerminalIsPaintedWholeWhenItIsReadAgain(t *testing.T) {
	tt := newTerminal(t)
	g := newGateway()
	_, ended := start(t, tt, g, Options{Attached: true})
	tt.await(t, "RUNNING")
	tt.stall(t)
	g.change(func(g *gateway) { g.snap.State = ops.StateDraining })
	for range 30 {
		g.emit(ops.Event{Type: ops.EventGatewayState})
		tt.press(t, "\t")                 // another view: a whole frame
		time.Sleep(50 * time.Millisecond) // modelled: keys that are slower than framesPerSecond
	}
	tt.await(t, "DRAINING")
	tt.await(t, "\x1b[2J") // a repaint
	tt.press(t, "\x03")
	tt.await(t, "Detach?")
	time.Sleep(2 * stepLeast) // modelled: two presses, not a key that is held
	tt.press(t, "\x03")
	mustEnd(t, ended, soon, Detached)
}

func TestCtrlCWorksWhenTheGatewayNeverAnswers(t *testing.T) {
	tt := newTerminal(t)
	g := newGateway()
	g.mute = true
	defer close(g.release)
	_, ended := start(t, tt, g, Options{Attached: true})
	tt.await(t, "CONNECTING")
	at := time.Now()
	tt.press(t, "\x03")
	tt.await(t, "Detach?")
	if d := time.Since(at); d > soon {
		t.Fatalf("ctrl+c took %s", d)
	}
	time.Sleep(2 * stepLeast) // modelled: two presses, not a key that is held
	tt.press(t, "\x03")
	mustEnd(t, ended, soon, Detached)
}

// J4: the terminal is closed.
func TestATerminalThatIsGoneEndsTheConsole(t *testing.T) {
	tt := newTerminal(t)
	_, ended := start(t, tt, newGateway(), Options{})
	tt.await(t, "RUNNING")
	_ = tt.user.Close()
	mustEnd(t, ended, soon, TerminalLost)
}

func TestCopyGoesToTheTerminalAndNothingOfItActsThere(t *testing.T) {
	tt := newTerminal(t)
	g := newGateway()
	hostile := "a:\x1b]0;title\x07"
	g.snap.Sessions = []ops.Session{{Key: hostile, ID: "s"}}
	cancel, ended := start(t, tt, g, Options{})
	tt.await(t, "RUNNING")
	tt.press(t, "2y")
	tt.await(t, "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(hostile))+"\x07")
	if strings.Contains(tt.drawn.String(), hostile) {
		t.Fatal("a hostile name reached the terminal raw")
	}
	cancel()
	mustEnd(t, ended, soon, Cancelled)
}

// A resize storm costs neither a panic nor a frame of the wrong size at the end.
func TestAResizeStormEndsInAFrameOfTheLastSize(t *testing.T) {
	tt := newTerminal(t)
	cancel, ended := start(t, tt, newGateway(), Options{})
	tt.await(t, "RUNNING")
	resize := func(w, h int) {
		if err := pty.Setsize(tt.user, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}); err != nil {
			t.Fatal(err)
		}
		if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil { // this terminal is not our controlling one
			t.Fatal(err)
		}
	}
	for i := range 200 {
		resize(1+i*7%150, 1+i*5%50)
	}
	tt.drawn.Reset()
	resize(90, 30)
	tt.await(t, "\x1b[30;H") // the cursor rests on the last line of a frame
	cancel()
	mustEnd(t, ended, soon, Cancelled)
}
