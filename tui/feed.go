package tui

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
)

const (
	// feedGap is the least time between two batches of events: ten a second at most (DESIGN.md, 8).
	feedGap = 100 * time.Millisecond
	// feedKept bounds what waits for the loop.
	feedKept = 4096
)

// A gateway that does much tells of some thousand events a second, and decoding them is most of what a console costs. The
// rule: while the events are on the screen, the feed follows all of them. Else it follows all of them only up to busyRate
// events a second; above that those alone that the console acts on, and of the others it learns four times a second that
// there were some. What is shown is then at most 0.3 s old all the same. When events are shown again, or the gateway is
// quiet again, the feed goes back to where it left the whole stream, as far as the gateway still has it.
const (
	// busyRate and calmRate are events a second at which the feed begins and ends to follow few of them.
	busyRate, calmRate = 100, 40
	// rateWindow is how long events are counted.
	rateWindow = time.Second
)

// fewKinds are the events that change more than rows.
var fewKinds = []ops.EventType{
	ops.EventGatewayState, ops.EventAdapterState, ops.EventWarning, ops.EventShutdownPhase, ops.EventShutdownItem, ops.EventShutdownEnded,
}

// feed follows the gateway's events on a goroutine of the console and hands them to the loop in batches. The gateway
// waits for neither.
type feed struct {
	console  ops.Console
	wake     chan struct{} // holds a token while something waits
	restarts chan bool     // begin again; true: from the oldest

	mu      sync.Mutex
	pending []ops.Event
	lost    int
	ended   bool // the stream has ended; restart begins it again
	err     error
	gen     int

	shown  bool   // events are on the screen
	few    bool   // fewKinds alone are followed
	turned bool   // the stream was ended to follow it with other kinds
	whole  uint64 // the newest event of the whole stream
	back   uint64 // where the whole stream begins again after few; 0: it does not
	resume bool   // back is set
	again  bool   // the next event is the first of the whole stream again
	stop   context.CancelFunc
	since  time.Time // events are counted in n since then
	n      int
	rate   float64 // events a second in the window before since
}

type batch struct {
	events []ops.Event
	lost   int
	ended  bool
	err    error
	gen    int
	// resumed says that the whole stream begins again behind the event back: what came of later ones comes again.
	resumed bool
	back    uint64
}

func newFeed(c ops.Console) *feed {
	return &feed{console: c, wake: make(chan struct{}, 1), restarts: make(chan bool, 1)}
}

func (f *feed) run(ctx context.Context) {
	var after uint64
	for ctx.Err() == nil {
		var turned bool
		if after, turned = f.follow(ctx, after); turned {
			continue
		}
		select { // no deadline: the loop restarts it when the gateway answers again
		case again := <-f.restarts:
			if again {
				after = 0
			}
		case <-ctx.Done():
		}
	}
}

// follow reads one stream. turned says that it ended because other kinds are wanted.
func (f *feed) follow(ctx context.Context, after uint64) (last uint64, turned bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.mu.Lock()
	f.stop = cancel
	f.turned = false
	var kinds []ops.EventType
	if f.few {
		kinds = fewKinds
	}
	f.mu.Unlock()
	last = after
	var why error
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Errorf("panic: %v", r)
		}
		f.mu.Lock()
		if turned = f.turned; turned && !f.few {
			last = f.whole
		}
		f.mu.Unlock()
		if !turned {
			f.end(why)
		}
	}()
	for ev, err := range f.console.Events(ctx, after, kinds...) {
		if err != nil {
			why = err
			break
		}
		last = max(last, ev.Seq)
		f.add(ev)
	}
	return last, turned
}

// show says whether events are on the screen.
func (f *feed) show(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shown = on; on && f.few {
		f.turn(false)
	}
}

// busy reports whether there are more events than a console follows without need.
func (f *feed) busy() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.few || f.rate > busyRate
}

// turn ends the stream, so that it is followed with other kinds. The caller holds mu.
func (f *feed) turn(few bool) {
	f.few, f.turned = few, true
	f.since, f.n = time.Time{}, 0
	if !few {
		f.resume, f.back, f.again = true, f.whole, true
		f.pending = slices.DeleteFunc(f.pending, func(e ops.Event) bool { return e.Seq > f.whole })
	}
	if f.stop != nil {
		f.stop()
	}
}

// count follows the rate of the events, and turns to few kinds or back. The caller holds mu.
func (f *feed) count(ev ops.Event) {
	n := 1
	if ev.Type == ops.EventSkipped {
		n = missed(ev)
	} else if !f.few {
		f.whole = max(f.whole, ev.Seq)
	}
	now := time.Now()
	if f.since.IsZero() {
		f.since = now
	}
	if now.Sub(ev.At.Time) < 2*rateWindow { // what was kept from before says nothing about the rate
		f.n += n
	}
	passed := now.Sub(f.since)
	switch {
	case f.turned: // the stream is ending already
	case !f.few && !f.shown && f.n > busyRate:
		f.turn(true)
	case passed >= rateWindow:
		if f.few && float64(f.n) < calmRate*passed.Seconds() {
			f.turn(false)
			return
		}
		f.rate = float64(f.n) / passed.Seconds()
		f.since, f.n = now, 0
	}
}

// missed is the count of an event that stands for others.
func missed(ev ops.Event) int {
	m, _ := ops.PayloadOf[ops.Missed](ev)
	return int(min(m.Count, math.MaxInt))
}

func (f *feed) add(ev ops.Event) {
	f.mu.Lock()
	if f.turned && !f.few { // it comes again in the whole stream
		f.mu.Unlock()
		return
	}
	if f.again && ev.Type == ops.EventDropped {
		ev.Text, ev.Data = fmt.Sprintf("%d events were not followed, because there were too many", missed(ev)), nil
	}
	f.again = false
	f.count(ev)
	if len(f.pending) == feedKept {
		f.pending = append(f.pending[:0], f.pending[feedKept/2:]...)
		f.lost += feedKept / 2
	}
	f.pending = append(f.pending, ev)
	f.mu.Unlock()
	f.nudge()
}

func (f *feed) end(err error) {
	f.mu.Lock()
	f.ended, f.err = true, err
	f.mu.Unlock()
	f.nudge()
}

func (f *feed) nudge() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// restart begins an ended stream again, for another life from the oldest event kept, else where it ended. Events of
// before come in no later batch.
func (f *feed) restart(again bool) {
	f.mu.Lock()
	f.ended, f.err = false, nil
	if again {
		f.pending, f.lost = nil, 0
		f.whole, f.resume = 0, false
		f.gen++
	}
	f.mu.Unlock()
	select {
	case f.restarts <- again:
	default:
	}
}

// next waits for something to tell, a moment longer so that a burst is one batch, and takes it.
func (f *feed) next(ctx context.Context) tea.Msg {
	select { // no deadline: an idle gateway has no news
	case <-f.wake:
	case <-ctx.Done():
		return nil
	}
	f.mu.Lock()
	b := batch{events: f.pending, lost: f.lost, ended: f.ended, err: f.err, gen: f.gen, resumed: f.resume, back: f.back}
	f.pending, f.lost, f.resume = nil, 0, false
	f.mu.Unlock()
	if errors.Is(b.err, context.Canceled) {
		b.err = nil
	}
	return b
}
