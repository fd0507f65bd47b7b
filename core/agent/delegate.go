package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/process"
	"gatewaytui/core/term"
	"gatewaytui/core/tool"
)

const (
	// maxDepth is how deep delegation goes. A child may have children if it was given delegate by name; they may have
	// none.
	maxDepth = 2
	// childCloseTimeout bounds the close of a child beyond the grace of its processes.
	childCloseTimeout = 3 * time.Second
	// delegateName is the tool that a child gets only if it is named.
	delegateName = "delegate"
)

// childSystem follows the parent's system prompt for a child.
const childSystem = "You work for another agent. Do what its message asks, and make your last message the result: it is all that the other agent sees. You cannot ask it questions. Everything that you start, background processes included, ends when you are done."

// siblings are the children of one call of delegate. They work side by side, and share what belongs to the turn of their parent.
type siblings struct {
	run *run
	// alone means that there is one child, whose progress has no number.
	alone bool

	mu   sync.Mutex // guards what follows
	used model.Usage
}

// Delegate implements tool.Delegator for the running turn. At most Config.Delegates children work at the same time (HR10). A child has its
// own model client, transcript and turn id (the parent's with a number). Its processes belong to the parent's session and to
// that turn id, so that they are in the one registry (C14), and closing the child ends them and none of its parent's. It is
// closed, within a bound, in every outcome, and is then no longer among the parent's children (S13). A child that fails ends none of
// the others.
func (r *run) Delegate(ctx context.Context, tasks []tool.Task) []tool.Outcome {
	outcomes := make([]tool.Outcome, len(tasks))
	s := &siblings{run: r, alone: len(tasks) == 1}
	first := r.delegated + 1
	r.delegated += len(tasks)
	queue := make(chan int, len(tasks))
	for i := range tasks {
		queue <- i
	}
	close(queue)
	var workers sync.WaitGroup
	for range min(len(tasks), max(r.a.cfg.Delegates, 1)) {
		workers.Go(func() {
			for i := range queue {
				outcomes[i].Text, outcomes[i].Err = s.work(ctx, first+i, tasks[i])
			}
		})
	}
	workers.Wait() // the children end with ctx, and their closes are bounded
	r.res.Usage.Add(s.used)
	return outcomes
}

// work runs the child with a number from its beginning to its close.
func (s *siblings) work(ctx context.Context, number int, task tool.Task) (text string, err error) {
	r, a := s.run, s.run.a
	turn := fmt.Sprintf("%s/%d", r.turn.ID, number)
	defer func() {
		if p := recover(); p != nil {
			a.log.Error("child agent panicked", "session", a.cfg.Session, "turn", turn, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			text, err = "", fmt.Errorf("the child agent failed: panic: %v", p)
		}
	}()
	if ctx.Err() != nil {
		return "", errors.New("the turn ended before this task began; nothing of it was done")
	}
	if r.turn.Calls.spent() {
		return "", errCallsSpent
	}
	set, err := a.childTools(task.Tools)
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	child := a.newChild(turn, set, stop)
	defer func() {
		// The child must be closed above all when the turn was interrupted, so not within its context.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.KillGrace+childCloseTimeout)
		defer cancel()
		if err := child.Close(ctx); err != nil {
			// The parent's model has its answer anyway; surviving processes stay in the process rows.
			a.log.Warn("child agent not closed cleanly", "session", a.cfg.Session, "turn", turn, "error", err)
		}
		a.disown(child)
	}()
	if err := a.adopt(child); err != nil {
		return "", err
	}
	spending := r.turn.Spending.Fork()
	defer spending.Done()
	t := s.turn(child, turn, task)
	t.Spending = spending
	res, err := child.Run(ctx, t)
	s.mu.Lock()
	s.used.Add(res.Usage)
	s.mu.Unlock()
	if err != nil {
		return "", child.failed(ctx, err)
	}
	if res.Over {
		return "", &tool.OverError{Text: res.Text}
	}
	return res.Text + child.unread(), nil
}

// turn is the turn of a child.
func (s *siblings) turn(child *Agent, id string, task tool.Task) Turn {
	r, text, name := s.run, task.Goal, delegateName
	if strings.TrimSpace(task.Context) != "" {
		text += "\n\nContext:\n" + task.Context
	}
	if !s.alone {
		_, number, _ := strings.Cut(strings.TrimPrefix(id, r.turn.ID), "/")
		name += " " + number
	}
	return Turn{
		ID: id, Text: text, Person: r.turn.Person, Role: r.turn.Role, NoTools: r.turn.NoTools, Unattended: r.turn.Unattended, Calls: r.turn.Calls, Line: r.turn.Line,
		System:    strings.TrimSpace(r.turn.System + "\n\n" + childSystem),
		Steer:     child.takeTold,
		Waiting:   r.turn.Waiting,
		Repeats:   r.turn.Repeats,
		Signalled: r.turn.Signalled,
		Progress: func(doing string) {
			child.doing.Store(&doing)
			r.progress(name + ": " + doing)
		},
	}
}

// failed is what a parent's model gets of a child whose run ended with err.
func (a *Agent) failed(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrChildInterrupted) {
		return errors.New("an operator interrupted this child agent; what it did until then may have taken effect")
	}
	if failed, ok := errors.AsType[*model.Error](err); ok {
		// The result goes to the parent's model and from there into the chat: the details are for the log.
		a.log.Warn("model call of a child agent failed", "session", a.cfg.Session, "turn", a.turn, "error", term.Clean(err.Error(), 600))
		return fmt.Errorf("the child agent ended without a result: %s", failed.Brief())
	}
	return fmt.Errorf("the child agent ended without a result: %w", err)
}

// childTools is the tools of a child that was given the named ones.
func (a *Agent) childTools(names []string) (*tool.Set, error) {
	if a.depth >= maxDepth {
		return nil, fmt.Errorf("delegation goes %d levels deep, and this agent is at the last", maxDepth)
	}
	if names == nil {
		return a.tools.Without(delegateName), nil
	}
	if a.depth+1 >= maxDepth && slices.Contains(names, delegateName) {
		return nil, fmt.Errorf("delegation goes %d levels deep: this child cannot delegate", maxDepth)
	}
	return a.tools.Subset(names)
}

// newChild is a child agent for one turn of its parent. It owns nothing of the session: neither the memory nor the other
// processes. stop ends its run.
func (a *Agent) newChild(turn string, tools *tool.Set, stop context.CancelCauseFunc) *Agent {
	cfg := a.cfg
	cfg.Tools, cfg.More, cfg.Held, cfg.Memory = tools, nil, nil, nil
	child := New(cfg)
	child.depth = a.depth + 1
	child.script = a.cfg.Session + "/" + turn
	child.turn, child.stop, child.made = turn, stop, time.Now()
	child.kill = func(ctx context.Context, grace time.Duration) process.Report {
		return cfg.Processes.KillTurn(ctx, turn, grace)
	}
	return child
}

// adopt lists a child, unless the agent is closing: that close would miss it.
func (a *Agent) adopt(child *Agent) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over() {
		return ErrClosed
	}
	a.children = append(a.children, child)
	return nil
}

func (a *Agent) disown(child *Agent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.children = slices.DeleteFunc(a.children, func(c *Agent) bool { return c == child })
}

var _ tool.Delegator = (*run)(nil)
