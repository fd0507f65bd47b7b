// Package review is the agent that reads what was said in a conversation and finds what is worth a note (HR6).
//
// What it promises: the agent has no tools, so that text of a conversation can make it do nothing: what it finds are texts, and only
// package memory saves them. It is closed in every outcome, and nothing of it is left (S14). Its calls are on a bill of their own, with the
// agent "review". No two reviews of a conversation run at once. One that fails is in the log, and its part of the
// conversation is read again. A stop ends a review at once; the next life reads what it did not.
//
// review.go has the agent, words.go what it is asked and how its answer is read, turns.go when it runs.
package review

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gatewaytui/core/agent"
	"gatewaytui/core/budget"
	"gatewaytui/core/memory"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/tool"
	"gatewaytui/core/window"
)

// Label is the agent by which usage is counted.
const Label = "review"

// leastTime is the least time in which an agent reads something. With less, such as at the end of a conversation, a task of its own does, so
// that no person waits for it.
const leastTime = 15 * time.Second

// closeBound is how long the close of the agent may take.
const closeBound = 3 * time.Second

// errStops is the cause of the end of a review that a stop ended.
var errStops = errors.New("the gateway stops")

// Tasks runs tracked background work, whose owner waits for it. *background.Group is one.
type Tasks interface {
	// StartUpTo starts a task unless most tasks with this name run in the session already; running is how many.
	StartUpTo(ctx context.Context, most int, name, session string, run func(context.Context)) (started bool, running int)
}

// Options are what a Reviewer needs.
type Options struct {
	// Base is the config of an agent that reviews the conversations of a session, and the name of the budget that it spends. Without models the rule of package
	// memory stands in for it.
	Base func(key string) (cfg agent.Config, budget string)
	// Every is after how many turns of a conversation a review runs; 0: never.
	Every func() int
	// Flush gives the memory what it has not had of a conversation, and with that calls Extract. See memory.Memory.Flush.
	Flush func(ctx context.Context, conversation string) error
	// Budget counts what the agent spends; nil: nothing does.
	Budget *budget.Ledger
	Tasks  Tasks
	Log    *slog.Logger
	NewID  func() string
	// Stopping is closed when the gateway begins to stop.
	Stopping <-chan struct{}
}

// Reviewer reviews conversations. Its methods may be called from any goroutine.
type Reviewer struct {
	o Options

	mu sync.Mutex // guards what follows
	// turns are those since the last review, by conversation.
	turns map[string]int
}

// New returns a reviewer. It does no I/O.
func New(o Options) *Reviewer { return &Reviewer{o: o, turns: map[string]int{}} }

// Extract implements memory.Extractor. The agent lives for this call.
func (r *Reviewer) Extract(ctx context.Context, m memory.Material, known []memory.Note) (found []string, err error) {
	cfg, name := r.o.Base(m.Key)
	if cfg.Models == nil {
		return memory.Rule.Extract(ctx, m, known)
	}
	if deadline, bounded := ctx.Deadline(); bounded && time.Until(deadline) < leastTime {
		r.begin(context.WithoutCancel(ctx), mostLate, m.Key, m.Conversation)
		return nil, memory.ErrLater
	}
	ctx, release := r.untilStop(ctx)
	defer release()
	if context.Cause(ctx) == errStops {
		return nil, memory.ErrLater
	}
	spending, err := r.spend(ctx, m, name)
	if err != nil {
		return nil, err
	}
	id := Label + "-" + r.o.NewID()
	a := agent.New(private(cfg, m))
	defer func() {
		// It must be closed above all when its context has ended.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeBound)
		defer cancel()
		if failed := errors.Join(a.Close(ctx), spending.Close(ctx)); failed != nil {
			r.o.Log.Warn("review not closed cleanly", "event", ops.LogMemory, "session", m.Key, "error", term.Clean(failed.Error(), 300))
		}
	}()
	res, err := a.Run(ctx, agent.Turn{
		ID: id, First: true, System: instructions, Text: material(m, known, room(cfg.Models)), NoTools: true, Unattended: true, Calls: agent.NewCalls(1, nil), Spending: spending,
	})
	switch {
	case context.Cause(ctx) == errStops:
		return nil, memory.ErrLater
	case err != nil:
		if failed, is := errors.AsType[*model.Error](err); is {
			return nil, errors.New("the model of the review failed: " + failed.Brief())
		}
		return nil, fmt.Errorf("review: %w", err)
	}
	return read(res.Text)
}

// private is the config of an agent that has nothing of the session whose conversation it reads.
func private(cfg agent.Config, m memory.Material) agent.Config {
	cfg.Session, cfg.Conversation = Label+":"+m.Conversation, ""
	cfg.Memory, cfg.Environments, cfg.Held, cfg.More, cfg.Summariser = nil, nil, nil, nil, nil
	cfg.Tools, cfg.MaxIterations, cfg.Delegates, cfg.Passing = tool.NewSet(0), 1, 0, true
	return cfg
}

// spend begins the bill of a review; nil: nothing counts.
func (r *Reviewer) spend(ctx context.Context, m memory.Material, name string) (*budget.Turn, error) {
	if r.o.Budget == nil {
		return nil, nil
	}
	who := budget.Who{Turn: Label + "-" + r.o.NewID(), Session: m.Conversation, Budget: name, Agent: Label, Key: m.Key}
	if len(m.People) == 1 {
		who.Person = m.People[0]
	}
	t, err := r.o.Budget.Begin(ctx, who)
	if err != nil {
		return nil, fmt.Errorf("read what budget %s has left: %w", name, err)
	}
	return t, nil
}

// untilStop is ctx that ends when the gateway begins to stop. release waits for what watches that.
func (r *Reviewer) untilStop(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	select {
	case <-r.o.Stopping:
		cancel(errStops)
	default:
	}
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-r.o.Stopping:
			cancel(errStops)
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel(nil)
		watch.Wait()
	}
}

// room is how many bytes of a conversation a model gets.
func room(models model.Provider) int {
	tokens := models.Window()
	if tokens == 0 {
		tokens = window.Fallback
	}
	return min(max(tokens, 4000), 128<<10) // a token is two bytes or more, and half of the window stays free
}
