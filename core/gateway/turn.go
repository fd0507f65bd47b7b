package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/delivery"
	"gatewaytui/core/limit"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// begin runs a turn, and those that begin in its place, on a goroutine that the gateway waits for at its end.
func (g *Gateway) begin(t *session.Turn) {
	if t == nil {
		return
	}
	g.workers.Go(func() {
		for t != nil {
			t = g.turn(t)
		}
	})
}

// turn runs one turn to its end and returns the one that begins in its place. A turn that lost its slot meanwhile (reset,
// released as wedged) says and writes nothing any more.
func (g *Gateway) turn(t *session.Turn) (next *session.Turn) {
	defer t.Finish()
	key := t.Session.Key
	g.log.Info("turn started", t.Message.Caller.LogKeys("session", key, "turn", t.ID)...)
	g.events.Emit(ops.EventTurnStarted, key, "turn started", map[string]any{"turn": t.ID})
	g.metrics.TurnStarted()

	w := &work{g: g, turn: t}
	err := w.run(t.Context())
	if cause := g.table.Interrupted(t); err != nil && cause != nil {
		err = cause
	}
	if !g.table.Owns(t) {
		w.disown()
		return nil
	}
	text, err := w.save(err)
	g.cacheBack(w.agent)
	if t.Message.Ended != nil {
		t.Message.Ended(w.end.TokensIn, w.end.TokensOut, string(w.result.Finish))
	}
	if !t.Message.Instant { // while it is on its way no later reply of the session may overtake it
		g.table.Progress(t, "sending the reply")
		w.reply(text, answer(err))
	}
	next, owned := g.table.Release(g.turns, t, w.end)
	if !w.begun {
		g.table.DropUnsaved(t)
	}
	if owned && session.IsRequest(key) && !g.table.Active(key) {
		w.endRequest()
	}
	if w.end.Hold {
		g.fill() // turns may be taken again since it was known
	}
	if t.Message.Instant { // who waits for it may send the next message at once, and finds the session free
		w.reply(text, answer(err))
	}
	if !owned {
		return nil
	}
	g.ended(t, w.state, err)
	return next
}

// ended says how a turn ended: in the log, as an event, in the metrics.
func (g *Gateway) ended(t *session.Turn, state store.TurnState, err error) {
	took := time.Since(t.Started)
	args := []any{"session", t.Session.Key, "turn", t.ID, "state", string(state), "elapsed", took.Round(time.Millisecond)}
	if err != nil {
		if failed, ok := errors.AsType[*model.Error](err); ok { // its sender gets neither of these
			args = append(args, "kind", string(failed.Kind), "status", failed.Status)
		}
		g.log.Warn("turn ended", append(args, "error", term.Clean(err.Error(), 600))...)
	} else {
		g.log.Info("turn ended", args...)
	}
	g.events.Emit(ops.EventTurnEnded, t.Session.Key, "turn "+string(state), map[string]any{"turn": t.ID, "state": state, "elapsed_ms": ops.Millis(took)})
	g.metrics.TurnEnded(state, took.Seconds())
}

// work is what a worker knows of its turn while it runs.
type work struct {
	g     *Gateway
	turn  *session.Turn
	agent *agent.Agent
	// begun says that the store knows of the turn.
	begun bool
	// replied says that the store has the reply to the chat: it was written with the turn's end.
	replied bool
	result  agent.Result
	state   store.TurnState
	end     session.End
}

func (w *work) run(ctx context.Context) (err error) {
	g, t := w.g, w.turn
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("turn panicked", "session", t.Session.Key, "turn", t.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = &ops.Error{Code: ops.CodeInternal, Message: "the turn failed inside the gateway", Hint: "the log has the details; try again, or /new"}
		}
	}()
	wrote := sync.OnceFunc(t.Wrote)
	defer wrote()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	g.table.Progress(t, "saving the message")
	user := stored([]model.Message{{Role: model.RoleUser, Content: t.Message.Text}})[0]
	user.At = t.Message.At
	row := store.Turn{ID: t.ID, SessionID: t.Session.ID, Life: g.life, StartedAt: t.Started, State: store.TurnRunning, Message: inboxID(t.Message)}
	// An interrupt during this write may come too late for it: the turn is then begun and at once interrupted.
	wctx, cancel := g.store.Patient(ctx)
	err = g.store.BeginTurn(wctx, sessionRow(t.Session), row, user)
	cancel()
	if err != nil {
		return delivery.NotSaved(g.log, t.Session.Key, "your message", err)
	}
	wrote()
	w.begun = true
	g.table.Saved(t)
	w.agent = g.agentOf(t.Session)
	calls := agent.NewCalls(g.cfg.Limits.CallsPerTurn, func() { g.limitReached(limit.CallsPerTurn) })
	if !g.table.Attach(t, w.agent, calls) {
		return session.ErrReset
	}
	in := agent.Turn{
		ID: t.ID, Text: t.Message.Text, Note: note(t.Session), Calls: calls, Delta: t.Message.Delta, Progress: w.progress, Waiting: w.waiting, Signalled: w.signalled,
	}
	w.result, err = w.agent.Run(ctx, in)
	return err
}

// disown leaves nothing behind of a turn that was released before its worker ended. Its row was ended by who released it,
// unless it was only written after that; its agent may have come into the cache after the session's own was closed.
func (w *work) disown() {
	g, t := w.g, w.turn
	g.log.Warn("turn ended after it was released; its result is dropped", "session", t.Session.Key, "turn", t.ID, "elapsed", time.Since(t.Started).Round(time.Millisecond))
	if w.agent != nil && g.cache.Remove(w.agent) {
		g.releaseAgents([]*agent.Agent{w.agent}, "its turn was released")
	}
	if !w.begun {
		g.table.DropUnsaved(t)
		return
	}
	ctx, cancel := g.store.Patient(t.Context())
	defer cancel()
	row := store.Turn{ID: t.ID, SessionID: t.Session.ID, Life: g.life, StartedAt: t.Started, EndedAt: time.Now(), State: store.TurnInterrupted, Reason: "released"}
	if err := g.endTurn(ctx, sessionRow(t.Session), row, nil); err != nil && !errors.Is(err, store.ErrStaleTurn) {
		g.log.Warn("interrupted turn's end not saved", "session", t.Session.Key, "turn", t.ID, "error", term.Clean(err.Error(), 300))
	}
}

// waiting: a model call of the turn waits for a slot.
func (w *work) waiting() {
	w.g.limitReached(limit.ModelCalls)
	w.g.table.Wait(w.turn, limit.ModelCalls, ops.DoingModelSlot)
}

func (w *work) progress(doing string) {
	doing = term.Clean(doing, 120)
	w.g.table.Progress(w.turn, doing)
}

// signalBound is how much later than a tool the gateway may hear that both are to end.
const signalBound = 250 * time.Millisecond

// signalled: somebody else's signal ended a command of this turn. Whoever stops the service may send it to the tools as
// well (systemd with KillMode=control-group). That command did not fail: the stop interrupts its turn (C12).
func (w *work) signalled(ctx context.Context) error {
	wait := time.NewTimer(signalBound)
	defer wait.Stop()
	select {
	case <-w.g.lifecycle.stopping:
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return nil
	}
	w.g.table.Interrupt(w.turn.Session.Key, w.turn.ID, session.ErrStopping)
	return session.ErrStopping
}

// save ends the turn in the store and returns what its asker is told. Nothing is said to be saved that is not.
func (w *work) save(err error) (reply string, _ error) {
	g, t := w.g, w.turn
	w.state, w.end = store.TurnDone, session.End{State: ops.SessionIdle, Hold: g.holding()}
	switch {
	case err == nil:
	case session.Answer(err) != nil:
		w.state, w.end.State = store.TurnInterrupted, ops.SessionInterrupted
	default:
		w.state = store.TurnFailed
	}
	w.end.TokensIn, w.end.TokensOut = w.result.Usage.In, w.result.Usage.Out
	if !w.begun {
		return "", err
	}
	s := sessionRow(t.Session)
	s.State, s.LastActivityAt = w.end.State, time.Now()
	s.TokensIn, s.TokensOut = t.Session.TokensIn+w.end.TokensIn, t.Session.TokensOut+w.end.TokensOut
	row := store.Turn{
		ID: t.ID, SessionID: t.Session.ID, Life: g.life, StartedAt: t.Started, EndedAt: time.Now(), State: w.state,
		TokensIn: w.end.TokensIn, TokensOut: w.end.TokensOut, Message: inboxID(t.Message), Reply: letterOf(t, w.result.Text, err),
	}
	if err != nil {
		row.Reason = term.Clean(err.Error(), 300)
	}
	// The turn's own context may be over: this write must survive that, within its own bound (A14).
	ctx, cancel := g.store.Patient(t.Context())
	defer cancel()
	last := stored(w.result.Last)
	saveErr := w.agent.Memory().(*memory).write(ctx, func(ctx context.Context) error { return g.endTurn(ctx, s, row, last) })
	switch {
	case saveErr == nil:
		w.replied = row.Reply != nil
	case errors.Is(saveErr, agent.ErrStale):
		return "", session.ErrReset
	case err == nil:
		w.state = store.TurnFailed
		return "", delivery.NotSaved(g.log, t.Session.Key, "the answer", saveErr)
	default:
		g.log.Error("turn's end not saved", "session", t.Session.Key, "turn", t.ID, "error", term.Clean(saveErr.Error(), 300))
	}
	return w.result.Text, err
}

// reply answers the turn's message, without another write where the turn's end wrote the answer (HB4).
func (w *work) reply(text string, err error) {
	deliver := w.turn.Message.Deliver
	if w.replied {
		deliver = w.turn.Message.Send
	}
	deliver(text, err)
}

// inboxID names the inbox row of a message; one whose sender waits for the answer has none.
func inboxID(m session.Message) string {
	if m.Instant {
		return ""
	}
	return m.ID
}

// letterOf is what goes into the outbox with the end of a turn; nil if its sender waits for the answer.
func letterOf(t *session.Turn, text string, err error) *store.Outbox {
	if t.Message.Instant {
		return nil
	}
	return &store.Outbox{
		ID: t.Message.ID, Session: t.Session.Key, Adapter: session.Platform(t.Session.Key), Target: t.Message.Target,
		Text: delivery.ChatText(text, answer(err)), At: time.Now(),
	}
}

// answer is err as the sender of the message is told it.
func answer(err error) error {
	if err == nil {
		return nil
	}
	if e, is := errors.AsType[*ops.Error](err); is {
		return e
	}
	if e := session.Answer(err); e != nil {
		return e
	}
	if e := upstream(err); e != nil {
		return e
	}
	return &ops.Error{Code: ops.CodeUnavailable, Message: "the turn failed", Hint: "try again; " + operatorHint}
}

// note tells the model what happened to the session since its last turn.
func note(s session.Session) string {
	if s.State == ops.SessionInterrupted {
		return "The previous turn of this conversation was interrupted before it ended. What it had started may be half done; look before you repeat a step."
	}
	return ""
}

func sessionRow(s session.Session) store.Session {
	return store.Session{
		Key: s.Key, ID: s.ID, Platform: s.Platform, User: s.User, Target: s.Target, State: s.State,
		CreatedAt: s.Created, LastActivityAt: s.LastActivity, TokensIn: s.TokensIn, TokensOut: s.TokensOut,
		Caller: s.Caller,
	}
}
