package adapter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"

	"gatewaytui/core/bound"
	"gatewaytui/core/ops"
)

// Send delivers m through the adapter called name and returns within SendTimeout. While the platform asks for silence it
// returns a *RateLimitError at once (E8); other refusals are ErrUnknown, ErrStopped, ErrNotConnected, and *RefusedError
// for a message that is not worth another try. MayHaveArrived tells what is known after an error.
func (s *Supervisor) Send(ctx context.Context, name string, m Outgoing) (Sent, error) {
	return request(ctx, s, "send to", name, sending(m), func(ctx context.Context, c Conn) (Sent, error) { return c.Send(ctx, m) })
}

// Edit makes the message id of the chat m.Target what m says, under the rules of Send.
func (s *Supervisor) Edit(ctx context.Context, name, id string, m Outgoing) (Sent, error) {
	return request(ctx, s, "edit a message of", name, sending(m), func(ctx context.Context, c Editor) (Sent, error) { return c.Edit(ctx, id, m) })
}

// Remove takes a message out of a chat.
func (s *Supervisor) Remove(ctx context.Context, name, target, id string) error {
	return done(request(ctx, s, "remove a message of", name, passing, func(ctx context.Context, c Editor) (struct{}, error) {
		return struct{}{}, c.Remove(ctx, target, id)
	}))
}

// Typing shows in a chat that the bot works, for as long as Bounds.Typing says.
func (s *Supervisor) Typing(ctx context.Context, name, target string) error {
	return done(request(ctx, s, "show typing on", name, passing, func(ctx context.Context, c Typer) (struct{}, error) {
		return struct{}{}, c.Typing(ctx, target)
	}))
}

// Draft shows m as the draft id of a chat, for as long as Bounds.Drafts says.
func (s *Supervisor) Draft(ctx context.Context, name string, id int64, m Outgoing) error {
	return done(request(ctx, s, "show a draft on", name, passing, func(ctx context.Context, c Drafter) (struct{}, error) {
		return struct{}{}, c.Draft(ctx, id, m)
	}))
}

// React makes emoji the bot's only reaction to the message id; an empty emoji takes it back.
func (s *Supervisor) React(ctx context.Context, name, target, id, emoji string) error {
	return done(request(ctx, s, "react on", name, passing, func(ctx context.Context, c Reactor) (struct{}, error) {
		return struct{}{}, c.React(ctx, target, id, emoji)
	}))
}

// SetMenu shows the chat commands in the platform's own menu.
func (s *Supervisor) SetMenu(ctx context.Context, name string, commands []MenuCommand) error {
	return done(request(ctx, s, "set the menu of", name, passing, func(ctx context.Context, c MenuSetter) (struct{}, error) {
		return struct{}{}, c.SetMenu(ctx, commands)
	}))
}

// SendFile sends one file as a message of its own, under the rules of Send, but within two minutes.
func (s *Supervisor) SendFile(ctx context.Context, name, target string, f OutgoingFile) (Sent, error) {
	return request(ctx, s, "send a file to", name, uploading, func(ctx context.Context, c FileSender) (Sent, error) { return c.SendFile(ctx, target, f) })
}

// Fetch returns the content of a file of a message that was received, within two minutes. A file of more than most bytes is a
// *RefusedError. Other errors may go away with another try.
func (s *Supervisor) Fetch(ctx context.Context, name, ref string, most int64) ([]byte, error) {
	content, err := request(ctx, s, "fetch a file from", name, fetching, func(ctx context.Context, c Fetcher) ([]byte, error) { return c.Fetch(ctx, ref, most) })
	if err == nil && int64(len(content)) > most {
		return nil, fmt.Errorf("fetch a file from %s: %w", name, &RefusedError{Why: fmt.Sprintf("the file is larger than %d bytes", most)})
	}
	return content, err
}

func done(_ struct{}, err error) error { return err }

// Can reports whether the platform called name has the ability a: now, or while it is not connected, in its last connection.
func (s *Supervisor) Can(name string, a Ability) bool {
	l, ok := s.find(name)
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.row.Abilities, string(a))
}

// Bounds are those of the chat at target on the platform called name.
func (s *Supervisor) Bounds(name, target string) Bounds {
	if l, ok := s.find(name); ok {
		if p, ok := l.platform.(Bounded); ok {
			return p.Bounds(target)
		}
	}
	return Bounds{}
}

// CommandSign begins a chat command as the people of the platform called name write it.
func (s *Supervisor) CommandSign(name string) string {
	if l, ok := s.find(name); ok {
		if p, ok := l.platform.(CommandSigner); ok {
			return p.CommandSign()
		}
	}
	return Slash
}

// weight is how much depends on a call.
type weight int

const (
	// essential calls carry what must arrive. They wait for their turn; the platform's rate limit for one holds for the adapter,
	// and a teardown gives those under way a moment.
	essential weight = iota
	// uploading calls are essential and carry a file, which takes its time.
	uploading
	// passing calls are worthless a moment later. None waits, one that the connection has no room for is refused, and nothing of
	// theirs delays an essential one.
	passing
	// fetching calls bring the content of files, and take their time.
	fetching
)

const (
	// passingTimeout bounds a passing call.
	passingTimeout = 10 * time.Second
	// fileTimeout bounds the way of one file, in either direction.
	fileTimeout = 2 * time.Minute
)

// essential reports whether a call carries what must arrive.
func (w weight) essential() bool { return w == essential || w == uploading }

func sending(m Outgoing) weight {
	if m.Passing {
		return passing
	}
	return essential
}

// errCrowded is the answer to a passing call for which its connection has no room.
var errCrowded = &UnsentError{errors.New("too many calls are under way in the connection")}

// request makes one call of the connection in use. It is bounded, abandoned whole if it hangs, and none begins once the
// connection is taken down. doing is what the call does, for its error.
func request[T, R any](ctx context.Context, s *Supervisor, doing, name string, w weight, f func(context.Context, T) (R, error)) (value R, err error) {
	l, ok := s.find(name)
	if !ok {
		return value, fmt.Errorf("%s %q: %w", doing, name, ErrUnknown)
	}
	if value, err = call(ctx, l, w, f); err != nil {
		return value, fmt.Errorf("%s %s: %w", doing, name, err)
	}
	return value, nil
}

func call[T, R any](ctx context.Context, l *managedAdapter, w weight, f func(context.Context, T) (R, error)) (value R, err error) {
	c, err := l.admit(w)
	if err != nil {
		return value, err
	}
	defer l.release(w)
	able, ok := c.conn.(T)
	if !ok {
		return value, ErrUnable
	}
	room, limit, life := c.calls, l.s.o.SendTimeout, c.ctx
	switch w {
	case passing:
		room, limit, life = c.passing, min(passingTimeout, limit), c.passingCtx
	case fetching:
		room, limit, life = c.passing, fileTimeout, c.passingCtx
	case uploading:
		limit = fileTimeout
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	value, _, err = bound.Call(within, limit, func(ctx context.Context) (none R, _ error) {
		if err := enter(ctx, room, w); err != nil {
			return none, err
		}
		defer room.Release(1)
		// While this call waited, the platform may have rate-limited an earlier one. Another call would prolong that (E8).
		if err := l.rateLimited(); err != nil {
			return none, err
		}
		return f(ctx, able)
	}, nil)
	if limit, is := errors.AsType[*RateLimitError](err); is && w.essential() {
		l.mu.Lock()
		l.setRateLimit(limit)
		l.announce(slog.LevelWarn, err)
		l.mu.Unlock()
		l.s.flush()
	}
	if life.Err() != nil && ctx.Err() == nil && errors.Is(err, context.Canceled) {
		return value, errors.New("the connection was taken down during the call")
	}
	return value, err
}

// enter takes a place among the calls under way in a connection.
func enter(ctx context.Context, room *semaphore.Weighted, w weight) error {
	if !w.essential() {
		if !room.TryAcquire(1) {
			return errCrowded
		}
		return nil
	}
	if err := room.Acquire(ctx, 1); err != nil {
		return &UnsentError{fmt.Errorf("wait behind other sends: %w", err)}
	}
	return nil
}

// admit counts a call in, or refuses it.
func (l *managedAdapter) admit(w weight) (*connection, error) {
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
	if w.essential() {
		l.sends++
	}
	return l.current, nil
}

func (l *managedAdapter) release(w weight) {
	if !w.essential() {
		return
	}
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
