package agent

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
)

// HF5: one message cost 10,860 model calls, because each agent had a bound of its own alone.
func TestHF5_AMessageThatDelegatesWithoutEndMakesExactlyTheConfiguredCalls(t *testing.T) {
	for _, most := range []int{1, 2, 7, 61, 200} {
		var made, reached atomic.Int64
		b := newBench(func(context.Context, int, model.Request, func(string)) (model.Response, error) {
			made.Add(1)
			deeper := model.ToolCall{ID: "d", Name: "delegate", Arguments: `{"goal":"x","tools":["delegate"]}`}
			return asks(deeper, deeper, deeper), nil
		}, nil, tool.Delegate{})
		b.cfg.MaxIterations = 1000
		calls := NewCalls(most, func() { reached.Add(1) })
		res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go", Calls: calls})
		if err != nil || made.Load() != int64(most) || calls.Used() != most {
			t.Errorf("with a bound of %d the message made %d calls, counted %d: %v", most, made.Load(), calls.Used(), err)
		}
		if !strings.Contains(res.Text, "limits.calls_per_turn") || !strings.Contains(res.Text, "without finishing") || len(res.Last) != 1 {
			t.Errorf("the answer is %q, with %d last messages; want one that names the bound", res.Text, len(res.Last))
		}
		if reached.Load() != 1 {
			t.Errorf("the bound was reported %d times, want once", reached.Load())
		}
		if childrenOf(b.Agent) != 0 || b.models.open() != 1 {
			t.Errorf("%d children and %d open clients are left, want the parent's client alone", childrenOf(b.Agent), b.models.open())
		}
	}
}

func TestATurnThatEndsWithItsLastCallIsAnsweredByTheModel(t *testing.T) {
	var got string
	reached := false
	b := newBench(family(`{"goal":"find it"}`, &got, always(says("42"))), nil, tool.Delegate{})
	calls := NewCalls(3, func() { reached = true }) // the parent's two and the child's one
	res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go", Calls: calls})
	if err != nil || res.Text != "parent done" || got != "42" || reached || calls.Used() != calls.Most() {
		t.Errorf("answered %q (%v), the parent got %q, %d calls, reached %v", res.Text, err, got, calls.Used(), reached)
	}
}

func TestAChildThatUsesUpTheBudgetTellsItsParentSo(t *testing.T) {
	var got string
	b := newBench(family(`{"goal":"find it"}`, &got, func(context.Context, int, model.Request, func(string)) (model.Response, error) {
		return asks(model.ToolCall{ID: "n", Name: "nothing"}), nil
	}), nil, tool.Delegate{})
	b.cfg.MaxIterations = 1000
	res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go", Calls: NewCalls(5, nil)})
	if err != nil || !strings.Contains(res.Text, "limits.calls_per_turn") {
		t.Errorf("answered %q (%v)", res.Text, err)
	}
	last := b.messages[len(b.messages)-2] // before the answer: what the tool returned to the parent
	if last.Role != model.RoleTool || !strings.Contains(last.Content, "limits.calls_per_turn") {
		t.Errorf("the parent's last tool result is %+v, want the child's word about the bound", last)
	}
}
