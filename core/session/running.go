package session

import (
	"context"
	"slices"
	"strings"
	"time"
	"unique"

	"gatewaytui/core/ops"
)

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

// Show records what the chat sees of t.
func (tb *Table) Show(t *Turn, s Shown) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	t.show = s
}

// Progress records that model or tool made progress in t, and the current activity. Liveness notices to users are not
// progress (D13).
func (tb *Table) Progress(t *Turn, doing string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	now, stalled := time.Now(), !t.now.StalledAt.IsZero()
	if tb.o.NamesOnly {
		doing, _, _ = strings.Cut(doing, ":")
	}
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

// End is the state that a finished turn leaves in its session.
type End struct {
	State     ops.SessionState // idle or interrupted
	TokensIn  int64
	TokensOut int64
	// TokensCached, Cost and Priced are as in Session. Model is the model that answered; empty: none did.
	TokensCached int64
	Cost         float64
	Priced       bool
	Model        string
	// Unpriced are the tokens of calls whose cost is not known.
	Unpriced int64
	// ContextUsed and ContextWindow are as in Session; 0: the turn does not know.
	ContextUsed, ContextWindow int
	// Hold keeps the next message waiting, because the gateway takes no new turns.
	Hold bool
}

// Measured records how many tokens of the model's context t's conversation uses, of how many.
func (tb *Table) Measured(t *Turn, used, window int) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[t.Session.Key]; e != nil && tb.owns(t) {
		e.used, e.window = uint32(used), uint32(window)
	}
}

// Works records which agent works on t, and the model that is asked first.
func (tb *Table) Works(t *Turn, agent, model string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[t.Session.Key]; e != nil && tb.owns(t) {
		n := e.names.Value()
		n.agent, n.model, n.generation = agent, model, t.generation()
		e.names = unique.Make(n)
	}
}

// generation is that of the config that the turn began with; 0: none.
func (t *Turn) generation() int {
	if t.Setup == nil {
		return 0
	}
	return t.Setup.Generation()
}

// Choose records the model that the people of a session chose with m, and the model that is asked first from now on. It makes the
// session where there is none. It returns the session for the store.
func (tb *Table) Choose(key, choice, model string, m Message) Session {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	e := tb.made(key, m)
	n := e.names.Value()
	n.model, n.choice = model, choice
	e.names = unique.Make(n)
	return e.session()
}

// made is the session of key, made for m where there is none. The caller holds mu.
func (tb *Table) made(key string, m Message) *entry {
	if e := tb.sessions[key]; e != nil {
		return e
	}
	now := time.Now()
	return tb.add(Session{
		Key: key, ID: tb.o.NewID(), Platform: Platform(key), User: m.User, Target: m.Target, Caller: m.Caller,
		State: ops.SessionIdle, Created: now, LastActivity: now,
	})
}

// Chosen records that the store has the session with this id, with what its people chose.
func (tb *Table) Chosen(key, id string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if e := tb.sessions[key]; e != nil && e.ID() == id {
		e.flags |= flagStored
	}
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
		e.tokensCached += end.TokensCached
		e.cost += end.Cost
		if end.Priced {
			e.flags |= flagPriced
		}
		if end.Model != "" {
			e.setModel(end.Model)
		}
		tb.reposition(e)
	}
	if end.Hold {
		return nil, true
	}
	return tb.next(ctx), true
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

// Running returns a view of the running turn of key.
func (tb *Table) Running(key string) (TurnView, bool) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if t := tb.turns[key]; t != nil {
		return TurnView{t, t.now}, true
	}
	return TurnView{}, false
}

// AskedBy is who wrote the message that an interrupt of key ends now: that of the running turn, else the next one that waits for a
// slot. It is empty for none, or where the platform names no one.
func (tb *Table) AskedBy(key string) string {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if t := tb.turns[key]; t != nil {
		return t.Message.User
	}
	if e := tb.sessions[key]; e != nil && e.queued() > 0 {
		return e.mail.queue[0].User
	}
	return ""
}

// Turns are the running turns, oldest first.
func (tb *Table) Turns() []TurnView {
	tb.mu.Lock()
	out := make([]TurnView, 0, len(tb.turns))
	for _, t := range tb.turns {
		out = append(out, TurnView{t, t.now})
	}
	tb.mu.Unlock()
	slices.SortFunc(out, func(a, b TurnView) int { return a.Started.Compare(b.Started) })
	return out
}
