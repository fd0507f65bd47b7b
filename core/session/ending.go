package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/ops"
)

// Policy is when a conversation expires. The zero value never ends one.
type Policy struct {
	// Idle is how long a session may go without activity; 0: for ever. Time in which the gateway is down counts.
	Idle time.Duration
	// Daily is a time of day at which conversations start again, as an offset from local midnight; negative: never.
	Daily time.Duration
}

// ParseDaily reads "04:00"; the empty string means never.
func ParseDaily(s string) (time.Duration, error) {
	if s == "" {
		return -1, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, fmt.Errorf("time of day %q: not HH:MM", s)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// Expired reports whether a session whose last activity was at last has expired by now, and why. The time zone of now
// defines the days. A clock that was set back expires nothing.
func (p Policy) Expired(last, now time.Time) (why string, expired bool) {
	if idle := now.Sub(last); p.Idle > 0 && idle >= p.Idle {
		return idleFor + idle.Round(time.Second).String(), true
	}
	if p.Daily >= 0 && last.Before(p.lastBoundary(now)) {
		return dailyReset, true
	}
	return "", false
}

// The reasons of an expiry, as the store keeps them; the first is followed by a duration.
const (
	idleFor    = "idle for "
	dailyReset = "daily reset"
)

// IsExpiry reports whether a conversation that ended with this reason has expired.
func IsExpiry(reason string) bool {
	return strings.HasPrefix(reason, idleFor) || reason == dailyReset
}

// Expires reports whether any conversation expires under p.
func (p Policy) Expires() bool { return p.Idle > 0 || p.Daily >= 0 }

// lastBoundary is the newest daily boundary that is not after now. It is built from the calendar, not from 24 h, so that
// it keeps its wall-clock time when summer time begins or ends.
func (p Policy) lastBoundary(now time.Time) time.Time {
	y, m, d := now.Date()
	h, min := int(p.Daily/time.Hour), int(p.Daily%time.Hour/time.Minute)
	b := time.Date(y, m, d, h, min, 0, 0, now.Location())
	if b.After(now) {
		b = time.Date(y, m, d-1, h, min, 0, 0, now.Location())
	}
	return b
}

// Expired are the sessions that have expired by now under p, by key. A turn that makes progress is activity; one that was
// found stalled expires with its session (S11). A placeholder has no agent to close yet and never expires. Of idle
// sessions it finds those with the oldest activity, at most about limit: sessions that continue are not checked.
func (tb *Table) Expired(p Policy, now time.Time, limit int) map[string]Expiry {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	out := map[string]Expiry{}
	if !p.Expires() {
		return out
	}
	look := func(e *entry) bool {
		why, yes := tb.expired(e, p, now)
		if yes {
			out[e.Key()] = Expiry{ID: e.ID(), Why: why}
		}
		return yes || e.closing()
	}
	tb.working(func(e *entry) { look(e) })
	tb.order.Reverse(func(e *entry) bool { // the session with the oldest activity is the last: one that continues ends the walk
		return groupOf(e.place) == ops.GroupIdle && look(e) && len(out) < limit
	})
	return out
}

// expired is Expired of one session. tb.mu is held.
func (tb *Table) expired(e *entry, p Policy, now time.Time) (why string, yes bool) {
	if e.closing() {
		return "", false
	}
	if e.mail != nil && e.mail.inLine || e.gathers() { // its messages are still to be answered
		return "", false
	}
	last := e.lastActivity()
	if t := tb.turns[e.Key()]; t != nil {
		if !t.now.Attached || t.now.StalledAt.IsZero() {
			return "", false
		}
		last = t.now.Progress
	}
	return p.Expired(last, now)
}

// BeginExpiry is BeginReset of a session that Expired named, if that is still so: a session with a new message continues.
func (tb *Table) BeginExpiry(key string, x Expiry, p Policy, now time.Time) (old Session, turn *Turn, dropped []Message, ok bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || e.ID() != x.ID {
		return Session{}, nil, nil, false
	}
	if _, yes := tb.expired(e, p, now); !yes {
		return Session{}, nil, nil, false
	}
	old, turn, dropped = tb.beginReset(e)
	return old, turn, dropped, true
}

// BeginIdleExpiry is BeginReset for a session that has expired by now under p and in which no turn runs. Messages in its
// mailbox, and those that come until EndReset, belong to the conversation after it. It reports false, and changes
// nothing, for any other session.
func (tb *Table) BeginIdleExpiry(key string, p Policy, now time.Time) (old Session, why string, ok bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || e.closing() || tb.turns[key] != nil {
		return Session{}, "", false
	}
	if why, ok = p.Expired(e.lastActivity(), now); !ok {
		return Session{}, "", false
	}
	old = e.session()
	e.setClosing(true)
	e.setState(ops.SessionIdle) // a suspended conversation has ended: messages to the next one wait for it
	tb.reposition(e)
	return old, why, true
}

// Expiry names an incarnation of a session that has expired.
type Expiry struct {
	ID, Why string
}

// BeginReset ends the conversation of key. The running turn, if any, is cancelled with ErrReset and its slot freed at
// once, also while its worker still runs (D10). Waiting messages are returned, for a notice to each sender. Until
// EndReset messages wait, because the old conversation's agent and processes are being closed. It reports false if the
// session does not exist, or if it is being reset already.
func (tb *Table) BeginReset(key string) (old Session, turn *Turn, dropped []Message, ok bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || e.closing() {
		return Session{}, nil, nil, false
	}
	old, turn, dropped = tb.beginReset(e)
	return old, turn, dropped, true
}

// beginReset is BeginReset of e. tb.mu is held.
func (tb *Table) beginReset(e *entry) (old Session, turn *Turn, dropped []Message) {
	e.setClosing(true)
	dropped = tb.take(e, 0, e.queued())
	if turn = tb.turns[e.Key()]; turn != nil {
		turn.interrupt(ErrReset)
		tb.release(turn)
	}
	tb.reposition(e)
	return e.session(), turn, dropped
}

// EndReset starts the fresh conversation under the key of a BeginReset. It returns the next turn, for the caller to run,
// unless hold keeps it waiting. With forget a session without a message since then is dropped instead.
func (tb *Table) EndReset(ctx context.Context, key string, forget, hold bool) (next *Turn) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || !e.closing() {
		return nil
	}
	if forget && e.queued() == 0 {
		tb.forget(e)
		return nil
	}
	now := time.Now()
	e.setClosing(false)
	fresh := e.session()
	fresh.ID, fresh.State, fresh.Created, fresh.LastActivity = tb.o.NewID(), ops.SessionIdle, now, now
	fresh.TokensIn, fresh.TokensOut, fresh.Caller, fresh.Title, fresh.Stored = 0, 0, ops.Caller{}, "", false
	fresh.ContextUsed, fresh.ContextWindow = 0, 0
	fresh.TokensCached, fresh.Cost, fresh.Priced, fresh.Agent, fresh.Model, fresh.Choice, fresh.Busy = 0, 0, false, "", "", "", ""
	e.set(fresh)
	tb.reposition(e)
	if hold {
		return nil
	}
	return tb.next(ctx)
}

// BeginReplace holds the messages to key until EndReplace, because another conversation replaces the current one. old is
// the current one, the zero Session if there is none. It reports false while a turn runs, or while the conversation ends.
func (tb *Table) BeginReplace(key string) (old Session, ok bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil {
		now := time.Now()
		e = tb.add(Session{Key: key, ID: tb.o.NewID(), Platform: Platform(key), State: ops.SessionIdle, Created: now, LastActivity: now})
	} else if e.closing() || tb.turns[key] != nil {
		return Session{}, false
	} else {
		old = e.session()
	}
	e.setClosing(true)
	tb.reposition(e)
	return old, true
}

// EndReplace makes s the session of key after a BeginReplace; nil keeps the current session. It returns the next turn,
// for the caller to run, unless hold keeps it waiting.
func (tb *Table) EndReplace(ctx context.Context, key string, s *Session, hold bool) (next *Turn) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.sessions[key]
	if e == nil || !e.closing() {
		return nil
	}
	e.setClosing(false)
	if s != nil {
		e.set(*s)
	}
	tb.reposition(e)
	tb.dropUnsaved(e)
	if hold {
		return nil
	}
	return tb.next(ctx)
}
