package session

import (
	"context"
	"time"

	"gatewaytui/core/ops"
)

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
		if turn.now.Interrupt == nil {
			turn.now.Interrupt = ErrReset
		}
		turn.cancel(ErrReset)
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
	fresh.TokensIn, fresh.TokensOut, fresh.Caller, fresh.Stored = 0, 0, ops.Caller{}, false
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
