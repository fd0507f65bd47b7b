package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"gatewaytui/core/budget"
	"gatewaytui/core/limit"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/timeline"
	"gatewaytui/core/window"
)

const (
	// progressEvery is the shortest time between two reports of progress for streamed text.
	progressEvery = 250 * time.Millisecond
	// doingWidth is the room for the display of a turn's activity, in cells.
	doingWidth = 120
	// reapSlack is how long the end of a turn's processes may take beyond the grace.
	reapSlack = time.Second
)

// Turn is one turn to run. Its functions may be nil. They are called on the goroutines of Run, of tools and of child agents, by several at
// once. They do not block unless they say so, and are not called any more once the context has ended.
type Turn struct {
	// ID is the turn's identity: every write carries it.
	ID string
	// Text is the user's message. The gateway has stored it before Run.
	Text string
	// First means that the conversation had no message before this turn.
	First bool
	// System is the system prompt; empty sends none.
	System string
	// Person wrote Text; empty: the platform names no one. Unattended means that no step may wait for a person.
	Person     string
	Unattended bool
	// Note is a message of the gateway to the model for this turn only, for instance about an interrupted turn before it.
	Note string
	// Input is what a client of the API sent in addition to Text: its history, functions, pictures and parameters.
	Input model.Input
	// Calls is the turn's budget of model calls, its children's included; nil: only Config.MaxIterations bounds it.
	Calls *Calls
	// Spending is what the turn and its children may spend; nil: nothing is counted.
	Spending *budget.Turn
	// Line records the calls of the turn and of its children; nil: nothing does.
	Line *timeline.Line
	// Delta gets the text of the answer as it arrives.
	Delta func(text string)
	// Progress is called only when the model or a tool made progress (D13), with the current activity.
	Progress func(doing string)
	// Waiting is called when a model call must wait for a slot of Config.Slots. The next Progress means that it has one.
	Waiting func()
	// Steer returns what the user wrote since the turn began, which is durable then; it is called before each model call but the first.
	// Its errors are those of Memory.Append. It may wait for the disk.
	Steer func(ctx context.Context) ([]model.Message, error)
	// Role is what the sender may do (TR1).
	Role ops.Role
	// NoTools means that its sender may not use tools: the model is offered none of the agent's own, and a call of one is refused.
	NoTools bool
	// Compact makes the turn compact the conversation instead of answering: Text is what the summary must not leave out.
	Compact bool
	// Compacted is called when the conversation was compacted, Measured when it is known how many tokens of the model's context it
	// uses.
	Compacted func(c Compacted)
	Measured  func(used, window int)
	// Repeats is called before each call of a tool that the agent has made before in this turn, with the same arguments, once there
	// are repeatsFrom of them: what is called, and how many times with this one.
	Repeats func(what string, times int)
	// Signalled is called when a foreign signal ended a command of the turn, or of a child. It returns why the turn ends
	// with the command, or nil if the turn continues. It may take a moment.
	Signalled func(ctx context.Context) error
}

// Result is the outcome of a turn. With an error of Run it has what was done until then.
type Result struct {
	// Text is the answer for the user; empty with an error.
	Text string
	// Last is the final messages, which the gateway makes durable together with the turn's end: the answer, or the known
	// part of the interrupted step.
	Last []model.Message
	// Model is the name of the model that answered last; empty: none did.
	Model string
	// Usage is the usage of the turn's model calls, those of its children included.
	Usage model.Usage
	// Iterations is how many model calls the turn made.
	Iterations int
	// ToolsRan means that a tool was called, so that there may be processes.
	ToolsRan bool
	// Finish is why the answer is incomplete; empty: it is complete.
	Finish model.Finish
	// Over means that a tool ended the turn, with Text as its answer.
	Over bool
	// Calls are the calls of the client's own functions, which the client must run: the answer asks for them.
	Calls []model.ToolCall
}

// run is a running turn. It belongs to Run's goroutine.
type run struct {
	a    *Agent
	turn Turn
	ctx  context.Context
	res  Result
	// delegated counts the children, for their names. toolsRan means that there may be processes to end.
	delegated int
	toolsRan  bool
	// extra counts the calls that were made so that the conversation fits; retried means that one was made again for that.
	extra   int
	retried bool
	// repeats are the calls of tools of the turn, by a hash of name and arguments.
	repeats map[uint64]*repeat
	// over is the answer for the user when a tool ended the turn; else empty.
	over string
	// compacting is the compaction under way, for the timeline; nil: there is none.
	compacting *timeline.Span
}

// Run runs one turn to its end. When ctx ends, the model call and the tools end, and Run returns ctx's cause. Only a
// model client or a memory that ignores its context delays it, and even then it writes nothing and calls no function of
// the turn any more. Run ends what the turn's foreground commands left running before it returns.
//
// Other errors: ErrBusy, ErrClosed, ErrStale (the turn had ended before Run noticed), and those of model or memory.
func (a *Agent) Run(ctx context.Context, t Turn) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := a.begin(cancel); err != nil {
		return Result{}, fmt.Errorf("run turn %s of %s: %w", t.ID, a.cfg.Session, err)
	}
	defer a.end()
	r := &run{a: a, turn: t, ctx: ctx}
	err := r.guarded()
	a.forgetImages()
	if r.res.ToolsRan = r.toolsRan; r.toolsRan {
		r.reap()
	}
	return r.res, err
}

func (a *Agent) begin(cancel context.CancelCauseFunc) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over() {
		return ErrClosed
	}
	if a.cancel != nil {
		return ErrBusy
	}
	a.cancel = cancel
	return nil
}

func (a *Agent) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancel = nil
	a.usedAt = time.Now()
}

// add appends messages to the transcript in memory, if it is loaded.
func (a *Agent) add(messages ...model.Message) {
	if !a.loaded {
		return
	}
	a.messages = append(a.messages, messages...)
	a.bytes.Add(transcriptBytes(messages))
	a.tokens += window.Messages(messages)
	a.count.Add(int64(len(messages)))
}

// forget drops the transcript in memory: the next turn loads what is durable.
func (a *Agent) forget() {
	a.loaded, a.upto, a.prunedTo = false, 0, 0
	a.take(window.Past{})
}

// guarded is the loop with a panic of a model client or a memory turned into the turn's error.
func (r *run) guarded() (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.a.log.Error("turn panicked", "session", r.a.cfg.Session, "turn", r.turn.ID, "panic", fmt.Sprint(p),
				"stack", string(debug.Stack()))
			r.a.forget()
			r.res.Text, r.res.Last = "", nil
			err = fmt.Errorf("the turn failed: panic: %v", p)
		}
	}()
	r.a.tools = r.a.cfg.Tools
	if r.a.cfg.More != nil && !r.turn.NoTools && !r.turn.Compact {
		r.a.tools = r.a.tools.With(r.a.cfg.More(r.ctx, r.a.cfg.Session)...)
	}
	changed := r.a.stale.Load()
	if err := r.load(); err != nil {
		return err
	}
	if r.a.external != nil {
		return r.external(changed)
	}
	if r.turn.Compact {
		return r.compactNow()
	}
	return r.loop()
}

// load makes the transcript end with the turn's message.
func (r *run) load() error {
	a := r.a
	own := r.message()
	if a.stale.Swap(false) {
		a.forget()
	}
	if r.turn.Input.Given {
		a.forget()
		a.loaded = true
		a.add(repaired(slices.Concat(r.turn.Input.History, own))...)
		return nil
	}
	if a.loaded {
		if n := len(a.messages); n > 0 && len(a.messages[n-1].ToolCalls) > 0 { // calls of the client's functions
			own = repaired(append([]model.Message{a.messages[n-1]}, own...))[1:]
		}
		a.add(own...)
		return nil
	}
	kept, err := a.read(r.ctx, r.turn.First)
	if cause := context.Cause(r.ctx); cause != nil {
		return cause
	}
	if err != nil {
		return fmt.Errorf("load the transcript of %s: %w", a.cfg.Session, err)
	}
	// The turn's message is durable already, so a transcript that was just loaded ends with it.
	messages := kept.Messages
	if before := len(messages) - len(own); before >= 0 && slices.EqualFunc(messages[before:], own, sameMessage) {
		for i := range own {
			own[i].Seq = messages[before+i].Seq
		}
		messages = messages[:before]
	}
	a.loaded = true
	a.keep(kept, repaired(append(messages, own...)))
	return nil
}

// message is what the turn adds to the transcript: the user's message, or the results of the client's functions.
func (r *run) message() []model.Message {
	if r.turn.Compact {
		return nil
	}
	if in := r.turn.Input; len(in.Results) == 0 {
		return []model.Message{{Role: model.RoleUser, Content: r.turn.Text, Images: in.Images}}
	}
	return slices.Clone(r.turn.Input.Results)
}

// sameMessage compares a message with its durable form, which has no pictures.
func sameMessage(durable, m model.Message) bool {
	return durable.Role == m.Role && durable.Content == m.Content && durable.ToolCallID == m.ToolCallID
}

func (r *run) loop() error {
	a := r.a
	for r.res.Iterations < a.cfg.MaxIterations {
		if !r.turn.Calls.take() {
			return r.stop(stopped("this turn, together with the child agents that it delegated to,", r.turn.Calls.Most(), limit.CallsPerTurn))
		}
		if err := r.steer(); err != nil {
			return err
		}
		if err := r.fit(); err != nil {
			return err
		}
		r.progress(ops.DoingModelCall)
		message, err := r.complete()
		if err != nil {
			again, failed := r.tooLong(err)
			if failed != nil {
				return failed
			}
			if again {
				message, err = r.complete()
			}
		}
		if refusal := r.refused(err); refusal != nil {
			return r.stop(overBudget(refusal))
		}
		if err != nil {
			return err
		}
		message, calls := asked(message, r.turn.ID, r.res.Iterations)
		if len(calls) == 0 {
			return r.answer(message)
		}
		if len(r.clients(calls)) == len(calls) {
			r.res.Calls, r.res.Finish = message.ToolCalls, model.FinishToolCalls
			return r.answer(message)
		}
		if err := r.append(message); err != nil {
			return err
		}
		if err := r.call(calls); err != nil {
			return err
		}
		if r.over != "" {
			r.res.Over = true
			return r.stop(r.over)
		}
	}
	return r.stop(stopped("this turn", a.cfg.MaxIterations, "agent.max_iterations"))
}

// clients are those of calls that are of the client's own functions.
func (r *run) clients(calls []model.ToolCall) []model.ToolCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c model.ToolCall) bool { return !r.isClients(c.Name) })
}

// isClients reports whether the tool of this name is a function of the client.
func (r *run) isClients(name string) bool {
	return slices.ContainsFunc(r.turn.Input.Tools, func(s model.ToolSpec) bool { return s.Name == name })
}

// stop ends the turn with the gateway's message about a bound.
func (r *run) stop(text string) error {
	r.res.Finish = ""
	return r.answer(model.Message{Role: model.RoleAssistant, Content: text})
}

// answer ends the turn with the model's last message.
func (r *run) answer(m model.Message) error {
	r.a.add(m)
	r.res.Text, r.res.Last = m.Content, []model.Message{m}
	return nil
}

// progress reports progress to the turn's owner. A tool's description of its activity has text of models and users.
func (r *run) progress(doing string) {
	if r.turn.Progress == nil || r.ctx.Err() != nil {
		return
	}
	r.turn.Progress(term.Clean(term.Redact(doing), doingWidth))
}

// reap ends what the turn's foreground commands left running, because it belongs to the turn. Background jobs belong to
// the session and continue.
func (r *run) reap() {
	grace := r.a.cfg.KillGrace
	// The turn's context may have ended; its processes must be ended exactly then.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), grace+reapSlack)
	defer cancel()
	r.a.cfg.Processes.KillTurn(ctx, r.turn.ID, grace) // logs its survivors, and they stay in the process rows
}
