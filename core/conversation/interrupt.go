package conversation

import (
	"context"
	"fmt"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
)

// What an interrupt returns where there is nothing more to tell.
const (
	turnInterrupted = "Interrupted the running turn."
	waitingEnded    = "Withdrew the message that was waiting; its turn had not begun."
)

// Interrupt cancels the running turn of key and says exactly what came of it (D11, J9): it ended, or its slot was freed
// while its worker still runs. Where no turn runs because the next message waits for a slot, that message is withdrawn. want,
// if not empty, is the turn that the caller saw.
func (c *Conversations) Interrupt(ctx context.Context, key, want string, cause error) (string, error) {
	t := c.o.Table.Interrupt(key, want, cause)
	if t == nil {
		if want != "" {
			return "", &ops.Error{Code: ops.CodeConflict, Message: "the turn that you saw has ended"}
		}
		if m, waits := c.o.Table.WithdrawWaiting(key); waits {
			c.o.Outbox.Withdrawn(key, m, cause)
			return waitingEnded, nil
		}
		return "", &ops.Error{Code: ops.CodeNotFound, Message: "no turn runs in " + term.Quote(key)}
	}
	// A turn that takes its cancellation is gone within this; D11 asks for an answer within a second.
	grace := min(c.now().Bounds.InterruptGrace, 800*time.Millisecond)
	select {
	case <-t.Released():
		return turnInterrupted, nil
	case <-time.After(grace):
	case <-ctx.Done():
	}
	if c.ReleaseWedged(t, cause) {
		return "Released the session: its turn was interrupted but its worker still runs, and will write nothing more.", nil
	}
	return turnInterrupted, nil
}

// A session whose client sends its next message as soon as it has an answer runs no turn for some milliseconds at a time.
// An interrupt that falls into such a gap waits nextTurnWait for the next turn, if the last one ended within lately.
const (
	nextTurnWait = 500 * time.Millisecond
	lately       = 2 * time.Second
)

// InterruptCurrent interrupts the turn that runs in the conversation of key now, or the one turn that is expected: want is the
// id of a turn, or of the conversation, or empty. A turn that has ended since its operator looked is not an error.
func (c *Conversations) InterruptCurrent(ctx context.Context, key, want string) (string, error) {
	s, _ := c.o.Table.Get(key)
	if want == s.ID {
		want = ""
	}
	over := time.After(nextTurnWait)
	for {
		done, err := c.Interrupt(ctx, key, want, session.ErrInterrupted)
		if !ops.HasCode(err, ops.CodeNotFound) || time.Since(s.LastActivity) > lately {
			return done, err
		}
		select {
		case <-c.o.Table.Began(key):
		case <-over:
			return "No turn is running; the last one has ended.", nil
		case <-ctx.Done():
			return "", err
		}
	}
}

// ReleaseWedged frees the slot of a turn whose worker does not return. Its agent is taken out of the cache, because the
// next turn must not meet the worker, and released, because a session's processes go on. It reports false if the turn has
// ended meanwhile.
func (c *Conversations) ReleaseWedged(t *session.Turn, cause error) bool {
	key := t.Session.Key
	v, running := c.o.Table.Running(key)
	if !running || v.Turn != t {
		return false
	}
	next, owned := c.o.Table.Release(c.turns, t, session.End{State: ops.SessionInterrupted, Hold: c.holding()})
	if !owned {
		return false
	}
	if a, cached := c.o.Cache.Peek(key); cached && v.Attached && a.Conversation() == t.Session.ID {
		c.abandon(a, "its turn did not end")
	}
	c.o.Log.Warn("turn released while its worker still runs", "session", key, "turn", t.ID, "doing", v.Doing)
	// Its worker would have killed what its foreground commands left running, and does not return (C1). A kill that fails is
	// in the log, and in the row.
	c.o.Tasks.Start(c.turns, "end the turn's processes", key, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, c.CloseTimeout())
		defer cancel()
		c.o.Processes.KillTurn(ctx, t.ID, c.now().Bounds.KillGrace)
	})
	c.endReleased(t, cause)
	c.Begin(next)
	if (session.IsRequest(key) || session.IsWebhook(key)) && !c.o.Table.Active(key) {
		c.endRequestLater(key)
	}
	return true
}

// EscalateStalls escalates turns without progress at now: a warning, then an interrupt, then the release of the slot (D12).
// Who and when is in the log and in the events.
func (c *Conversations) EscalateStalls(ctx context.Context, now time.Time) {
	warn, after := c.now().Bounds.StallWarn, c.now().Bounds.StallAfter
	for _, v := range c.o.Table.Turns() {
		if v.Approval != "" { // it waits for a person, within approvals.expire
			continue
		}
		still := now.Sub(v.Progress)
		if warn > 0 && still >= warn && c.o.Table.MarkStalled(v.Turn, now) {
			c.o.Log.Warn("turn stalled", "session", v.Session.Key, "turn", v.ID, "doing", v.Doing, "without_progress", still.Round(time.Second))
			c.o.Events.Emit(ops.EventTurnStalled, v.Session.Key, fmt.Sprintf("no progress for %s: %s", still.Round(time.Second), ops.StepWords(v.Doing)), ops.TurnChange{Turn: v.ID})
		}
		if after > 0 && still >= after && v.Interrupt == nil {
			c.o.Log.Warn("stalled turn interrupted", "session", v.Session.Key, "turn", v.ID, "without_progress", still.Round(time.Second))
			c.o.Tasks.Start(ctx, "interrupt stalled turn", v.Session.Key, func(ctx context.Context) {
				if _, err := c.Interrupt(ctx, v.Session.Key, v.ID, session.ErrStalled); err != nil && !ops.HasCode(err, ops.CodeConflict) {
					c.o.Log.Warn("stalled turn not interrupted", "session", v.Session.Key, "error", clean(err))
				}
			})
		}
	}
}
