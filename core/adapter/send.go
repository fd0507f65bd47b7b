package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gatewaytui/core/ops"
)

// send delivers one message through the connection in use.
func (l *link) send(ctx context.Context, m Outgoing) error {
	c, err := l.admit()
	if err != nil {
		return err
	}
	defer l.release()
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	err = Bounded(call, l.s.o.SendTimeout, func(ctx context.Context) error {
		if err := c.calls.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("wait behind other sends: %w", err)
		}
		defer c.calls.Release(1)
		// While this one waited, one before it may have been told to be silent; another call would prolong that (E8).
		if err := l.silenced(); err != nil {
			return err
		}
		return c.conn.Send(ctx, m)
	})
	if limit, is := errors.AsType[*RateLimitError](err); is {
		l.mu.Lock()
		l.hush(limit)
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
func (l *link) admit() (*live, error) {
	if err := l.silenced(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.wish == stopping:
		return nil, ErrStopped
	case l.live == nil:
		return nil, ErrNotConnected
	}
	l.sends++
	return l.live, nil
}

func (l *link) release() {
	l.mu.Lock()
	l.sends--
	l.mu.Unlock()
}

// silenced is the platform's wish for silence, as long as it lasts.
func (l *link) silenced() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left := time.Until(l.silence); left > 0 && l.wish != stopping {
		return &RateLimitError{RetryAfter: left}
	}
	return nil
}

// hush notes the platform's wish for silence; the lock is held.
func (l *link) hush(limit *RateLimitError) {
	until := time.Now().Add(min(limit.RetryAfter, maxSilence))
	if until.After(l.silence) {
		l.silence = until
		l.row.RateLimitedUntil = ops.At(until)
	}
}
