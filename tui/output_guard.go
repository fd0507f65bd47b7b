package tui

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	guardFrames = 8
	guardWait   = 20 * time.Millisecond
	// guardDrain is what the last bytes may take to leave when the console ends.
	guardDrain = 100 * time.Millisecond
)

// LeaveScreen restores a terminal that a console did not leave in order: it turns off bracketed paste and every mode of the
// mouse (1000, 1002, 1003, 1006), leaves the alternate screen, shows the cursor, resets the styles and returns to the first
// column. It is the only such sequence of the program (xterm control sequences, DECSET).
const LeaveScreen = "\x1b[?2004l\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1049l\x1b[?25h\x1b[0m\r"

// outputGuard stands between Bubble Tea and a terminal that may take nothing: ctrl+s, a dead ssh, a frozen tmux. A write goes
// into a short queue; when that stays full, it is dropped and the screen is to be repainted (DESIGN.md, 8.1). It
// embeds the terminal, so that Bubble Tea still finds one.
type outputGuard struct {
	*os.File
	to     io.WriteCloser
	own    bool // to is ours to close
	frames chan []byte
	over   chan struct{} // closed: nothing more is taken
	done   chan struct{} // closed: the writer has returned

	dropped atomic.Bool // a frame was dropped since takeDropped
	stalled atomic.Bool // the queue was full at the last write
	lost    func()      // called once the terminal is gone
}

func newOutputGuard(f *os.File, lost func()) *outputGuard {
	g := &outputGuard{
		File: f, to: f, lost: lost,
		frames: make(chan []byte, guardFrames), over: make(chan struct{}), done: make(chan struct{}),
	}
	// The terminal, opened once more and without blocking: a write to it can be given up, and no other descriptor changes
	// its mode. Where it cannot be opened, a write that hangs stays behind at the end.
	if again, err := os.OpenFile(reopenPath(f.Fd()), os.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0); err == nil {
		g.to, g.own = again, true
	}
	go g.pump()
	return g
}

// Write takes p or drops it, and returns at once or within guardWait. It reports no error: what would act on one is
// Bubble Tea's renderer, which does not.
func (g *outputGuard) Write(p []byte) (int, error) {
	g.write(p)
	return len(p), nil
}

// WriteString is Write: the file's own would go past the queue, and Bubble Tea writes its modes by it.
func (g *outputGuard) WriteString(text string) (int, error) { return g.Write([]byte(text)) }

// write reports whether p was taken.
func (g *outputGuard) write(p []byte) bool {
	b := bytes.Clone(p)
	select {
	case <-g.over:
		return false
	default:
	}
	select {
	case g.frames <- b:
		g.stalled.Store(false)
		return true
	default:
	}
	if !g.stalled.Swap(true) { // one wait for a stall, not one for each frame of it
		t := time.NewTimer(guardWait)
		defer t.Stop()
		select {
		case g.frames <- b:
			g.stalled.Store(false)
			return true
		case <-t.C:
		case <-g.over:
		}
	}
	g.dropped.Store(true)
	return false
}

// takeDropped reports whether something was dropped that can now be painted again.
func (g *outputGuard) takeDropped() bool {
	return g.dropped.Load() && len(g.frames) == 0 && g.dropped.Swap(false)
}

func (g *outputGuard) pump() {
	defer close(g.done)
	for {
		var b []byte
		select {
		case b = <-g.frames:
		case <-g.over:
			select {
			case b = <-g.frames: // it was taken before the end
			default:
				return
			}
		}
		if _, err := g.to.Write(b); err != nil {
			if !errors.Is(err, os.ErrClosed) {
				g.lost()
			}
			return
		}
	}
}

// close ends the writer, waiting a moment for what is queued. If the program did not end in order, the screen is left
// by hand.
func (g *outputGuard) close(orderly bool) {
	if !orderly || g.dropped.Load() {
		g.write([]byte(LeaveScreen))
	}
	close(g.over)
	select {
	case <-g.done:
	case <-time.After(guardDrain):
	}
	if g.own {
		_ = g.to.Close() // ends a write that hangs
		<-g.done
	}
}

// inputWatcher reads the terminal and tells when it is gone: Bubble Tea takes the end of its input for silence.
type inputWatcher struct {
	*os.File
	lost func()
}

func (t *inputWatcher) Read(p []byte) (int, error) {
	n, err := t.File.Read(p)
	if err != nil || n == 0 {
		t.lost()
	}
	return n, err
}
