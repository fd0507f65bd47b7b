package tui

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// fetchTimeout is for one look; a gateway that is slower is shown as stale.
const fetchTimeout = 2 * time.Second

// tasks owns the work of the console outside of its loop: polls, actions, sorting. Bubble Tea runs commands on goroutines
// that it neither waits for nor cancels.
type tasks struct {
	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex // guards over, and wg.Add against wg.Wait
	over   bool
	wg     sync.WaitGroup
}

func newTasks(ctx context.Context) *tasks {
	t := &tasks{}
	t.ctx, t.cancel = context.WithCancel(ctx)
	return t
}

// failed is a panic of the console's own code.
type failed struct {
	task, what, stack string
}

// The tasks that must go on after a failure.
const (
	taskLook = "look at the gateway"
	taskTick = "tick"
	taskFeed = "follow the events"

	taskRecall = "read the past lives"
	taskPages  = "read more sessions"
	taskRead   = "read a page"
	taskWheel  = "turn the wheel"
	taskKeep   = "remember the views"
)

// cmd makes a command of f. Its context ends with the console, a panic of f comes back as failed, and after the end it
// does nothing.
func (t *tasks) cmd(task string, f func(ctx context.Context) tea.Msg) tea.Cmd {
	return func() (msg tea.Msg) {
		if !t.begin() {
			return nil
		}
		defer t.wg.Done()
		defer func() {
			if r := recover(); r != nil {
				msg = failed{task, fmt.Sprintf("%s: %v", task, r), string(debug.Stack())}
			}
		}()
		return f(t.ctx)
	}
}

// run starts f on a goroutine that ends with the console.
func (t *tasks) run(f func(ctx context.Context)) {
	if !t.begin() {
		return
	}
	go func() {
		defer t.wg.Done()
		f(t.ctx)
	}()
}

func (t *tasks) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.wg.Add(1)
	return true
}

// end cancels everything and waits, but no longer than grace: a console that ignores its context is not waited for.
func (t *tasks) end(grace time.Duration) {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.cancel()
	done := make(chan struct{})
	go func() { // ends with the last task
		defer close(done)
		t.wg.Wait()
	}()
	select {
	case <-done:
	case <-time.After(grace):
	}
}

// pause waits for d, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
