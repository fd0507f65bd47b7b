package tui

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"gatewaytui/core/ops"
)

const (
	// feedGap is the least time between two batches of events: ten a second at the most (design.md, 8).
	feedGap = 100 * time.Millisecond
	// feedKept bounds what waits for the loop.
	feedKept = 4096
)

// feed follows the gateway's events on a goroutine of the console and hands them to the loop in batches. The gateway
// waits for neither.
type feed struct {
	console ops.Console
	wake    chan struct{} // holds a token while something waits
	kicks   chan bool     // begin again; true: from the oldest

	mu      sync.Mutex
	pending []ops.Event
	lost    int
	ended   bool // the stream has ended; kick begins it again
	err     error
	gen     int
}

// batch is what has come since the last one.
type batch struct {
	events []ops.Event
	lost   int
	ended  bool
	err    error
	gen    int
}

func newFeed(c ops.Console) *feed {
	return &feed{console: c, wake: make(chan struct{}, 1), kicks: make(chan bool, 1)}
}

// run follows until ctx ends.
func (f *feed) run(ctx context.Context) {
	var after uint64
	for ctx.Err() == nil {
		after = f.follow(ctx, after)
		select { // no deadline: the loop kicks it when the gateway answers again
		case anew := <-f.kicks:
			if anew {
				after = 0
			}
		case <-ctx.Done():
		}
	}
}

func (f *feed) follow(ctx context.Context, after uint64) (last uint64) {
	last = after
	var why error
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Errorf("panic: %v", r)
		}
		f.end(why)
	}()
	for ev, err := range f.console.Events(ctx, after) {
		if err != nil {
			why = err
			break
		}
		last = max(last, ev.Seq)
		f.add(ev)
	}
	return last
}

func (f *feed) add(ev ops.Event) {
	f.mu.Lock()
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

// kick begins an ended stream again: anew from the oldest event kept, for another life; else where it ended. Events of
// before come in no later batch.
func (f *feed) kick(anew bool) {
	f.mu.Lock()
	f.ended, f.err = false, nil
	if anew {
		f.pending, f.lost = nil, 0
		f.gen++
	}
	f.mu.Unlock()
	select {
	case f.kicks <- anew:
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
	b := batch{events: f.pending, lost: f.lost, ended: f.ended, err: f.err, gen: f.gen}
	f.pending, f.lost = nil, 0
	f.mu.Unlock()
	if errors.Is(b.err, context.Canceled) {
		b.err = nil
	}
	return b
}

// await is the loop's one command on the feed.
func (m *model) await(wait time.Duration) tea.Cmd {
	return m.tasks.cmd(taskFeed, func(ctx context.Context) tea.Msg {
		rest(ctx, wait)
		return m.feed.next(ctx)
	})
}
