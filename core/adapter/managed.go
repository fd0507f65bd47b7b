package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
)

const (
	// provenAfter is how long a connection must hold, and have received since it was made, to count as recovery. Before
	// that its end is one more failure in the same row: a start that returned proves nothing (E1, E9).
	provenAfter = time.Minute
	// maxSilence is the longest pause that a platform may ask for. An absurd value cannot end an adapter for ever (E3).
	maxSilence = 24 * time.Hour
)

// managedAdapter keeps one platform connected. Only its goroutine run makes connections. The operator's verbs pause or stop it
// (row.State) and take the connection away; each step of run checks under the lock that up has not ended.
type managedAdapter struct {
	s          *Supervisor
	name       string
	platform   Platform      // nil: broken in the config
	staleAfter time.Duration // 0: a quiet connection is never stale
	first      chan struct{} // closed by firstDone, when the first attempt has ended
	firstDone  func()
	wake       chan struct{} // capacity 1: up or leaving changed
	downs      sync.WaitGroup

	mu          sync.Mutex      // guards what follows; never held over a call into a platform
	up          context.Context // ends when a connection is no longer desired; nil without one
	drop        context.CancelFunc
	row         ops.Adapter
	current     *connection     // the connection in use
	leaving     *connection     // a connection that run has to take down
	attempt     <-chan struct{} // closed when the latest attempt has returned from the platform
	down        <-chan struct{} // closed when the latest takedown has ended
	attempts    int             // since the last recovery
	backoff     *backoff.ExponentialBackOff
	silentUntil time.Time // until when the platform wants nothing sent
	sends       int
}

func newManagedAdapter(s *Supervisor, name string) *managedAdapter {
	l := &managedAdapter{
		s: s, name: name, first: make(chan struct{}), wake: make(chan struct{}, 1),
		backoff: &backoff.ExponentialBackOff{
			InitialInterval: s.o.MinBackoff, MaxInterval: s.o.MaxBackoff,
			Multiplier: 2, RandomizationFactor: 0.2,
		},
		row: ops.Adapter{Name: name, State: ops.AdapterConnecting, Attempt: 1, Since: ops.At(time.Now())},
	}
	l.firstDone = sync.OnceFunc(func() { close(l.first) })
	l.up, l.drop = context.WithCancel(context.Background())
	return l
}

// run connects, watches and retries until the adapter is stopped. The end of ctx stops it.
func (l *managedAdapter) run(ctx context.Context) {
	defer l.downs.Wait() // each is bounded
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		l.end()
	})
	defer func() {
		if !stop() {
			<-ended // it takes no time: the adapter reports nothing after run
		}
	}()
	defer l.firstDone()
	for {
		l.mu.Lock()
		up, state, old := l.up, l.row.State, l.leaving
		l.leaving = nil
		l.mu.Unlock()
		if old != nil {
			l.discard(old)
		}
		switch {
		case up != nil:
			l.stayConnected(up)
		case state == ops.AdapterStopped:
			return
		default:
			<-l.wake
		}
	}
}

// end stops the adapter when Run ends without a Stop.
func (l *managedAdapter) end() {
	l.mu.Lock()
	if l.row.State != ops.AdapterStopped {
		l.leaving = l.takeOff(ops.AdapterStopped)
	}
	l.mu.Unlock()
	l.s.flush()
}

// stayConnected holds a connection for as long as up lasts.
func (l *managedAdapter) stayConnected(up context.Context) {
	l.awaitPrevious(up)
	for {
		c, err := l.connect(up)
		l.firstDone()
		if err == nil {
			err = l.watch(up, c)
		}
		old, delay, ok := l.scheduleRetry(up, err)
		l.s.flush()
		if old != nil {
			l.discard(old)
		}
		if !ok || Await(up, time.After(delay), "the next attempt") != nil {
			return
		}
	}
}

// awaitPrevious lets the connection before this one leave first, since two of them at once can be a conflict at the platform or
// on a port, but waits no longer than a retry would (E4).
func (l *managedAdapter) awaitPrevious(up context.Context) {
	l.mu.Lock()
	down := l.down
	l.mu.Unlock()
	if down == nil {
		return
	}
	select {
	case <-down:
	case <-time.After(l.s.o.MinBackoff):
	case <-up.Done():
	}
}

// connect makes one attempt and takes the connection into use. An attempt that ignores the end of its context is abandoned.
// If it succeeds later, its connection is taken down.
func (l *managedAdapter) connect(up context.Context) (*connection, error) {
	returned := make(chan struct{})
	if !l.attempting(up, returned) {
		return nil, up.Err()
	}
	l.s.flush()

	g := &receiver{Receiver: l.s.o.Receiver}
	conn, abandoned, err := bound.Call(up, l.s.o.ConnectTimeout,
		func(ctx context.Context) (Conn, error) { return l.platform.Connect(ctx, g) },
		func(conn Conn, err error) {
			defer close(returned)
			if err != nil {
				return
			}
			l.s.o.Log.Warn(ops.LogAdapterConnectLate, "adapter", l.name)
			if c, err := newConnection(conn, g); err == nil {
				l.takeDown(c)
			}
		})
	if !abandoned {
		defer close(returned)
	}
	var c *connection
	if err == nil {
		c, err = newConnection(conn, g)
	}
	if err != nil {
		g.shut.Store(true)
		return nil, fmt.Errorf("connect: %w", err)
	}
	if !l.adopt(up, c) {
		l.discard(c)
		return nil, up.Err()
	}
	l.s.flush()
	return c, nil
}

// attempting records that an attempt begins, unless up has ended.
func (l *managedAdapter) attempting(up context.Context, returned <-chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if up.Err() != nil {
		return false
	}
	l.attempt = returned
	l.attempts++
	l.row.Attempt = l.attempts
	l.row.NextAttemptAt = ops.Time{}
	l.transition(ops.AdapterConnecting, slog.LevelDebug, nil)
	return true
}

// abilitiesOf are the abilities of a platform as it is now, for its row.
func abilitiesOf(p Platform) (words []string) {
	if q, ok := p.(Able); ok {
		for _, a := range q.Abilities() {
			words = append(words, string(a))
		}
	}
	return words
}

// adopt makes c the connection in use, unless up has ended. It clears the last error, which stays in the log.
func (l *managedAdapter) adopt(up context.Context, c *connection) bool {
	able := abilitiesOf(l.platform)
	l.mu.Lock()
	defer l.mu.Unlock()
	if up.Err() != nil {
		l.detach(c)
		return false
	}
	l.current = c
	l.row.Abilities = able // a new list: rows that were given away keep theirs
	l.row.Attempt = 0
	l.row.LastError = ""
	l.transition(ops.AdapterConnected, slog.LevelInfo, nil)
	return true
}

// watch returns when the connection ended, went stale, or up ended; the error says why.
func (l *managedAdapter) watch(up context.Context, c *connection) error {
	proven := false
	for {
		last, err := c.lastInbound()
		if err != nil {
			return fmt.Errorf("disconnected: %w", err)
		}
		age, next := time.Since(c.since), time.Duration(0) // 0: nothing to look for
		if !proven && age >= provenAfter && (l.staleAfter == 0 || last.After(c.since)) {
			proven = true
			l.mu.Lock()
			if up.Err() == nil {
				l.recovered()
			}
			l.mu.Unlock()
		}
		if !proven {
			next = max(provenAfter-age, provenAfter/10)
		}
		if l.staleAfter > 0 {
			left := l.staleAfter - time.Since(last)
			if left <= 0 {
				return &staleError{l.staleAfter}
			}
			if next == 0 || left < next {
				next = left
			}
		}
		var check <-chan time.Time
		if next > 0 {
			check = time.After(next)
		}
		select {
		case <-check:
		case <-c.done:
			return fmt.Errorf("disconnected: %w", c.cause())
		case <-up.Done():
			return up.Err()
		}
	}
}

// scheduleRetry records why there is no connection and when the next attempt is. It does so before the old connection, which
// it returns, is taken down (E2, S7). If up has ended, it changes nothing and reports false.
func (l *managedAdapter) scheduleRetry(up context.Context, err error) (old *connection, delay time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if up.Err() != nil {
		return nil, 0, false
	}
	state, level := ops.AdapterRetrying, slog.LevelWarn
	wait := min(l.backoff.NextBackOff(), l.s.o.MaxBackoff)
	delay = min(wait, l.s.o.OutageBackoff)
	now := time.Now()
	if _, is := errors.AsType[*staleError](err); is {
		state = ops.AdapterStale
	}
	if _, is := errors.AsType[*CredentialsError](err); is {
		state, delay = ops.AdapterNeedsCredentials, l.s.o.MaxBackoff
	}
	if limit, is := errors.AsType[*RateLimitError](err); is {
		l.setRateLimit(limit)
		delay = max(delay, l.silentUntil.Sub(now))
	}
	if _, is := errors.AsType[*ConflictError](err); is {
		delay = wait
		l.row.Conflicts++
	}
	if old = l.current; old != nil {
		l.current = nil
		l.detach(old)
		if last, err := old.lastInbound(); err == nil && !last.IsZero() {
			l.row.LastInboundAt = ops.At(last)
		}
	}
	l.row.Attempt = l.attempts + 1
	l.row.NextAttemptAt = ops.At(now.Add(delay))
	l.row.LastError = clean(err)
	l.transition(state, level, err)
	return old, delay, true
}
