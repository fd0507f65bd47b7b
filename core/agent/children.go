package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// ErrChildInterrupted is the cause of the end of a child's turn that an operator interrupted. Its parent goes on.
var ErrChildInterrupted = errors.New("interrupted by an operator")

// child is what a child agent has besides what every agent has.
type child struct {
	// turn is the id of its turn, stop ends the turn.
	turn string
	stop context.CancelCauseFunc
	made time.Time
	// doing is its current activity; nil: none was reported.
	doing atomic.Pointer[string]

	// Agent.mu guards what follows.

	// told is what operators wrote to it and its model has not read yet; deaf means that it reads nothing more.
	told []string
	deaf bool
}

// number names a child within the turn of the session: "2", or "1/2" for the second child of the first.
func (c *child) number() string {
	_, number, _ := strings.Cut(c.turn, "/")
	return number
}

// find is the child with a number, among a's and theirs; nil for none.
func (a *Agent) find(number string) *Agent {
	a.mu.Lock()
	children := slices.Clone(a.children)
	a.mu.Unlock()
	for _, c := range children {
		if c.number() == number {
			return c
		}
		if found := c.find(number); found != nil {
			return found
		}
	}
	return nil
}

// InterruptChild ends the turn of the child agent with a number, as in Row, and of its own children. Its parent goes on, and its model reads
// that the child was interrupted. It reports false if there is no such child.
func (a *Agent) InterruptChild(number string) bool {
	c := a.find(number)
	if c == nil {
		return false
	}
	c.stop(ErrChildInterrupted)
	return true
}

// TellChild gives text to the child agent with a number: its model reads it after the child's next step. What comes too late for that
// is given to the parent's model. It reports false if there is no such child.
func (a *Agent) TellChild(number, text string) bool {
	c := a.find(number)
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf || c.over() {
		return false
	}
	c.told = append(c.told, text)
	return true
}

// takeTold implements Turn.Steer for a child.
func (a *Agent) takeTold(context.Context) (messages []model.Message, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, text := range a.told {
		messages = append(messages, model.Message{Role: model.RoleUser, Content: text})
	}
	a.told = nil
	return messages, nil
}

// unread is what came too late for a child, for the parent's model. From then on the child takes nothing more.
func (a *Agent) unread() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deaf = true
	if len(a.told) == 0 {
		return ""
	}
	return "\n\n[An operator wrote this to the child agent when it had ended, so it did not read it: " + strings.Join(a.told, "\n") + "]"
}

// childRows are the children of a and theirs as an operator sees them, in the order of their numbers.
func (a *Agent) childRows() []ops.Child {
	a.mu.Lock()
	children := slices.Clone(a.children)
	a.mu.Unlock()
	slices.SortStableFunc(children, func(a, b *Agent) int {
		return cmp.Or(cmp.Compare(len(a.turn), len(b.turn)), cmp.Compare(a.turn, b.turn))
	})
	rows := make([]ops.Child, 0, len(children))
	for _, c := range children {
		own := c.Row()
		row := ops.Child{ID: c.number(), Turn: c.turn, Model: own.Model, State: own.State, Messages: own.Messages, StartedAt: ops.At(c.made)}
		if doing := c.doing.Load(); doing != nil {
			row.Doing = *doing
		}
		rows = append(append(rows, row), own.Delegates...)
	}
	return rows
}
