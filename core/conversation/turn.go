package conversation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/access"
	"gatewaytui/core/agent"
	"gatewaytui/core/budget"
	"gatewaytui/core/delivery"
	"gatewaytui/core/limit"
	"gatewaytui/core/media"
	"gatewaytui/core/memory"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/store"
	"gatewaytui/core/term"
)

// Begin runs a turn, and those that begin in its place, on a goroutine that Wait waits for. t may be nil.
func (c *Conversations) Begin(t *session.Turn) {
	if t == nil {
		return
	}
	c.workers.Go(func() {
		for t != nil {
			t = c.runTurn(t)
		}
	})
}

// runTurn runs one turn to its end and returns the one that begins in its place. A turn that lost its slot meanwhile (reset,
// released as wedged) says and writes nothing more.
func (c *Conversations) runTurn(t *session.Turn) (next *session.Turn) {
	key := t.Session.Key
	c.o.Log.Info("turn started", t.Message.Caller.LogKeys("session", key, "turn", t.ID)...)
	c.o.Events.Emit(ops.EventTurnStarted, key, "turn started", ops.TurnChange{Turn: t.ID})
	c.o.Meter.TurnStarted()
	c.loops(t, t.Loops)

	r := &turnRunner{c: c, turn: t}
	defer func() { r.show.End() }()
	defer r.closeSpending()
	err := r.run(t.Context())
	if cause := c.o.Table.Now(t).Interrupt; err != nil && cause != nil {
		err = cause
	}
	if !c.o.Table.Owns(t) {
		r.discardResult()
		return nil
	}
	text, err := r.save(err)
	if r.agent != nil {
		c.evict(c.o.Cache.Done(r.agent), "the cache is full")
	}
	if t.Message.Ended != nil {
		t.Message.Ended(model.Outcome{Usage: r.result.Usage, Finish: r.result.Finish, Calls: r.result.Calls})
	}
	if !t.Message.Instant { // while it is on its way no later reply of the session may overtake it
		c.o.Table.Progress(t, ops.DoingReply)
		r.reply(text, userError(err))
	}
	next, owned := c.o.Table.Release(c.turns, t, r.end)
	if !r.begun {
		c.o.Table.DropUnsaved(t)
	}
	if owned {
		r.endPassing()
	}
	if r.end.Hold {
		c.Fill() // turns may begin again since it was known
	}
	if t.Message.Instant { // who waits for it may send the next message at once, and finds the session free
		r.reply(text, userError(err))
	}
	if !owned {
		return nil
	}
	c.turnEnded(t, r.state, r.end, err)
	if r.who.Key != "" && c.o.Reviews != nil {
		c.o.Reviews.TurnEnded(c.turns, key, t.Session.ID)
	}
	return next
}

// turnEnded says how a turn ended: in the log, as an event, to the meter. left is what it left in its session.
func (c *Conversations) turnEnded(t *session.Turn, state store.TurnState, left session.End, err error) {
	took := time.Since(t.Started)
	args := []any{"session", t.Session.Key, "turn", t.ID, "state", string(state), "elapsed", took.Round(time.Millisecond)}
	if left.Model != "" {
		args = append(args, "model", left.Model)
	}
	if err != nil {
		if failed, ok := errors.AsType[*model.Error](err); ok { // its sender gets neither of these
			args = append(args, "kind", string(failed.Kind), "status", failed.Status)
		}
		c.o.Log.Warn("turn ended", append(args, "error", term.Clean(err.Error(), 600))...)
	} else {
		c.o.Log.Info("turn ended", args...)
	}
	c.o.Events.Emit(ops.EventTurnEnded, t.Session.Key, "turn "+string(state), ops.TurnEnd{ElapsedMS: ops.Millis(took), State: string(state), Turn: t.ID})
	ended := ops.TurnEnded{
		Session: t.Session.Key, Turn: t.ID, Agent: c.definition(t).Name, EndedAt: ops.At(t.Started.Add(took)), ElapsedMS: ops.Millis(took), State: string(state), Tokens: left.TokensIn + left.TokensOut,
	}
	if left.Priced && left.Unpriced == 0 {
		cost := left.Cost
		ended.Cost = &cost
	}
	c.o.Meter.TurnEnded(ended)
}

// endOf returns the write that ends a turn now: the turn, the answer to its message and its session in one commit. end has
// the state, the reason, and the message that is answered with its reply. left is what the turn leaves in its session; without a
// state its row stays as it was when the turn began. last is the end of the transcript. Of a request's turn it
// deletes everything instead. It has the only call of Store.EndTurn. The write's error is store.ErrStaleTurn if the turn had
// ended already.
func (c *Conversations) endOf(t *session.Turn, end store.Turn, left session.End, last []store.Message) write {
	if session.IsRequest(t.Session.Key) {
		return func(ctx context.Context) error { return c.store.EndRequest(ctx, t.Session.ID, end.Charge) }
	}
	now := time.Now()
	s := row(t.Session)
	if left.State != "" {
		s.State, s.LastActivityAt = left.State, now
		s.Agent, s.Model = c.definition(t).Name, cmp.Or(left.Model, s.Model)
	}
	s.TokensIn += left.TokensIn
	s.TokensOut += left.TokensOut
	s.TokensCached += left.TokensCached
	if left.ContextWindow > 0 {
		s.ContextUsed, s.ContextWindow = left.ContextUsed, left.ContextWindow
	}
	s.Cost += left.Cost
	s.Priced = s.Priced || left.Priced
	end.Spent = store.Spent{
		TokensIn: left.TokensIn, TokensOut: left.TokensOut, TokensCached: left.TokensCached, Unpriced: left.Unpriced, Cost: left.Cost, Priced: left.Priced,
	}
	end.ID, end.SessionID, end.Life, end.StartedAt, end.EndedAt = t.ID, t.Session.ID, c.o.Life, t.Started, now
	end.Timeline = t.Line.Record(c.definition(t).Name, true).Encode()
	return func(ctx context.Context) error { return c.store.EndTurn(ctx, s, end, last) }
}

// turnRunner is one turn on its worker.
type turnRunner struct {
	c     *Conversations
	turn  *session.Turn
	agent *agent.Agent
	// spending is what the turn may spend; nil until that is known.
	spending *budget.Turn
	// begun says that the store knows of the turn.
	begun bool
	// who is whom the turn's notes are for; zero: it has none.
	who memory.Who
	// replied says that the store has the reply to the chat: it was written with the turn's end.
	replied bool
	// silent says that the turn's messages have no answer: their sender's next one took its place.
	silent bool
	result agent.Result
	// show is what the chat sees of the turn.
	show  *delivery.Show
	state store.TurnState
	end   session.End
}

func (r *turnRunner) run(ctx context.Context) (err error) {
	c, t := r.c, r.turn
	defer func() {
		if p := recover(); p != nil {
			c.o.Log.Error("turn panicked", "session", t.Session.Key, "turn", t.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = &ops.Error{Code: ops.CodeInternal, Message: "the turn failed inside the gateway", Hint: "the log has the details; try again, or /new"}
		}
	}()
	wrote := sync.OnceFunc(t.Wrote)
	defer wrote()
	if err := ctx.Err(); err != nil && !errors.Is(context.Cause(ctx), session.ErrOvertaken) { // then the next turn reads this message
		return context.Cause(ctx)
	}
	role, err := c.roleOf(t.Message, t.Session.Key)
	if err != nil {
		return err
	}
	tools := access.Decide(role, access.Tools, session.Platform(t.Session.Key))
	tookUp(append([]session.Message{t.Message}, t.Message.Joined...)...)
	if !t.Message.Instant { // who waits for the answer sees the turn itself
		r.show = c.o.Outbox.Show(ctx, store.Inbox{ID: t.Message.ID, Session: t.Session.Key, Adapter: session.Platform(t.Session.Key), Target: t.Message.Target})
		c.o.Table.Show(t, r.show)
	}
	d := c.definition(t)
	models := c.modelsOf(t, d)
	sees := models.Vision()
	text, images := r.files(ctx, sees)
	own, input := opening(t.Message, text)
	input.Images = append(input.Images, images...)
	if input.Shows() && !sees {
		return errNoVision
	}
	if !c.o.Table.Owns(t) { // it was released while its files were fetched
		return context.Cause(ctx)
	}
	if err := r.spend(ctx, d, models, text, input); err != nil {
		return err
	}
	begun, begin := r.beginning(c.remembers(t, d, role))
	c.o.Table.Progress(t, "saving the message")
	// An interrupt during this write may come too late for it: the turn is then begun and at once interrupted.
	wctx, cancel := c.store.Patient(ctx)
	err = c.store.BeginTurn(wctx, row(begun), begin, own...)
	cancel()
	if errors.Is(err, store.ErrChanged) {
		return errOvertaken
	}
	if err != nil {
		return delivery.NotSaved(c.o.Log, t.Session.Key, "your message", err)
	}
	wrote()
	r.begun = true
	r.watched("")
	c.o.Table.Saved(t, begun.Title)
	c.sayExpired(ctx, t)
	r.agent = c.agentOf(t, d)
	if t.Message.Again[1] > 0 {
		r.agent.Reload()
	}
	c.o.Table.Works(t, d.Name, r.agent.Row().Model)
	calls := agent.NewCalls(c.setupOf(t).Bounds.CallsPerTurn, func() { c.o.Reached(limit.CallsPerTurn) })
	if !c.o.Table.Attach(t, calls) {
		return session.ErrReset
	}
	in := agent.Turn{
		ID: t.ID, Person: t.Message.User, Unattended: t.Message.Unattended, Text: text, First: !t.Session.Stored, System: c.systemPrompt(d, t, tools) + c.notesFor(ctx, r.who), Role: role, NoTools: !tools, Input: input, Calls: calls, Spending: r.spending, Line: t.Line, Delta: r.delta(), Signalled: r.signalled,
		Progress: r.progress, Compacted: r.compacted, Measured: r.measured, Steer: r.steer,
		Waiting: r.waitsForSlot, Repeats: r.repeats,
	}
	if t.Message.Compact {
		in.Text, in.Compact = keptAbove(t.Message.Text), true
	}
	note, giveBack := c.note(t)
	in.Note = note
	if r.result, err = r.agent.Run(ctx, in); err != nil {
		giveBack()
	}
	r.show.Settle()
	return err
}

// beginning is the session and the turn as the store keeps them from the turn's begin on. who is whom the turn's notes are for.
func (r *turnRunner) beginning(who memory.Who) (session.Session, store.Turn) {
	t := r.turn
	r.who = who
	begun := t.Session
	if begun.Title == "" && !t.Message.Compact && !session.IsRequest(begun.Key) {
		begun.Title = firstWords(t.Message.Text)
	}
	return begun, store.Turn{ID: t.ID, SessionID: t.Session.ID, Life: r.c.o.Life, StartedAt: t.Started, State: store.TurnRunning, Message: inboxID(t.Message), Who: t.Message.User, Undoes: t.Message.Again, Also: inboxIDs(t.Message.Joined), Charge: r.spending.Charge(), Remember: who.Key != ""}
}

// waitsForSlot notes that a model call waits for a slot.
func (r *turnRunner) waitsForSlot() {
	r.c.o.Reached(limit.ModelCalls)
	r.c.o.Table.Wait(r.turn, limit.ModelCalls, ops.DoingModelSlot)
	r.show.Doing(ops.DoingModelSlot)
	r.watched(ops.DoingModelSlot)
}

// repeats notes that the turn makes the same call of a tool again and again.
func (r *turnRunner) repeats(what string, times int) {
	r.c.loops(r.turn, r.c.o.Table.Repeats(r.turn, term.Clean(term.Redact(what), 120), times))
}

// loops says that a session begins to loop, and why; an empty why: it does not.
func (c *Conversations) loops(t *session.Turn, why string) {
	if why == "" {
		return
	}
	c.o.Log.Warn("session loops", "session", t.Session.Key, "turn", t.ID, "reason", why)
	c.o.Events.Emit(ops.EventSessionLooping, t.Session.Key, why, ops.TurnChange{Turn: t.ID})
}

// errNoVision refuses a message with pictures before anything of it is saved.
var errNoVision = &ops.Error{
	Code: ops.CodeInvalid, Message: "the model of this conversation cannot see pictures", Hint: "leave them out, or choose a model that can (vision = true in the config says so)",
}

// files takes the files of the turn's message, and tells its chat what was not taken. The text is the message as the model reads
// it. An interrupted turn gets what was fetched until then.
func (r *turnRunner) files(ctx context.Context, sees bool) (text string, images []model.Image) {
	c, t := r.c, r.turn
	if t.Message.Files == "" || t.Message.Compact {
		return t.Message.Text, nil
	}
	span := t.Line.Begin(ops.TimelineWait, ops.TimelineFiles, "")
	taken := c.o.Media.Take(ctx, media.Message{
		Session: t.Session.Key, Text: t.Message.Text, Files: t.Message.Files, Sees: sees, Progress: r.progress,
	})
	span.End("")
	if len(taken.Refused) > 0 && ctx.Err() == nil {
		c.o.Outbox.Notice(session.Owner(t.Session.Key), t.Message.Target, "I could not take everything. "+strings.Join(taken.Refused, ". ")+".")
	}
	return taken.Text, taken.Images
}

// opening is what a message with this text adds to the transcript, as the store keeps it, and what came with its text.
func opening(m session.Message, text string) (own []store.Message, in model.Input) {
	if m.Compact {
		return nil, in
	}
	if m.Input != nil {
		in = *m.Input
	}
	messages := in.Results
	if len(messages) == 0 {
		messages = []model.Message{{Role: model.RoleUser, Content: text}}
	}
	own = stored(messages)
	for i := range own {
		own[i].At, own[i].Who = m.At, m.User
	}
	return own, in
}

// progress notes what the turn does, for operators and for its chat.
func (r *turnRunner) progress(doing string) {
	doing = term.Clean(doing, 120)
	r.c.o.Table.Progress(r.turn, doing)
	r.show.Doing(doing)
	r.watched(doing)
}

// watched tells who waits for the answer what the turn does; empty: it has begun.
func (r *turnRunner) watched(doing string) {
	if watch := r.turn.Message.Watch; watch != nil {
		watch(r.turn.ID, doing)
	}
}

// delta is who gets the answer as it is written.
func (r *turnRunner) delta() func(string) {
	if r.turn.Message.Instant {
		return r.turn.Message.Delta
	}
	return r.show.Delta
}

// discardResult leaves nothing behind of a turn that was released before its worker ended. Who released it has ended its row,
// unless the row was only written after that. Its agent may have come into the cache after the session's own was closed.
func (r *turnRunner) discardResult() {
	c, t := r.c, r.turn
	c.o.Log.Warn("turn ended after it was released; its result is dropped", "session", t.Session.Key, "turn", t.ID, "elapsed", time.Since(t.Started).Round(time.Millisecond))
	if r.agent != nil {
		c.abandon(r.agent, "its turn was released")
	}
	if !r.begun {
		c.o.Table.DropUnsaved(t)
		return
	}
	ctx, cancel := c.store.Patient(t.Context())
	defer cancel()
	end := c.endOf(t, store.Turn{State: store.TurnInterrupted, Reason: "released", Charge: r.spending.Last()}, session.End{}, nil)
	if err := end(ctx); err != nil && !errors.Is(err, store.ErrStaleTurn) {
		c.o.Log.Warn("interrupted turn's end not saved", "session", t.Session.Key, "turn", t.ID, "error", clean(err))
	}
}

// signalBound is how much later than a tool the gateway may hear that both are to end.
const signalBound = 250 * time.Millisecond

// signalled is called when a foreign signal ended a command of the turn. The sender of a stop signal may send it to the tools as
// well (systemd with KillMode=control-group). That command did not fail: the stop interrupts its turn (C12).
func (r *turnRunner) signalled(ctx context.Context) error {
	select {
	case <-r.c.o.Stopping:
	case <-time.After(signalBound):
		return nil
	case <-ctx.Done():
		return nil
	}
	r.c.o.Table.Interrupt(r.turn.Session.Key, r.turn.ID, session.ErrStopping)
	return session.ErrStopping
}

// save ends the turn in the store and returns the answer for its sender. Nothing is said to be saved that is not.
func (r *turnRunner) save(err error) (reply string, _ error) {
	c, t := r.c, r.turn
	r.state, r.end = store.TurnDone, session.End{State: ops.SessionIdle, Hold: c.holding()}
	switch {
	case err == nil:
	case session.Answer(err) != nil:
		r.state, r.end.State = store.TurnInterrupted, ops.SessionInterrupted
	default:
		r.state = store.TurnFailed
	}
	u := r.result.Usage
	r.end.TokensIn, r.end.TokensOut, r.end.TokensCached, r.end.Cost, r.end.Priced, r.end.Model = u.In, u.Out, u.Cached, u.Cost, u.Priced, r.result.Model
	r.end.Unpriced = u.Unpriced
	if !r.begun {
		return "", err
	}
	end := store.Turn{
		Charge: r.spending.Last(),
		State:  r.state, Message: inboxID(t.Message), Also: inboxIDs(c.o.Table.Others(t)), Reply: c.replyTo(t, r.result.Text, err),
	}
	if err != nil {
		end.Reason = clean(err)
	}
	// The turn's own context may be over: this write must survive that, within its own bound (A14).
	ctx, cancel := c.store.Patient(t.Context())
	defer cancel()
	saveErr := r.agent.Memory().Write(ctx, c.endOf(t, end, r.end, stored(r.result.Last)))
	r.silent = saveErr == nil && errors.Is(err, session.ErrOvertaken)
	switch {
	case saveErr == nil:
		r.replied = end.Reply != nil
	case errors.Is(saveErr, agent.ErrStale):
		return "", session.ErrReset
	case err == nil:
		r.state = store.TurnFailed
		return "", delivery.NotSaved(c.o.Log, t.Session.Key, "the answer", saveErr)
	default:
		c.o.Log.Error("turn's end not saved", "session", t.Session.Key, "turn", t.ID, "error", clean(saveErr))
	}
	return r.result.Text, err
}

// reply answers the turn's messages, without another write where the turn's end wrote the answer (B4).
func (r *turnRunner) reply(text string, err error) {
	if r.silent {
		return
	}
	deliver := r.turn.Message.Deliver
	if r.replied {
		deliver = r.turn.Message.Send
	} else {
		merge(r.c.o.Table.Others(r.turn))
	}
	deliver(text, err)
}

// endPassing ends the session of a turn that has ended, if it was made for that turn and no message waits in it.
func (r *turnRunner) endPassing() {
	key := r.turn.Session.Key
	switch {
	case r.c.o.Table.Active(key):
	case session.IsRequest(key):
		r.endRequest()
	case session.IsWebhook(key):
		r.c.endRequestLater(key)
	}
}

// endRequest ends the session of a request whose turn has ended. Where no tool ran there is only the agent to let go of;
// otherwise a task ends the processes as well, so that the answer does not wait for their grace.
func (r *turnRunner) endRequest() {
	c, s := r.c, r.turn.Session
	if r.result.ToolsRan || c.o.Processes.CountSession(s.Key) > 0 {
		c.endRequestLater(s.Key)
		return
	}
	if r.agent != nil {
		c.o.Cache.Remove(r.agent)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.turn.Context()), c.CloseTimeout())
		defer cancel()
		if err := r.agent.Release(ctx); err != nil {
			c.o.Log.Warn("agent of a request not released", "session", s.Key, "error", clean(err))
		}
	}
	c.o.Table.Forget(s.Key, s.ID)
}

// inboxID names the inbox row of a message; one whose sender waits for the answer has none.
func inboxID(m session.Message) string {
	if m.Instant {
		return ""
	}
	return m.ID
}

// replyTo is what goes into the outbox with the end of a turn; nil if its sender waits for the answer, or gets none.
func (c *Conversations) replyTo(t *session.Turn, text string, err error) *store.Outbox {
	if t.Message.Instant || errors.Is(err, session.ErrOvertaken) {
		return nil
	}
	return &store.Outbox{
		ID: t.Message.ID, Session: t.Session.Key, Adapter: session.Platform(t.Session.Key), Target: t.Message.Target,
		Text: c.o.Outbox.ChatText(t.Session.Key, text, userError(err)), At: time.Now(), Tried: true,
	}
}
