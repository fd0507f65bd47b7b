package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
)

// send delivers one message through the connection in use.
func (l *managedAdapter) send(ctx context.Context, m Outgoing) error {
	c, err := l.admit()
	if err != nil {
		return err
	}
	defer l.release()
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	err = bound.Run(call, l.s.o.SendTimeout, func(ctx context.Context) error {
		if err := c.calls.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("wait behind other sends: %w", err)
		}
		defer c.calls.Release(1)
		// While this send waited, the platform may have rate-limited an earlier one. Another call would prolong that (E8).
		if err := l.rateLimited(); err != nil {
			return err
		}
		return c.conn.Send(ctx, m)
	})
	if limit, is := errors.AsType[*RateLimitError](err); is {
		l.mu.Lock()
		l.setRateLimit(limit)
		l.announce(slog.LevelWarn, err)
		l.mu.Unlock()
		l.s.flush()
	}
	if c.ctx.Err() != nil && ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return errors.New("the connection was taken down during the send")
	}
	return err
}

// admit counts a send in, or refuses it.
func (l *managedAdapter) admit() (*connection, error) {
	if err := l.rateLimited(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.row.State == ops.AdapterStopped:
		return nil, ErrStopped
	case l.current == nil:
		return nil, ErrNotConnected
	}
	l.sends++
	return l.current, nil
}

func (l *managedAdapter) release() {
	l.mu.Lock()
	l.sends--
	l.mu.Unlock()
}

// rateLimited returns the platform's rate limit as an error while it lasts.
func (l *managedAdapter) rateLimited() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left := time.Until(l.silentUntil); left > 0 && l.row.State != ops.AdapterStopped {
		return &RateLimitError{RetryAfter: left}
	}
	return nil
}

// setRateLimit records the platform's rate limit; the lock is held.
func (l *managedAdapter) setRateLimit(limit *RateLimitError) {
	until := time.Now().Add(min(limit.RetryAfter, maxSilence))
	if until.After(l.silentUntil) {
		l.silentUntil = until
		l.row.RateLimitedUntil = ops.At(until)
	}
}
