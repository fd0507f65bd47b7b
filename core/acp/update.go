package acp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/timeline"
)

// call is a call of one of the program's own tools.
type call struct {
	title string
	kind  sdk.ToolKind
	input any
	// span is the call in the timeline of the turn, which it begins. It is called without the turn's lock.
	span func() *timeline.Span
}

// hear takes an update of the program. The library calls it for one update after the other.
func (t *turn) hear(u sdk.SessionUpdate) {
	select {
	case <-t.over:
		return
	default:
	}
	switch {
	case u.AgentMessageChunk != nil:
		if text := u.AgentMessageChunk.Content.Text; text != nil {
			t.write(text.Text)
		}
	case u.AgentThoughtChunk != nil:
		t.doing(ops.DoingModelCall)
	case u.Plan != nil:
		t.plan(u.Plan.Entries)
	case u.ToolCall != nil:
		c := u.ToolCall
		t.called(c.ToolCallId, &c.Title, &c.Kind, &c.Status, c.RawInput)
	case u.ToolCallUpdate != nil:
		c := u.ToolCallUpdate
		t.called(c.ToolCallId, c.Title, c.Kind, c.Status, c.RawInput)
	case u.UsageUpdate != nil:
		if used, size := u.UsageUpdate.Used, u.UsageUpdate.Size; used >= 0 && size > 0 {
			t.Measured(used, size)
		}
	}
}

// write adds text to the answer, as far as there is room.
func (t *turn) write(text string) {
	if text == "" {
		return
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	t.mu.Lock()
	if t.apart && t.text.Len() > 0 && !strings.HasPrefix(text, "\n") {
		text = "\n\n" + text
	}
	t.apart = false
	if t.cut {
		t.mu.Unlock()
		return
	}
	if room := maxText - t.text.Len(); len(text) > room {
		text, t.cut = strings.ToValidUTF8(text[:room], "")+"\n[the rest of the answer is left out]", true
	}
	t.text.WriteString(text)
	t.mu.Unlock()
	t.Delta(text)
}

// plan shows the step of the program's plan that runs.
func (t *turn) plan(entries []sdk.PlanEntry) {
	for i, e := range entries {
		if e.Status == sdk.PlanEntryStatusInProgress {
			t.doing(fmt.Sprintf("plan %d/%d: %s", i+1, len(entries), term.Clean(e.Content, titleWidth)))
			return
		}
	}
}

// called records a call of a tool, or what has become of it. nil: that has not changed.
func (t *turn) called(id sdk.ToolCallId, title *string, kind *sdk.ToolKind, status *sdk.ToolCallStatus, input any) {
	t.mu.Lock()
	t.apart = true
	c := t.calls[id]
	if c == nil && len(t.calls) >= maxCalls {
		t.mu.Unlock()
		return
	}
	if c == nil {
		c = &call{kind: sdk.ToolKindOther}
		t.calls[id] = c
	}
	c.learn(title, kind, input)
	if name := string(c.kind); c.span == nil {
		c.span = sync.OnceValue(func() *timeline.Span { return t.Span(name) })
	}
	doing, begin, prefix := c.doing(), c.span, string(c.kind)+": "
	t.mu.Unlock()
	span := begin()
	span.Says(strings.TrimPrefix(doing, prefix))
	if status == nil {
		return
	}
	switch *status {
	case sdk.ToolCallStatusCompleted:
		span.End("")
		doing += ": ended"
	case sdk.ToolCallStatusFailed:
		span.End(ops.TimelineFailed)
		doing += ": failed"
	}
	t.doing(doing)
}

// learn takes what is new of a call.
func (c *call) learn(title *string, kind *sdk.ToolKind, input any) {
	if title != nil && *title != "" {
		c.title = *title
	}
	if kind != nil && *kind != "" {
		c.kind = *kind
	}
	if input != nil {
		c.input = input
	}
}

// doing is what the call does, for people.
func (c *call) doing() string {
	text := term.Clean(c.title, titleWidth)
	if command, is := commandOf(c.kind, c.input); is {
		text = term.Clean(command, titleWidth)
	}
	return strings.TrimSuffix(string(c.kind)+": "+text, ": ")
}

// doing reports progress, unless a person is asked: the turn is parked then.
func (t *turn) doing(text string) {
	t.mu.Lock()
	waiting := t.waiting > 0
	t.mu.Unlock()
	if !waiting {
		t.Call.Progress(text)
	}
}

// endCalls ends what the timeline still shows of the turn's calls.
func (t *turn) endCalls() {
	t.mu.Lock()
	calls := slices.Collect(maps.Values(t.calls))
	t.mu.Unlock()
	for _, c := range calls {
		c.span().End(ops.TimelineInterrupted)
	}
}

// parks records that a request begins to wait for a person; the result records that it does no more.
func (t *turn) parks() (done func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting++; t.waiting == 1 {
		t.since = time.Now()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			t.waited += time.Since(t.since)
		}
	}
}
