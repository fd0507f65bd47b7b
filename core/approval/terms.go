package approval

import (
	"context"
	"time"

	"gatewaytui/core/fence"
	"gatewaytui/core/tool"
)

// Terms are what a config says of approvals. They never change: a reload makes others.
type Terms struct {
	expire, always time.Duration
	fences         map[fence.Environment]*fence.Fence
	mode           func(agent string) Mode
}

// NewTerms are the terms by which a request waits for expire and the answer "always" holds for always. judge makes the fence of the
// commands that run in an environment, and mode is that of the agent definition with a name.
func NewTerms(expire, always time.Duration, judge func(fence.Environment) *fence.Fence, mode func(agent string) Mode) *Terms {
	t := &Terms{expire: expire, always: always, fences: map[fence.Environment]*fence.Fence{}, mode: mode}
	for _, e := range fence.Environments() {
		t.fences[e] = judge(e)
	}
	return t
}

// Use puts other terms in force. Requests that wait, and tools with a gate of earlier terms, keep theirs.
func (b *Book) Use(t *Terms) { b.terms.Store(t) }

// Gate is a gate that keeps its terms: turns that began with a config are judged by it to their end (OP4).
func (b *Book) Gate(t *Terms) tool.Gate { return gate{b, t} }

// gate is a Book with terms of its own.
type gate struct {
	b *Book
	t *Terms
}

// Pass implements tool.Gate.
func (g gate) Pass(ctx context.Context, call tool.Call, step tool.Step) error {
	return g.b.pass(ctx, g.t, call, step)
}
