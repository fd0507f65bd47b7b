// Package bot is what the connections of bots to chat platforms have in common: a lifetime, HTTP calls whose errors hold no token,
// and notices to chats. A platform uses what fits it and keeps the rest in its own folder.
package bot

import (
	"context"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/semaphore"

	"gatewaytui/core/adapter"
)

// maxCalls is a number that is never reached: the Supervisor lets fewer through.
const maxCalls = math.MaxInt32

// Life is the lifetime of one connection. It implements the part of adapter.Conn that tells of its end.
type Life struct {
	// Tasks is the life of the work on received messages; EndTasks ends it. No caller's context bounds it.
	Tasks context.Context
	// Calls is that of the sends; EndCalls ends it, later than Tasks.
	Calls context.Context

	endTasks, endCalls context.CancelFunc
	// ended ends when the connection does without a Disconnect; its cause says why.
	ended context.Context
	fail  context.CancelCauseFunc
	// calls counts those under way. The holder of all of it, a Disconnect, knows that there are none, and that none can begin.
	calls *semaphore.Weighted
}

// NewLife returns the lifetime of a connection that begins.
func NewLife() *Life {
	l := &Life{calls: semaphore.NewWeighted(maxCalls)}
	l.Tasks, l.endTasks = context.WithCancel(context.Background())
	l.Calls, l.endCalls = context.WithCancel(context.Background())
	l.ended, l.fail = context.WithCancelCause(context.Background())
	return l
}

// Done implements adapter.Conn. It stays open where EndTasks ended the connection's work.
func (l *Life) Done() <-chan struct{} { return l.ended.Done() }

// Err implements adapter.Conn: why the connection ended without a Disconnect; nil while it has not.
func (l *Life) Err() error { return context.Cause(l.ended) }

// Fail ends the connection for a reason, the first of which counts.
func (l *Life) Fail(why error) { l.fail(why) }

// LastCall is how long the last call of a Disconnect within ctx may take: most, or half of the time that is left where that is less. So a
// platform that is silent ends before that bound, and its error says what was waited for.
func LastCall(ctx context.Context, most time.Duration) time.Duration {
	if end, is := ctx.Deadline(); is {
		return min(most, time.Until(end)/2)
	}
	return most
}

// EndTasks ends the work on received messages. Twice is harmless.
func (l *Life) EndTasks() { l.endTasks() }

// EndCalls ends the sends, and none begins from then on. Twice is harmless.
func (l *Life) EndCalls() { l.endCalls() }

// Sleep waits and reports whether Tasks lasted.
func (l *Life) Sleep(d time.Duration) bool {
	return adapter.Await(l.Tasks, time.After(d), "the next call") == nil && l.Tasks.Err() == nil
}

// Try calls f until it has no error, at most so often and with a pause in between. lost means that each time failed, err being the last
// error; else err is nil, or why the tasks ended before that was known.
func (l *Life) Try(times int, pause time.Duration, f func() error) (lost bool, err error) {
	for n := 1; ; n++ {
		if err = f(); err == nil || l.Tasks.Err() != nil {
			return false, err
		}
		if n == times {
			return true, err
		}
		if !l.Sleep(pause) {
			return false, l.Tasks.Err()
		}
	}
}

// While runs f, with a context that ends with ctx and with Calls.
func (l *Life) While(ctx context.Context, f func(context.Context) error) error {
	return adapter.While(ctx, l.Calls, l.calls, f)
}

// Alone runs f once no call is under way and none can begin, after EndCalls.
func (l *Life) Alone(ctx context.Context, f func() error) error {
	if err := l.calls.Acquire(ctx, maxCalls); err != nil {
		return fmt.Errorf("wait for sends: %w", err)
	}
	defer l.calls.Release(maxCalls)
	return f()
}
