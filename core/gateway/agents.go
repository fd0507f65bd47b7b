package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
	"gatewaytui/core/text"
)

// systemPrompt is what every agent is told of its place.
const systemPrompt = "You are an assistant behind a chat gateway on a machine of your user. You can run shell commands with the terminal tool, " +
	"watch and end what you started with the process tool, and hand a task to a child agent with delegate. Answer briefly and say truthfully what you did."

// agentOf returns the session's agent, held for a turn until cacheBack: the cached one, or a new one. An agent of an
// earlier conversation under the same key (a late worker's) is not taken.
func (g *Gateway) agentOf(s session.Session) *agent.Agent {
	if a, ok := g.cache.Get(s.Key); ok {
		if a.Memory().(*memory).session == s.ID {
			return a
		}
		g.cache.Remove(a)
		g.releaseAgents([]*agent.Agent{a}, "it belongs to an earlier conversation")
	}
	a := agent.New(agent.Config{
		Session: s.Key, Models: g.opts.Models, Slots: g.slots, Passing: session.IsRequest(s.Key), Tools: g.tools, Processes: agentProcesses{g.trees}, KillGrace: g.cfg.Process.KillGrace.Duration,
		Memory: &memory{store: g.store, session: s.ID}, MaxIterations: g.cfg.Agent.MaxIterations, System: systemPrompt, Log: g.log,
		Called: g.metrics.Called,
	})
	g.releaseAgents(g.cache.Put(a), "the cache is full")
	g.events.Emit(ops.EventAgentCached, s.Key, "agent made", nil)
	return a
}

// cacheBack ends a turn's hold on its agent.
func (g *Gateway) cacheBack(a *agent.Agent) {
	if a != nil {
		g.releaseAgents(g.cache.Done(a), "the cache is full")
	}
}

// releaseAgents lets go of agents that left the cache, on a tracked task: an eviction keeps session and processes (S12).
func (g *Gateway) releaseAgents(evicted []*agent.Agent, why string) {
	for _, a := range evicted {
		g.log.Info("agent evicted", "session", a.Session(), "reason", why)
		g.events.Emit(ops.EventAgentEvicted, a.Session(), "agent evicted: "+why, nil)
		g.background.Start(g.turns, "evict agent", a.Session(), func(ctx context.Context) {
			ctx, cancel := context.WithTimeout(ctx, g.closeTimeout())
			defer cancel()
			if err := a.Release(ctx); err != nil {
				g.log.Warn("evicted agent not released", "session", a.Session(), "error", term.Clean(err.Error(), 300))
			}
		})
	}
}

// closeTimeout bounds the close of one agent outside of a stop: its flush, its model client, and its processes with their
// grace and their verification.
func (g *Gateway) closeTimeout() time.Duration {
	return g.cfg.Shutdown.AgentTimeout.Duration + g.cfg.Process.KillGrace.Duration + time.Second
}

// evict drops the cached agent of key. A busy one is refused: an interrupt or a reset ends it first (D7).
func (g *Gateway) evict(ctx context.Context, key string) (string, error) {
	a, err := g.cache.Evict(key)
	if err != nil {
		return "", err
	}
	return g.evicted(ctx, a)
}

// evicted releases an agent that an eviction has taken out of the cache.
func (g *Gateway) evicted(ctx context.Context, a *agent.Agent) (string, error) {
	key := a.Session()
	kept := g.procs.CountSession(key)
	ctx, cancel := context.WithTimeout(ctx, g.closeTimeout())
	defer cancel()
	g.events.Emit(ops.EventAgentEvicted, key, "agent evicted by an operator", nil)
	if err := a.Release(ctx); err != nil {
		return "", fmt.Errorf("evict the agent of %s: %w", key, err)
	}
	if kept == 0 {
		return "agent dropped; the session is kept", nil
	}
	return fmt.Sprintf("agent dropped; the session and its %d %s are kept", kept, text.Plural(kept, "process tree", "process trees")), nil
}

// interruptAndEvict is evict for a busy agent. The agent is claimed before its turn is interrupted, so that a session whose
// next turn begins at once loses it all the same.
func (g *Gateway) interruptAndEvict(ctx context.Context, key string) (string, error) {
	claim, err := g.cache.Claim(key)
	if err != nil {
		return "", err
	}
	done := ""
	select {
	case a, ok := <-claim: // no turn holds it
		if ok {
			return g.evicted(ctx, a)
		}
	default:
		var err error
		if done, err = g.interrupt(ctx, key, "", session.ErrInterrupted); err != nil && !ops.HasCode(err, ops.CodeNotFound) {
			g.cache.Unclaim(key, claim)
			return "", err
		}
	}
	wait, cancel := context.WithTimeout(ctx, g.closeTimeout())
	defer cancel()
	select {
	case a, ok := <-claim:
		if !ok {
			return strings.TrimSuffix(done, ".") + "; its agent has left the cache", nil
		}
		dropped, err := g.evicted(ctx, a)
		if err != nil {
			return "", err
		}
		return strings.TrimSuffix(done, ".") + "; " + dropped, nil
	case <-wait.Done():
		g.cache.Unclaim(key, claim)
		return "", &ops.Error{Code: ops.CodeBusy, Message: "the turn of " + term.Quote(key) + " does not let go of its agent", Hint: "reset the session: that ends its agent as well"}
	}
}

// reset ends the conversation of key: the turn is cancelled and its slot freed, the agent closed with its processes, and
// only then does it leave the cache and the next message begin a fresh conversation (S12). It returns what was ended.
func (g *Gateway) reset(ctx context.Context, key, reason string) (string, error) {
	done, _, err := g.end(ctx, key, reason, false)
	if err == nil {
		g.events.Emit(ops.EventSessionReset, key, reason, nil)
	}
	return done, err
}

// end is reset; with forget the session is also dropped from memory, unless a message came meanwhile.
func (g *Gateway) end(ctx context.Context, key, reason string, forget bool) (done string, old session.Session, err error) {
	old, turn, dropped, ok := g.table.BeginReset(key)
	if !ok {
		if _, known := g.table.Get(key); known {
			return "", old, &ops.Error{Code: ops.CodeConflict, Message: "the session is being reset already", Hint: "wait a moment"}
		}
		return "", old, noSession(key)
	}
	return g.finishEnd(ctx, old, turn, dropped, reason, forget || session.IsRequest(key)), old, nil
}

// finishEnd does what is left of an end once it has begun in the table.
func (g *Gateway) finishEnd(ctx context.Context, old session.Session, turn *session.Turn, dropped []session.Message, reason string, forget bool) (done string) {
	key := old.Key
	var parts []string
	if turn != nil {
		parts = append(parts, "interrupted the running turn")
		g.endReleased(turn, session.ErrReset)
		awaitWritten(ctx, turn, old)
	}
	if n := len(dropped); n > 0 {
		g.tellDropped(key, dropped, turn)
		parts = append(parts, fmt.Sprintf("dropped %d waiting %s", n, text.Plural(n, "message", "messages")))
	}
	g.fill() // the turn's slot is free
	parts = append(parts, g.closeEnded(ctx, old, reason, forget)...)
	if len(parts) == 0 {
		return nothingRan
	}
	return strings.Join(parts, ", ") + "."
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

// closeEnded does what is left of the end of a conversation whose key takes no turns meanwhile: its agent closed with its
// processes, its end written, and then the next one begun. It returns what was done, and is bounded.
func (g *Gateway) closeEnded(ctx context.Context, old session.Session, reason string, forget bool) (done []string) {
	done = g.closeAgent(ctx, old.Key)
	wctx, cancel := g.store.Patient(ctx)
	defer cancel()
	end := func() error { return g.store.EndSession(wctx, old.ID, time.Now(), reason) }
	if session.IsRequest(old.Key) {
		end = func() error { return g.store.ForgetSessions(wctx, old.ID) }
	}
	if err := end(); err != nil {
		g.log.Error("end of session not saved", "session", old.Key, "error", term.Clean(err.Error(), 300))
		done = append(done, "its end could not be saved")
	}
	g.begin(g.table.EndReset(g.turns, old.Key, forget, g.holding()))
	return done
}

// tellDropped tells the senders of messages that waited when their session was reset, on a task: a platform that is slow
// holds up no reset. turn is the one that they waited for, nil where none ran.
func (g *Gateway) tellDropped(key string, dropped []session.Message, turn *session.Turn) {
	for _, m := range dropped {
		args := []any{"session", key, "message", m.ID, "reason", session.ErrReset.Error()}
		if turn != nil {
			args = append(args, "turn", turn.ID, "without_progress", g.table.Still(turn).Round(time.Millisecond))
		}
		g.log.Warn("waiting message dropped", args...)
	}
	why := &ops.Error{Code: ops.CodeConflict, Message: "the session was reset before it came to this message", Hint: "send it again if you still want it"}
	g.outbox.Refuse(key, why, dropped...)
}

// closeAgent closes the agent of key with everything it holds, found in the cache, where idle and running ones live; then
// what the session's tools started and no agent holds any more. It returns what was done.
func (g *Gateway) closeAgent(ctx context.Context, key string) (done []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.closeTimeout())
	defer cancel()
	before := g.procs.CountSession(key)
	if a, ok := g.cache.Peek(key); ok {
		if err := a.Close(ctx); err != nil {
			g.log.Warn("agent closed with errors", "session", key, "error", term.Clean(err.Error(), 300))
			done = append(done, "its agent did not close in full ("+term.Clean(err.Error(), 120)+")")
		}
		g.cache.Remove(a)
		g.events.Emit(ops.EventAgentClosed, key, "agent closed", nil)
	}
	report := g.procs.KillSession(ctx, key, g.cfg.Process.KillGrace.Duration)
	if before > 0 && report.Verified {
		done = append(done, fmt.Sprintf("ended %d %s", before, text.Plural(before, "process", "processes")))
	}
	if !report.Verified {
		done = append(done, report.Summary())
	}
	return done
}

// What an end and an interrupt return where there is nothing more to tell.
const (
	nothingRan      = "nothing was running."
	turnInterrupted = "Interrupted the running turn."
	waitingEnded    = "Withdrew the message that was waiting; its turn had not begun."
)

// interrupt cancels the running turn of key and says exactly what came of it (D11, J9): it ended, or its slot was freed
// while its worker still runs. Where no turn runs because the next message waits for a slot, that message is withdrawn. want,
// if not empty, is the turn that the caller saw.
func (g *Gateway) interrupt(ctx context.Context, key, want string, cause error) (string, error) {
	t := g.table.Interrupt(key, want, cause)
	if t == nil {
		if want != "" {
			return "", &ops.Error{Code: ops.CodeConflict, Message: "the turn that you saw has ended"}
		}
		if m, waits := g.table.WithdrawWaiting(key); waits {
			g.outbox.Withdrawn(key, m, cause)
			return waitingEnded, nil
		}
		return "", &ops.Error{Code: ops.CodeNotFound, Message: "no turn runs in " + term.Quote(key)}
	}
	// A turn that takes its cancellation is gone within this; D11 asks for an answer within a second.
	grace := min(g.cfg.Shutdown.InterruptGrace.Duration, 800*time.Millisecond)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-t.Released():
		return turnInterrupted, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	if g.releaseWedged(t, cause) {
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

// interruptCurrent is the verb: it interrupts the turn that runs in the conversation now, or the one turn that the command
// expects. A turn that has ended since the operator looked is not an error.
func (g *Gateway) interruptCurrent(ctx context.Context, cmd ops.Command) (string, error) {
	want := cmd.Expect
	s, _ := g.table.Get(cmd.Target)
	if want == s.ID {
		want = ""
	}
	timer := time.NewTimer(nextTurnWait)
	defer timer.Stop()
	for {
		done, err := g.interrupt(ctx, cmd.Target, want, session.ErrInterrupted)
		if !ops.HasCode(err, ops.CodeNotFound) || time.Since(s.LastActivity) > lately {
			return done, err
		}
		select {
		case <-g.table.Began(cmd.Target):
		case <-timer.C:
			return "No turn is running; the last one has ended.", nil
		case <-ctx.Done():
			return "", err
		}
	}
}

// releaseWedged frees the slot of a turn whose worker does not return. Its agent is taken out of the cache, because the
// next turn must not meet the worker, and released, because a session's processes go on. It reports false if the turn
// ended by itself meanwhile.
func (g *Gateway) releaseWedged(t *session.Turn, cause error) bool {
	key := t.Session.Key
	v, running := g.table.Running(key)
	if !running || v.Turn != t {
		return false
	}
	next, owned := g.table.Release(g.turns, t, session.End{State: ops.SessionInterrupted, Hold: g.holding()})
	if !owned {
		return false
	}
	if a, ok := v.Agent.(*agent.Agent); ok {
		g.cache.Remove(a)
		g.releaseAgents([]*agent.Agent{a}, "its turn did not end")
	}
	g.log.Warn("turn released while its worker still runs", "session", key, "turn", t.ID, "doing", v.Doing)
	g.endLeftovers(t)
	g.endReleased(t, cause)
	g.begin(next)
	if session.IsRequest(key) && !g.table.Active(key) {
		g.endRequestLater(key)
	}
	return true
}

// endLeftovers ends what the foreground commands of a turn left running, on a tracked task: its worker, which would have
// done so, does not return (C1). A kill that fails is in the log, and in the row.
func (g *Gateway) endLeftovers(t *session.Turn) {
	g.background.Start(g.turns, "end the turn's processes", t.Session.Key, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, g.closeTimeout())
		defer cancel()
		g.procs.KillTurn(ctx, t.ID, g.cfg.Process.KillGrace.Duration)
	})
}

// endReleased writes and says the end of a turn whose worker did not.
func (g *Gateway) endReleased(t *session.Turn, cause error) {
	ctx, cancel := g.store.Patient(t.Context())
	defer cancel()
	s := sessionRow(t.Session)
	s.State, s.LastActivityAt = ops.SessionInterrupted, time.Now()
	row := store.Turn{
		ID: t.ID, SessionID: t.Session.ID, Life: g.life, StartedAt: t.Started, EndedAt: time.Now(), State: store.TurnInterrupted, Reason: cause.Error(),
		Message: inboxID(t.Message), Reply: letterOf(t, "", cause),
	}
	deliver := t.Message.Deliver
	if err := g.endTurn(ctx, s, row, nil); err != nil {
		g.log.Warn("interrupted turn's end not saved", "session", s.Key, "turn", t.ID, "error", term.Clean(err.Error(), 300))
	} else if row.Reply != nil {
		deliver = t.Message.Send
	}
	g.ended(t, store.TurnInterrupted, cause)
	g.background.Start(g.turns, "notice", s.Key, func(context.Context) { deliver("", answer(cause)) })
}

// resume makes an ended conversation of key the current one again. Without id it is the newest.
func (g *Gateway) resume(ctx context.Context, key, id string) (string, error) {
	ended, err := g.store.EndedSessions(ctx, key, 50)
	if err != nil {
		return "", fmt.Errorf("list the earlier conversations: %w", err)
	}
	for _, s := range ended {
		if id != "" && s.ID != id {
			continue
		}
		if _, running := g.table.Running(key); running {
			return "", &ops.Error{Code: ops.CodeBusy, Message: "a turn runs in this conversation", Hint: "/stop it first"}
		}
		current, _ := g.table.Get(key)
		g.closeAgent(ctx, key) // flushes what the current conversation has not saved (S15)
		now := time.Now()
		reopened, err := g.store.ReopenSession(ctx, current.ID, s.ID, now)
		if err != nil {
			return "", fmt.Errorf("take up conversation %s: %w", s.ID, err)
		}
		if !g.table.Replace(loaded(reopened)) {
			return "", &ops.Error{Code: ops.CodeBusy, Message: "a turn began in this conversation meanwhile", Hint: "try again"}
		}
		return fmt.Sprintf("Back in the conversation from %s ago.", text.Age(s.EndedAt)), nil
	}
	if id == "" {
		return "This chat has no earlier conversation.", nil
	}
	return "", &ops.Error{Code: ops.CodeNotFound, Message: "this chat has no conversation " + term.Quote(id), Hint: "/sessions lists them"}
}

// forget ends a session for good: nobody will write to it again.
func (g *Gateway) forget(ctx context.Context, key, reason string) {
	if _, _, err := g.end(ctx, key, reason, true); err != nil && !ops.HasCode(err, ops.CodeNotFound) {
		g.log.Warn("session not closed", "session", key, "error", term.Clean(err.Error(), 300))
	}
}

func noSession(key string) error {
	return &ops.Error{Code: ops.CodeNotFound, Message: "no session " + term.Quote(key), Hint: "`gatewaytui sessions` lists them"}
}

// loaded is a session as the store had it.
func loaded(s store.Session) session.Session {
	return session.Session{
		Key: s.Key, ID: s.ID, Platform: s.Platform, User: s.User, Target: s.Target, State: s.State,
		Created: s.CreatedAt, LastActivity: s.LastActivityAt, TokensIn: s.TokensIn, TokensOut: s.TokensOut, Caller: s.Caller, Stored: true,
	}
}
