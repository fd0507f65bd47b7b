package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
const childSystem = "You work for another agent. Do what its message asks, and make your last message the result: it is all that the other agent sees. You cannot ask questions. Everything that you start, background processes included, ends when you are done."

// Delegate implements tool.Delegator for the running turn. The child has its own model client, transcript and turn id
// (the parent's with a number). Its processes belong to the parent's session and to that turn id, so that they are in the
// one registry (C14), and closing the child ends them and none of its parent's. It is closed, within a bound, in every
// outcome, and is then no longer among the parent's children (S13).
func (r *run) Delegate(ctx context.Context, goal, background string, tools []string) (string, error) {
	a := r.a
	if r.turn.Calls.spent() {
		return "", errCallsSpent
	}
	set, err := a.childTools(tools)
	if err != nil {
		return "", err
	}
	r.delegated++
	turn := fmt.Sprintf("%s/%d", r.turn.ID, r.delegated)
	child := a.newChild(turn, set)
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
	text := goal
	if strings.TrimSpace(background) != "" {
		text += "\n\nContext:\n" + background
	}
	res, err := child.Run(ctx, Turn{
		ID: turn, Text: text, Person: r.turn.Person, Role: r.turn.Role, NoTools: r.turn.NoTools, Unattended: r.turn.Unattended, Calls: r.turn.Calls, Spending: r.turn.Spending, Line: r.turn.Line, System: strings.TrimSpace(r.turn.System + "\n\n" + childSystem),
		Progress:  func(doing string) { r.progress(delegateName + ": " + doing) },
		Waiting:   r.turn.Waiting,
		Repeats:   r.turn.Repeats,
		Signalled: r.turn.Signalled,
	})
	r.res.Usage.Add(res.Usage)
	if failed, ok := errors.AsType[*model.Error](err); ok {
		// The result goes to the parent's model and from there into the chat: the details are for the log.
		a.log.Warn("model call of a child agent failed", "session", a.cfg.Session, "turn", turn, "error", term.Clean(err.Error(), 600))
		return "", fmt.Errorf("the child agent ended without a result: %s", failed.Brief())
	}
	if err != nil {
		return "", fmt.Errorf("the child agent ended without a result: %w", err)
	}
	if res.Over {
		return "", &tool.OverError{Text: res.Text}
	}
	return res.Text, nil
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
// processes.
func (a *Agent) newChild(turn string, tools *tool.Set) *Agent {
	cfg := a.cfg
	cfg.Tools, cfg.More, cfg.Held, cfg.Memory = tools, nil, nil, nil
	child := New(cfg)
	child.depth = a.depth + 1
	child.script = a.cfg.Session + "/" + turn
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
