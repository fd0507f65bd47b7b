package conversation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// Cause is why a conversation ends.
type Cause struct {
	// Reason is for the store, the log and people.
	Reason string
	// expired is the session that ends only if its time is still over; nil: it ends in any case.
	expired *session.Expiry
	// event says that it has ended; empty: no event does.
	event ops.EventType
	// reopened is the id of the earlier conversation that takes its place; empty: a fresh one does.
	reopened string
}

// Reset is the cause of an end that a person asked for. Its session goes on with a fresh conversation. After every other end
// the session leaves memory, unless a message came meanwhile.
func Reset(reason string) Cause { return Cause{Reason: reason, event: ops.EventSessionReset} }

// expired is the cause of an end because the time of the session is over.
func expired(x session.Expiry) Cause {
	return Cause{Reason: x.Why, expired: &x, event: ops.EventSessionExpired}
}

// nothingRan is what End returns where there was nothing to end but the conversation.
const nothingRan = "nothing was running."

// End ends the conversation of key: its turn is cancelled and its slot freed, its waiting messages are dropped, its agent is
// closed with its processes, and its end is written. Only then does the next message begin a fresh conversation (S12). It
// returns what was ended, and is bounded. The error is an *ops.Error: CodeNotFound without such a session, CodeConflict while
// another End runs, or where an expired session goes on; or that an earlier conversation could not be reopened.
func (c *Conversations) End(ctx context.Context, key string, cause Cause) (done string, err error) {
	old, turn, dropped, err := c.beginEnd(key, cause)
	if err != nil {
		return "", err
	}
	var parts []string
	if turn != nil {
		parts = append(parts, "interrupted the running turn")
		c.endReleased(turn, session.ErrReset)
		awaitWritten(ctx, turn, old)
	}
	if n := len(dropped); n > 0 {
		c.drop(key, dropped, turn)
		parts = append(parts, fmt.Sprintf("dropped %d waiting %s", n, text.Plural(n, "message", "messages")))
	}
	c.Fill() // the turn's slot is free
	closed, err := c.finishEnd(ctx, key, old, cause)
	if err != nil {
		return "", err
	}
	if parts = append(parts, closed...); len(parts) == 0 {
		return nothingRan, nil
	}
	return strings.Join(parts, ", ") + ".", nil
}

// beginEnd cancels the turn of a conversation and frees its slot. From then on messages wait until finishEnd. For an earlier
// conversation it cancels and drops nothing: a turn that runs keeps it from being reopened, and what waits goes to it.
func (c *Conversations) beginEnd(key string, cause Cause) (old session.Session, turn *session.Turn, dropped []session.Message, err error) {
	var ok bool
	switch {
	case cause.reopened != "":
		old, ok = c.o.Table.BeginReplace(key)
		if _, running := c.o.Table.Running(key); !ok && running {
			return old, nil, nil, &ops.Error{Code: ops.CodeBusy, Message: "a turn runs in this conversation", Hint: "/stop it first"}
		}
	case cause.expired != nil:
		old, turn, dropped, ok = c.o.Table.BeginExpiry(key, *cause.expired, c.now().Policy, time.Now())
	default:
		old, turn, dropped, ok = c.o.Table.BeginReset(key)
	}
	if ok {
		return old, turn, dropped, nil
	}
	if _, known := c.o.Table.Get(key); known {
		return old, nil, nil, &ops.Error{Code: ops.CodeConflict, Message: "the session is being reset already", Hint: "wait a moment"}
	}
	return old, nil, nil, NoSession(key)
}

// finishEnd does what is left of the end of a conversation whose key takes no turns meanwhile: it closes its agent with its
// processes, writes its end, and begins the next conversation. It returns what was done, and is bounded.
func (c *Conversations) finishEnd(ctx context.Context, key string, old session.Session, cause Cause) (done []string, err error) {
	c.o.News.Drop(key)
	if c.o.Reviews != nil {
		c.o.Reviews.Forget(old.ID)
	}
	done = c.closeAgent(ctx, key, old.ID) // with a flush of what it has not saved (S15)
	wctx, cancel := c.store.Patient(ctx)
	defer cancel()
	if cause.reopened != "" {
		s, err := c.store.ReopenSession(wctx, old.ID, cause.reopened, time.Now())
		if err != nil {
			c.Begin(c.o.Table.EndReplace(c.turns, key, nil, c.holding()))
			return done, fmt.Errorf("reopen conversation %s: %w", cause.reopened, err)
		}
		current := Stored(s)
		c.Begin(c.o.Table.EndReplace(c.turns, key, &current, c.holding()))
		return done, nil
	}
	request := session.IsRequest(old.Key)
	end := func() error { return c.store.EndSession(wctx, old.ID, time.Now(), cause.Reason) }
	if request {
		end = func() error { return c.store.ForgetSessions(wctx, old.ID) }
	}
	if err := end(); err != nil {
		c.o.Log.Error("end of session not saved", "session", old.Key, "error", clean(err))
		done = append(done, "its end could not be saved")
	}
	c.Begin(c.o.Table.EndReset(c.turns, old.Key, cause.event != ops.EventSessionReset || request, c.holding()))
	switch cause.event {
	case ops.EventSessionReset:
		c.o.Events.Emit(cause.event, old.Key, cause.Reason, nil)
	case ops.EventSessionExpired:
		c.o.Log.Info("session expired", "session", old.Key, "reason", cause.Reason)
		c.o.Events.Emit(cause.event, old.Key, "session expired: "+cause.Reason, nil)
	}
	return done, nil
}

// drop tells the senders of messages that waited when their conversation ended. turn is the one that they waited for, nil
// where none ran.
func (c *Conversations) drop(key string, dropped []session.Message, turn *session.Turn) {
	for _, m := range dropped {
		args := []any{"session", key, "message", m.ID, "reason", session.ErrReset.Error()}
		if turn != nil {
			args = append(args, "turn", turn.ID, "without_progress", time.Since(c.o.Table.Now(turn).Progress).Round(time.Millisecond))
		}
		c.o.Log.Warn("waiting message dropped", args...)
	}
	why := &ops.Error{Code: ops.CodeConflict, Message: "the session was reset before it came to this message", Hint: "send it again if you still want it"}
	c.o.Outbox.Refuse(key, why, dropped...)
}

// awaitWritten waits until the begin of a released turn is no longer on its way to the store. The first turn of a
// conversation writes its session, and must not do so after the session's end was written: the next conversation under the
// key could not begin.
func awaitWritten(ctx context.Context, turn *session.Turn, old session.Session) {
	if old.Stored {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.Stall)
	defer cancel()
	select {
	case <-turn.Written():
	case <-ctx.Done():
	}
}

// endReleased writes and says the end of a turn whose worker did not.
func (c *Conversations) endReleased(t *session.Turn, cause error) {
	ctx, cancel := c.store.Patient(t.Context())
	defer cancel()
	others := c.o.Table.Others(t)
	end := store.Turn{State: store.TurnInterrupted, Reason: cause.Error(), Message: inboxID(t.Message), Also: inboxIDs(others), Reply: c.replyTo(t, "", cause)}
	deliver := t.Message.Deliver
	switch err := c.endOf(t, end, session.End{State: ops.SessionInterrupted}, nil)(ctx); {
	case errors.Is(err, store.ErrStaleTurn) && c.o.Table.Now(t).Doing == ops.DoingReply:
		deliver = nil // its worker has written the end, and the answer, which is on its way
	case err != nil:
		c.o.Log.Warn("interrupted turn's end not saved", "session", t.Session.Key, "turn", t.ID, "error", clean(err))
	case end.Reply != nil:
		deliver, others = t.Message.Send, nil
	case !t.Message.Instant: // nothing is to be said
		deliver = nil
	}
	c.turnEnded(t, store.TurnInterrupted, session.End{}, cause)
	if deliver == nil {
		return
	}
	c.o.Tasks.Start(c.turns, "notice", t.Session.Key, func(context.Context) {
		merge(others)
		deliver("", userError(cause))
	})
}

// endOver ends a session to which no message will come any more.
func (c *Conversations) endOver(ctx context.Context, key, reason string) {
	if _, err := c.End(ctx, key, Cause{Reason: reason}); err != nil && !ops.HasCode(err, ops.CodeNotFound) {
		c.o.Log.Warn("session not closed", "session", key, "error", clean(err))
	}
}

// endRequestLater ends the session of a request on a task.
func (c *Conversations) endRequestLater(key string) {
	c.o.Tasks.Start(c.turns, "end request", key, func(ctx context.Context) { c.endOver(ctx, key, "its request has ended") })
}

// NoSession is the error for a key that names no session.
func NoSession(key string) error {
	return &ops.Error{Code: ops.CodeNotFound, Message: "no session " + term.Quote(key), Hint: "`gatewaytui sessions` lists them"}
}

const (
	// Expiring names the task that ends expired sessions. One of it runs at a time.
	Expiring = "expire sessions"
	// expiringAtOnce is how many sessions it ends at the same time. After a long downtime, or at a daily reset, every session
	// of the store may have expired, and no other work may suffer (D22). One whose agent does not close holds up no other.
	expiringAtOnce = 8
	// expiringBatch is about how many are looked up under one hold of the table's lock.
	expiringBatch = 5000
)

// Expire begins to end the sessions whose time is over, on one task. Sessions that expire while it runs are found by a later
// call.
func (c *Conversations) Expire(ctx context.Context, now time.Time) {
	if c.o.Tasks.Count("", Expiring) > 0 || c.o.Gate.ClockDoubted() {
		return
	}
	over := c.o.Table.Expired(c.now().Policy, now, expiringBatch)
	if len(over) == 0 {
		return
	}
	c.o.Tasks.Start(ctx, Expiring, "", func(ctx context.Context) {
		for len(over) > 0 && ctx.Err() == nil {
			c.endExpired(ctx, over)
			more := c.o.Table.Expired(c.now().Policy, now, expiringBatch)
			maps.DeleteFunc(more, func(key string, x session.Expiry) bool { return over[key] == x }) // it could not be ended
			over = more
		}
	})
}

// endExpired ends sessions, a few at a time, until all are ended or ctx ends. Those that are left are still expired in the
// next life. One that was written to meanwhile goes on: End refuses it.
func (c *Conversations) endExpired(ctx context.Context, over map[string]session.Expiry) {
	next := make(chan string)
	var workers sync.WaitGroup
	for range min(expiringAtOnce, len(over)) {
		workers.Go(func() {
			for key := range next {
				_, _ = c.End(ctx, key, expired(over[key]))
			}
		})
	}
	done := 0
	for key := range over {
		c.o.Tasks.Progress(ctx, int64(done), int64(len(over)), fmt.Sprintf("%d of %d", done, len(over)))
		select {
		case next <- key:
			done++
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	workers.Wait() // each is bounded by CloseTimeout and store.Stall
}

// ExpireFirst ends the conversation of key if its time is over, before a message to it is worked on: a message that comes
// before the next look begins a new conversation, and does not make yesterday's active again (D3). It does not wait: what
// comes until the old one has ended waits in the mailbox.
func (c *Conversations) ExpireFirst(ctx context.Context, key string) error {
	if c.o.Gate.ClockDoubted() {
		return nil
	}
	old, why, over := c.o.Table.BeginIdleExpiry(key, c.now().Policy, time.Now())
	if !over {
		return nil
	}
	cause := expired(session.Expiry{ID: old.ID, Why: why})
	end := func(ctx context.Context) { _, _ = c.finishEnd(ctx, key, old, cause) }
	if !c.o.Tasks.Start(ctx, "expire session", key, end) { // the stop ends its agent and its processes
		c.o.Table.EndReset(c.turns, key, true, true)
		return userError(session.ErrStopping)
	}
	return nil
}
