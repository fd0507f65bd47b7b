package adapter

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// stop takes the adapter off the network, for a pause or for good, which state says. It returns when all its connections are
// down, or after CallTimeout.
func (l *managedAdapter) stop(ctx context.Context, state ops.AdapterState) error {
	l.mu.Lock()
	switch {
	case l.row.State == ops.AdapterStopped && state != ops.AdapterStopped:
		l.mu.Unlock()
		return ErrStopped
	case l.platform == nil && state != ops.AdapterStopped:
		l.mu.Unlock()
		return ErrUnconfigured
	}
	before, attempt := l.down, l.attempt
	c := l.takeOff(state)
	l.mu.Unlock()
	l.s.flush()

	began, limit := time.Now(), l.teardown()
	var errs []error
	if c != nil {
		errs = append(errs, c.takeDown(ctx, limit, true))
	}
	if limit > 0 {
		limit = max(limit-time.Since(began), time.Millisecond)
	}
	// What was under way already: an attempt, whose end may start a takedown, or a takedown.
	errs = append(errs, bound.Run(ctx, limit, func(ctx context.Context) error {
		if err := Await(ctx, attempt, "a connection attempt"); err != nil {
			return err
		}
		l.mu.Lock()
		after := l.down
		l.mu.Unlock()
		return together(
			Await(ctx, before, "an earlier connection"),
			Await(ctx, after, "a late connection"))
	}))
	err := together(errs...)
	l.report(err)
	return err
}

// Await waits for done, which what names in the error; nil: there is nothing to wait for. What is done counts also where ctx has
// ended.
func Await[T any](ctx context.Context, done <-chan T, what string) error {
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done:
		return nil
	default:
		return fmt.Errorf("wait for %s: %w", what, ctx.Err())
	}
}

// takeOff pauses or stops the adapter, ends the work of run, and returns the connection, which the caller takes down. The lock is
// held. From here on nothing is sent or received.
func (l *managedAdapter) takeOff(state ops.AdapterState) *connection {
	l.drop()
	l.up = nil
	c := cmp.Or(l.current, l.leaving)
	l.current, l.leaving = nil, nil
	l.detach(c)
	if l.row.State != state {
		l.row.Attempt = 0
		l.row.NextAttemptAt = ops.Time{}
		l.transition(state, slog.LevelInfo, nil)
	}
	l.nudge()
	return c
}

// reconnect connects again at once, with a new connection. Unless forced it leaves a connection or an attempt alone.
func (l *managedAdapter) reconnect(force bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.row.State == ops.AdapterStopped:
		return ErrStopped
	case l.platform == nil:
		return ErrUnconfigured
	case !force && (l.row.State == ops.AdapterConnected || l.row.State == ops.AdapterConnecting):
		return nil
	}
	l.drop()
	if l.current != nil {
		l.detach(l.current)
		l.current, l.leaving = nil, l.current
	}
	l.up, l.drop = context.WithCancel(context.Background())
	l.recovered()
	l.row.Attempt = 1
	l.row.NextAttemptAt = ops.Time{}
	l.transition(ops.AdapterConnecting, slog.LevelInfo, nil)
	l.nudge()
	return nil
}

// nudge wakes run.
func (l *managedAdapter) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// detach marks c, which may be nil, as going down; the lock is held.
func (l *managedAdapter) detach(c *connection) {
	if c != nil {
		c.receiver.shut.Store(true)
		l.down = c.ended
	}
}

// discard takes c down on another goroutine; run goes on at once.
func (l *managedAdapter) discard(c *connection) {
	l.downs.Go(func() { l.takeDown(c) })
}

// takeDown ends a connection off the stop path. It uses no caller's context: the connection must go down within a limit,
// also after the caller has given up.
func (l *managedAdapter) takeDown(c *connection) {
	limit := l.teardown()
	if limit <= 0 {
		limit = l.s.o.ConnectTimeout
	}
	l.report(c.takeDown(context.Background(), limit, false))
}

// teardown bounds the end of a connection of this platform; 0 or less: only the caller of the end bounds it.
func (l *managedAdapter) teardown() time.Duration {
	limit := l.s.o.CallTimeout
	if l.s.o.Teardown == nil {
		return limit
	}
	if own := l.s.o.Teardown(l.name); own > 0 && (limit <= 0 || own < limit) {
		return own
	}
	return limit
}

// report logs a teardown that went wrong; nothing else depends on it.
func (l *managedAdapter) report(err error) {
	if err != nil {
		l.s.o.Log.Warn(ops.LogAdapterTeardown, "adapter", l.name, "error", clean(err))
	}
}

// transition enters a state; the lock is held.
func (l *managedAdapter) transition(state ops.AdapterState, level slog.Level, err error) {
	l.row.State = state
	l.row.Since = ops.At(time.Now())
	l.announce(level, err)
}

func (l *managedAdapter) announce(level slog.Level, err error) {
	row := l.row
	row.Queue = l.sends
	l.s.note(note{row: row, level: level, err: err})
}

// recovered forgets past failures; the lock is held.
func (l *managedAdapter) recovered() {
	l.attempts = 0
	l.backoff.Reset()
	if l.row.Conflicts > 0 {
		l.row.Conflicts = 0
		l.announce(slog.LevelInfo, nil)
	}
}

// describe adds to row what the platform says of itself. A panic of the platform is its error.
func (l *managedAdapter) describe(row *ops.Adapter) (err error) {
	defer caught(&err)
	if p, is := l.platform.(Listener); is {
		row.Listen = p.Addr()
	}
	if p, is := l.platform.(Partial); is && row.State == ops.AdapterConnected {
		row.LastError = term.Clean(term.Redact(strings.Join(p.Lacks(), "; ")), maxError)
	}
	return nil
}

// snapshot is the row as it is now.
func (l *managedAdapter) snapshot() ops.Adapter {
	l.mu.Lock()
	row, c := l.row, l.current
	row.Queue = l.sends
	if !time.Now().Before(l.silentUntil) {
		row.RateLimitedUntil = ops.Time{}
	}
	l.mu.Unlock()
	if err := l.describe(&row); err != nil {
		row.LastError = clean(err)
	}
	if c != nil {
		if last, err := c.lastInbound(); err == nil && !last.IsZero() {
			row.LastInboundAt = ops.At(last)
		}
	}
	return row
}
