package agent

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
)

func TestOP1_TheSameCallOfAToolIsReportedFromTheTenthOn(t *testing.T) {
	ls := fakeTool{"terminal", func(_ context.Context, c tool.Call) (string, error) {
		c.Progress("terminal: " + string(c.Arguments))
		return "done", nil
	}}
	b := newBench(func(_ context.Context, call int, _ model.Request, _ func(string)) (model.Response, error) {
		switch {
		case call > 10:
			return says("ok"), nil
		default:
			return asks(
				model.ToolCall{ID: fmt.Sprint("a", call), Name: "terminal", Arguments: "1"},
				model.ToolCall{ID: fmt.Sprint("b", call), Name: "terminal", Arguments: fmt.Sprint(100 + call)},
			), nil
		}
	}, func(c *Config) { c.MaxIterations = 100 }, ls)
	var got []string
	if _, err := b.turn(t.Context(), Turn{ID: "T", Text: "x", Repeats: func(what string, times int) { got = append(got, fmt.Sprint(what, " ", times)) }}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"terminal: 1 10", "terminal: 1 11"}, got); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	got = nil
	if _, err := b.turn(t.Context(), Turn{ID: "U", Text: "x", Repeats: func(what string, times int) { got = append(got, what) }}); err != nil || got != nil {
		t.Errorf("the next turn reports %v (%v), promised a count of its own", got, err)
	}
}
