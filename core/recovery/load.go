package recovery

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"gatewaytui/core/delivery"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// loadFirst is how many sessions, the last active ones, a start waits for: more than a screen shows, and read in about 10 ms.
// The others come while it works.
const loadFirst = 2000

// loadSessions takes the sessions of the store into the table, newest first. It returns when the first of them are there.
func (r *Recovery) loadSessions(ctx context.Context) error {
	return r.loadFrom(ctx, r.Store().Sessions)
}

// loadFrom is loadSessions with the sessions that read calls each for.
func (r *Recovery) loadFrom(ctx context.Context, read func(ctx context.Context, each func(store.Session) error) (left int, err error)) error {
	enough, ended := make(chan struct{}), make(chan error, 1)
	r.o.Background.Start(ctx, "load sessions", "", func(ctx context.Context) {
		n := 0
		var passing []store.Session
		left, err := read(ctx, func(s store.Session) error {
			if session.IsBackground(s.Key) || session.IsRequest(s.Key) || session.IsWebhook(s.Key) {
				passing = append(passing, s)
				return nil
			}
			r.load(s)
			if n++; n == loadFirst {
				close(enough)
			}
			return nil
		})
		if err == nil && left > 0 && r.o.Health.Damage() == "" {
			err = r.loadQuarantined(ctx)
		}
		if err != nil && n >= loadFirst && ctx.Err() == nil { // the start is over; who writes is still found, by EnsureLoaded
			r.o.Health.Warn("store", "not every session could be read: "+term.Clean(err.Error(), 300))
		}
		if r.o.Health.Damage() == "" {
			r.endPassing(ctx, passing)
		}
		if err == nil {
			close(r.loaded)
		}
		ended <- err
		if n > loadFirst {
			debug.FreeOSMemory() // what reading them took is twice what they are; it is never needed again
		}
	})
	select {
	case <-enough:
		return nil
	case err := <-ended:
		if err != nil && r.o.Health.Damage() != "" {
			r.o.Health.Warn("store.unread", "not every session could be read: "+term.Clean(err.Error(), 300))
			return nil
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// loadQuarantined loads the sessions whose rows could not be true, as the quarantine leaves them.
func (r *Recovery) loadQuarantined(ctx context.Context) error {
	rows, err := r.quarantine(ctx, store.OfSessions)
	if err != nil {
		return err
	}
	for _, row := range rows {
		s, found, err := r.Store().CurrentSession(ctx, row.Name)
		if err != nil {
			return err
		}
		if found {
			r.load(s)
		}
	}
	return nil
}

// endPassing ends the sessions of /background tasks and webhooks that the end of their life cut off, and deletes those of requests: no
// message comes to them any more.
func (r *Recovery) endPassing(ctx context.Context, sessions []store.Session) {
	var requests []string
	for _, s := range sessions {
		if session.IsRequest(s.Key) {
			requests = append(requests, s.ID)
		}
	}
	for batch := range slices.Chunk(requests, retentionBatch) {
		if err := r.Store().ForgetSessions(ctx, batch...); err != nil {
			r.log.Warn("sessions of requests not deleted", "count", len(batch), "error", term.Clean(err.Error(), 300))
			return
		}
	}
	for _, s := range sessions {
		if session.IsRequest(s.Key) {
			continue
		}
		if err := r.Store().EndSession(ctx, s.ID, time.Now(), "its task was cut off with the life before"); err != nil {
			r.log.Warn("end of session not saved", "session", s.Key, "error", term.Clean(err.Error(), 300))
			return
		}
	}
}

func (r *Recovery) load(s store.Session) {
	if !r.resumes && s.State == ops.SessionInterrupted {
		s.State = ops.SessionIdle
	}
	r.o.Gateway.Add(s)
}

// EnsureLoaded loads the session of key if the store has one that is not loaded yet: a message to it must continue its
// conversation.
func (r *Recovery) EnsureLoaded(ctx context.Context, key string) error {
	select {
	case <-r.loaded:
		return nil
	default:
	}
	if r.o.Gateway.Known(key) || r.Store() == nil {
		return nil
	}
	s, found, err := r.Store().CurrentSession(ctx, key)
	if err != nil {
		r.log.Error("session not read", "session", key, "error", term.Clean(err.Error(), 600))
		return &ops.Error{Code: ops.CodeUnavailable, Message: "the session could not be read: " + term.Clean(store.Reason(err), 200), Hint: "try again in a moment"}
	}
	if found {
		r.load(s)
	}
	return nil
}

// readUnfinished reads what earlier lives left in the inbox and in the outbox. A message whose turn had begun is not worked
// on again: it is unknown which of its steps were done (D19). Its sender gets a notice, one for all messages of a turn, and the model hears of it at the
// next message. A message that still waits is worked on once, by TakeUp.
func (r *Recovery) readUnfinished(ctx context.Context) error {
	if r.o.Health.Damage() != "" {
		return nil // it all stays where it is, for a life that can write what became of it
	}
	if err := r.forgetWaiting(ctx); err != nil {
		return err
	}
	open, err := r.Store().OpenInbox(ctx)
	if err != nil {
		return err
	}
	reported, told := 0, map[string]bool{}
	for _, in := range open {
		text := "The gateway ended while it worked on this message. What was done so far is kept and nothing is repeated. Tell me how to continue."
		command, _, _ := delivery.ParseCommand(in.Text)
		switch {
		case in.State == store.InboxRunning && r.o.Gateway.IsWork(command):
			text = "The gateway ended while it worked on your /" + command + " task. Nothing is done again by itself: send it again if you still want it."
		case in.State == store.InboxRunning && told[in.Session]: // a turn works on several messages, and has one answer
			if err := r.Store().Answer(ctx, in.ID, nil); err != nil {
				return fmt.Errorf("report message %s: %w", in.ID, err)
			}
			continue
		case in.State == store.InboxRunning:
			told[in.Session] = true
		case r.resumes:
			r.backlog = append(r.backlog, in)
			continue
		default:
			text = "The gateway was restarted before it came to this message, and resumes no earlier work. Send it again."
		}
		row := delivery.Answer(in, text)
		if err := r.Store().Answer(ctx, in.ID, &row); err != nil {
			return fmt.Errorf("report message %s: %w", in.ID, err)
		}
		reported++
	}
	unsent, err := r.Store().OpenOutbox(ctx)
	if err != nil {
		return err
	}
	for _, row := range unsent {
		r.o.Outbox.Restore(row)
	}
	drafts, err := r.Store().OpenDrafts(ctx)
	if err != nil {
		return fmt.Errorf("read the drafts: %w", err)
	}
	for _, d := range drafts { // the others have become the place of an answer
		r.o.Outbox.Retract(d)
	}
	if len(open)+len(unsent) > 0 {
		r.log.Info("recovered pending work", "messages", len(r.backlog), "reported", reported, "unsent", len(unsent))
	}
	return nil
}

// forgetWaiting deletes the messages of people whose deletion an earlier life began: nothing is done for them any more.
func (r *Recovery) forgetWaiting(ctx context.Context) error {
	all, err := r.Store().Forgettings(ctx)
	for _, f := range all {
		if _, err := r.Store().ForgetWaiting(ctx, f); err != nil {
			return err
		}
	}
	return err
}

// TakeUp gives the messages that waited to their sessions, before any new one can come. It is called once.
func (r *Recovery) TakeUp(ctx context.Context) {
	for _, in := range r.backlog {
		r.o.Gateway.Restore(ctx, in)
	}
	r.backlog = nil
}
