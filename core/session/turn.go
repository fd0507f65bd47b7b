package session

import (
	"context"
	"errors"
	"time"

	"gatewaytui/core/ops"
)

// The causes with which a reset and similar actions end a turn.
var (
	ErrInterrupted = errors.New("interrupted by the operator or the user")
	ErrReset       = errors.New("the session was reset")
	ErrStalled     = errors.New("no progress for too long")
	ErrStopping    = errors.New("the gateway is stopping")
	ErrLeft        = errors.New("its client has left")
)

// Turn is the work on one message. Its exported fields never change; the rest is read through Table.
type Turn struct {
	ID      string
	Session Session // as it was when the turn began
	Message Message
	Started time.Time

	ctx      context.Context
	cancel   context.CancelCauseFunc
	written  chan struct{} // closed when the store has the turn's begin, or never will
	released chan struct{} // closed when the slot is free

	// guarded by Table.mu
	now        Activity
	calls      Calls
	waitingFor string // the bound that it waits for
	busyNotice time.Time
}

// Activity is what a running turn does.
type Activity struct {
	// Attached is false while the turn is a placeholder: such a turn is never interrupted, closed or counted as an agent.
	Attached bool
	Progress time.Time
	Doing    string
	// Since is when Doing began.
	Since time.Time
	// StalledAt is when the turn was found to be stalled; zero: it is not.
	StalledAt time.Time
	// Interrupt is the cause with which the turn was interrupted; nil: it was not.
	Interrupt error
}

// TurnView is a running turn at one moment.
type TurnView struct {
	*Turn
	Activity
}

// Calls is a turn's budget of model calls.
type Calls interface {
	Used() int
	Most() int
}

// Context ends when the turn is interrupted, with the cause, or when it is released.
func (t *Turn) Context() context.Context { return t.ctx }

// Written is closed when the store has the turn's begin, or never will. The worker calls Wrote once to close it.
func (t *Turn) Written() <-chan struct{} { return t.written }

// Wrote closes Written.
func (t *Turn) Wrote() { close(t.written) }

// Released is closed when the turn no longer holds its session's slot.
func (t *Turn) Released() <-chan struct{} { return t.released }

// Attach records that an agent works on the placeholder, and its budget of model calls, which is nil for a turn without
// one. It reports false, and does nothing, if the turn was released meanwhile.
func (tb *Table) Attach(t *Turn, calls Calls) bool {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if !tb.owns(t) {
		return false
	}
	t.now.Attached, t.calls = true, calls
	return true
}

// Progress records that model or tool made progress in t, and the current activity. Liveness notices to users are not
// progress (D13).
func (tb *Table) Progress(t *Turn, doing string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	now, stalled := time.Now(), !t.now.StalledAt.IsZero()
	if doing != t.now.Doing {
		t.now.Doing, t.now.Since = doing, now
	}
	t.now.Progress, t.now.StalledAt, t.waitingFor = now, time.Time{}, ""
	if stalled && tb.owns(t) {
		tb.reposition(tb.sessions[t.Session.Key])
	}
}

// Wait records that t waits for a bound of the gateway, until its next Progress. It is not progress: a turn that waits
// for as long as a turn may stall is ended like a stalled one.
func (tb *Table) Wait(t *Turn, bound, doing string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	t.waitingFor, t.now.Doing, t.now.Since = bound, doing, time.Now()
}

// Owns reports whether t still holds its session's slot, and so may write and deliver.
func (tb *Table) Owns(t *Turn) bool {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return tb.owns(t)
}

func (tb *Table) owns(t *Turn) bool { return tb.turns[t.Session.Key] == t }

// End is the state that a finished turn leaves in its session.
type End struct {
	State     ops.SessionState // idle or interrupted
	TokensIn  int64
	TokensOut int64
	// Hold keeps the next message waiting, because the gateway takes no new turns.
	Hold bool
}

// Release ends t's hold on its session's slot and returns the turn that begins in its place, for the caller to run. It
// may belong to another session, which is next for a slot. Release reports false, and changes nothing, if t does not hold
// the slot: a second or late call is harmless.
func (tb *Table) Release(ctx context.Context, t *Turn, end End) (next *Turn, owned bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if !tb.release(t) {
		return nil, false
	}
	if e := tb.sessions[t.Session.Key]; e != nil {
		e.activity = time.Now().UnixMicro()
		e.setState(end.State)
		e.tokensIn += end.TokensIn
		e.tokensOut += end.TokensOut
		tb.reposition(e)
	}
	if end.Hold {
		return nil, true
	}
	return tb.next(ctx), true
}

// release frees the slot that t holds, together with everything that belongs to a running turn: the agent, its start, its
// progress, its busy notice. Only this function removes a running turn (S16, D10). The caller holds mu.
func (tb *Table) release(t *Turn) bool {
	if !tb.owns(t) {
		return false
	}
	delete(tb.turns, t.Session.Key)
	t.now.Attached = false
	t.cancel(context.Canceled)
	close(t.released)
	return true
}

// Interrupt cancels the running turn of key with cause, if want is empty or its id. It returns the turn, or nil if there
// is none. A placeholder has no agent to interrupt yet: it begins with its context cancelled instead of being counted as
// an agent.
func (tb *Table) Interrupt(key, want string, cause error) *Turn {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	t := tb.turns[key]
	if t == nil || want != "" && t.ID != want {
		return nil
	}
	t.interrupt(cause)
	return t
}

// interrupt cancels t. The first cause stays. The caller holds Table.mu.
func (t *Turn) interrupt(cause error) {
	if t.now.Interrupt == nil {
		t.now.Interrupt = cause
	}
	t.cancel(cause)
}

// Now is what t does, running or released.
func (tb *Table) Now(t *Turn) Activity {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return t.now
}

// MarkStalled records since when t is known to make no progress. It reports whether that is new.
func (tb *Table) MarkStalled(t *Turn, at time.Time) bool {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if !t.now.StalledAt.IsZero() {
		return false
	}
	t.now.StalledAt = at
	if tb.owns(t) {
		tb.reposition(tb.sessions[t.Session.Key])
	}
	return true
}

// answers are the replies to the sender of a message when one of the causes ended its turn. The first that matches
// counts.
var answers = []struct {
	cause  error
	answer ops.Error
}{
	{ErrStopping, ops.Error{Code: ops.CodeStopping, Message: "the turn was interrupted because the gateway is stopping", Hint: "ask again when it is back"}},
	{ErrLeft, ops.Error{Code: ops.CodeConflict, Message: "the turn was interrupted because its client had left"}},
	{ErrReset, ops.Error{Code: ops.CodeConflict, Message: "the turn was ended by a reset of its session", Hint: "the next message begins a fresh conversation"}},
	{ErrStalled, ops.Error{Code: ops.CodeUnavailable, Message: "the turn made no progress for too long and was ended", Hint: "ask again, or /new for a fresh conversation"}},
	{ErrInterrupted, ops.Error{Code: ops.CodeConflict, Message: "the turn was interrupted", Hint: "the conversation continues with your next message"}},
}

// Answer is the reply to the sender of a message when err is one of the causes with which a turn is ended from outside;
// nil for any other err.
func Answer(err error) *ops.Error {
	for _, a := range answers {
		if errors.Is(err, a.cause) {
			answer := a.answer
			return &answer
		}
	}
	return nil
}
