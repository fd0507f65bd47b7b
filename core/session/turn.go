package session

import (
	"context"
	"errors"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/timeline"
)

// The causes with which a reset and similar actions end a turn.
var (
	ErrInterrupted = errors.New("interrupted by the operator or the user")
	ErrReset       = errors.New("the session was reset")
	ErrStalled     = errors.New("no progress for too long")
	ErrStopping    = errors.New("the gateway is stopping")
	ErrLeft        = errors.New("its client has left")
	// ErrOvertaken ends a turn whose sender's next message takes its place.
	ErrOvertaken = errors.New("interrupted by its sender's next message")
)

// Turn is the work on one message, or on several that were joined. Its exported fields never change; the rest is read through Table.
type Turn struct {
	ID      string
	Session Session // as it was when the turn began
	Message Message
	Started time.Time
	// Line records what the turn does.
	Line *timeline.Line
	// Loops says why the session loops with this turn; empty: it does not, or it did before.
	Loops string
	// Setup is the config that was in force when the turn began; nil: the table has none.
	Setup Setup

	ctx      context.Context
	cancel   context.CancelCauseFunc
	written  chan struct{} // closed when the store has the turn's begin, or never will
	released chan struct{} // closed when the slot is free

	// guarded by Table.mu
	now        Activity
	calls      Calls
	show       Shown
	waitingFor string    // the bound that it waits for
	waitedFor  bool      // a message waited, or waits, behind it
	taken      []Message // see Steer
	wait       wait
	repeated   repeated
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
	// Approval is the id of the oldest approval that the turn waits for; empty: it waits for no person.
	Approval string
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

// Shown is what a chat sees of a turn.
type Shown interface {
	// Shows is a word for it; empty for nothing. It takes no lock.
	Shows() string
}

// Context ends when the turn is interrupted, with the cause, or when it is released.
func (t *Turn) Context() context.Context { return t.ctx }

// Written is closed when the store has the turn's begin, or never will. The worker calls Wrote once to close it.
func (t *Turn) Written() <-chan struct{} { return t.written }

// Wrote closes Written.
func (t *Turn) Wrote() { close(t.written) }

// Released is closed when the turn no longer holds its session's slot.
func (t *Turn) Released() <-chan struct{} { return t.released }

// interrupt cancels t. The first cause stays. The caller holds Table.mu.
func (t *Turn) interrupt(cause error) {
	if t.now.Interrupt == nil {
		t.now.Interrupt = cause
	}
	t.cancel(cause)
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
	{ErrOvertaken, ops.Error{Code: ops.CodeConflict, Message: "the turn was interrupted by your next message"}},
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
