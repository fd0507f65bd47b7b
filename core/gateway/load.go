package gateway

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// loadFirst is how many sessions, the last active ones, a start waits for: more than a screen shows, and read in about 10 ms.
// The others come while it works.
const loadFirst = 2000

// loadSessions takes the sessions of the store into the table, newest first. It returns when the first of them are there.
func (g *Gateway) loadSessions(ctx context.Context) error { return g.loadFrom(ctx, g.store.Sessions) }

// loadFrom is loadSessions with the sessions that read calls each for.
func (g *Gateway) loadFrom(ctx context.Context, read func(ctx context.Context, each func(store.Session) error) (left int, err error)) error {
	enough, ended := make(chan struct{}), make(chan error, 1)
	g.background.Start(ctx, "load sessions", "", func(ctx context.Context) {
		n := 0
		var beside []store.Session
		left, err := read(ctx, func(s store.Session) error {
			if session.IsBackground(s.Key) || session.IsRequest(s.Key) {
				beside = append(beside, s)
				return nil
			}
			g.load(s)
			if n++; n == loadFirst {
				close(enough)
			}
			return nil
		})
		if err == nil && left > 0 && g.health.Damage() == "" {
			err = g.mendSessions(ctx)
		}
		if err != nil && n >= loadFirst && ctx.Err() == nil { // the start is over; who writes is still found, by ensureLoaded
			g.health.Warn("store", "not every session could be read: "+term.Clean(err.Error(), 300))
		}
		if g.health.Damage() == "" {
			g.endBeside(ctx, beside)
		}
		if err == nil {
			close(g.loaded)
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
		if err != nil && g.health.Damage() != "" {
			g.health.Warn("store.unread", "not every session could be read: "+term.Clean(err.Error(), 300))
			return nil
		}
		if err != nil {
			return fmt.Errorf("load the sessions: %w", err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// mendSessions takes in the sessions whose rows could not be true, as SetAside leaves them.
func (g *Gateway) mendSessions(ctx context.Context) error {
	rows, err := g.setAside(ctx, store.OfSessions)
	if err != nil {
		return err
	}
	for _, r := range rows {
		s, found, err := g.store.CurrentSession(ctx, r.Name)
		if err != nil {
			return err
		}
		if found {
			g.load(s)
		}
	}
	return nil
}

// endBeside ends the sessions of /background tasks that the end of their life cut off, and deletes those of requests: no
// message comes to them any more.
func (g *Gateway) endBeside(ctx context.Context, sessions []store.Session) {
	var requests []string
	for _, s := range sessions {
		if session.IsRequest(s.Key) {
			requests = append(requests, s.ID)
		}
	}
	for batch := range slices.Chunk(requests, retentionBatch) {
		if err := g.store.ForgetSessions(ctx, batch...); err != nil {
			g.log.Warn("sessions of requests not deleted", "count", len(batch), "error", term.Clean(err.Error(), 300))
			return
		}
	}
	for _, s := range sessions {
		if session.IsRequest(s.Key) {
			continue
		}
		if err := g.store.EndSession(ctx, s.ID, time.Now(), "its task was cut off with the life before"); err != nil {
			g.log.Warn("end of session not saved", "session", s.Key, "error", term.Clean(err.Error(), 300))
			return
		}
	}
}

func (g *Gateway) load(s store.Session) {
	if !g.resumes && s.State == ops.SessionInterrupted {
		s.State = ops.SessionIdle
	}
	g.table.Load(loaded(s))
}

// ensureLoaded takes the session of key in, if the store has one that did not come yet: a message to it must go on with
// its conversation.
func (g *Gateway) ensureLoaded(ctx context.Context, key string) error {
	select {
	case <-g.loaded:
		return nil
	default:
	}
	if _, known := g.table.Get(key); known || !g.opened() {
		return nil
	}
	s, found, err := g.store.CurrentSession(ctx, key)
	if err != nil {
		g.log.Error("session not read", "session", key, "error", term.Clean(err.Error(), 600))
		return &ops.Error{Code: ops.CodeUnavailable, Message: "the session could not be read: " + term.Clean(store.Reason(err), 200), Hint: "try again in a moment"}
	}
	if found {
		g.load(s)
	}
	return nil
}
