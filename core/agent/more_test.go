package agent

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
)

func TestATurnKeepsTheFurtherToolsThatItBeganWith(t *testing.T) {
	names := []string{"first__tool"}
	var offered [][]string
	answer := func(_ context.Context, n int, req model.Request, _ func(string)) (model.Response, error) {
		var got []string
		for _, s := range req.Tools {
			got = append(got, s.Name)
		}
		offered = append(offered, got)
		if n == 0 {
			return asks(model.ToolCall{ID: "1", Name: "first__tool", Arguments: "{}"}), nil
		}
		return says("done"), nil
	}
	b := newBench(answer, func(c *Config) {
		c.More = func(_ context.Context, session string) (tools []tool.Tool) {
			for _, name := range names {
				tools = append(tools, fakeTool{name, func(context.Context, tool.Call) (string, error) {
					names = []string{"second__tool"}
					return "ran for " + session, nil
				}})
			}
			return tools
		}
	})
	for range 2 {
		if _, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"}); err != nil {
			t.Fatal(err)
		}
	}
	want := [][]string{{"first__tool"}, {"first__tool"}, {"second__tool"}}
	if !slices.EqualFunc(want, offered, slices.Equal) {
		t.Errorf("the model calls had %v, and %v is promised", offered, want)
	}
}

// heldBy records the sessions whose resources are closed.
type heldBy struct {
	log *journal
	err error
}

func (h heldBy) CloseSession(_ context.Context, session string) error {
	h.log.add("held %s", session)
	return h.err
}

func TestS10_WhatASessionHoldsIsClosedAfterTheFlushAndBeforeItsProcesses(t *testing.T) {
	broken := errors.New("broken")
	b := newBench(hang, nil)
	b.cfg.Held = heldBy{b.log, broken}
	if err := b.Close(t.Context()); !errors.Is(err, broken) {
		t.Errorf("the close says %v, and the error of what was held is promised", err)
	}
	did := b.log.all()
	at := func(line string) int { return slices.Index(did, line) }
	if at("flush") < 0 || at("held cli:local") < at("shutdown") || at("kill session cli:local") < at("held cli:local") {
		t.Errorf("the close did %v", did)
	}
}
