package agent

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
)

func delegates(id, arguments string) model.Response {
	return asks(model.ToolCall{ID: id, Name: "delegate", Arguments: arguments})
}

// family is a play for a parent that delegates once, stores in got what it received, and a child that plays child.
func family(arguments string, got *string, child play) play {
	return func(ctx context.Context, call int, req model.Request, delta func(string)) (model.Response, error) {
		if req.Session != "cli:local" {
			return child(ctx, call, req, delta)
		}
		if call == 0 {
			return delegates("d", arguments), nil
		}
		*got = req.Messages[len(req.Messages)-1].Content
		return says("parent done"), nil
	}
}

func TestS13_AChildIsClosedAndUnlistedInEveryOutcome(t *testing.T) {
	for _, tt := range []struct {
		name  string
		child play
		want  string
	}{
		{"it answers", always(says("42")), "42"},
		{"its run fails", func(context.Context, int, model.Request, func(string)) (model.Response, error) {
			return model.Response{}, errors.New("endpoint gone")
		}, `{"error":"the child agent ended without a result: model call: endpoint gone"}`},
		{"its run panics", func(context.Context, int, model.Request, func(string)) (model.Response, error) {
			panic("no endpoint")
		}, `{"error":"the child agent ended without a result: the turn failed: panic: no endpoint"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			b := newBench(family(`{"goal":"find it","context":"here"}`, &got, tt.child), nil, tool.Delegate{})
			res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"})
			if err != nil || res.Text != "parent done" {
				t.Fatalf("parent: %q, %v", res.Text, err)
			}
			if got != tt.want {
				t.Errorf("the parent got %q, want %q", got, tt.want)
			}
			if childrenOf(b.Agent) != 0 || b.models.open() != 1 {
				t.Errorf("%d children and %d open clients, want none and the parent's own", childrenOf(b.Agent), b.models.open())
			}
			if got := b.log.all(); !slices.Contains(got, "kill turn T/1") || slices.Contains(got, "kill session cli:local") {
				t.Errorf("did %q; a child ends what it started, and nothing else of its session", got)
			}
		})
	}
}

func TestS13_AnInterruptedChildIsClosedAndUnlisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got string
		b := newBench(family(`{"goal":"wait"}`, &got, hang), nil, tool.Delegate{})
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, err := b.turn(ctx, Turn{ID: "T", Text: "go"})
			done <- err
		}()
		synctest.Wait()
		if row := b.Row(); row.Children != 1 || !row.Busy {
			t.Errorf("while it delegates: %+v", row)
		}
		cancel(errStopped)
		if err := <-done; err != errStopped {
			t.Errorf("ended with %v", err)
		}
		if childrenOf(b.Agent) != 0 || b.models.open() != 1 || !slices.Contains(b.log.all(), "kill turn T/1") {
			t.Errorf("%d children, %d clients, %q", childrenOf(b.Agent), b.models.open(), b.log.all())
		}
	})
}

// S10, C14: closing the parent closes its children, also one that is wedged, and empties the list.
func TestS10_CloseReachesAWedgedChildOfAChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		// The child may delegate, its own child may not.
		b := newBench(func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
			switch req.Session {
			case "cli:local":
				return delegates("d", `{"goal":"deeper","tools":["delegate"]}`), nil
			case "cli:local/T/1":
				return delegates("d", `{"goal":"deepest","tools":[]}`), nil
			}
			<-release
			return says("too late"), nil
		}, nil, tool.Delegate{})
		done := make(chan error)
		go func() {
			_, err := b.Run(t.Context(), Turn{ID: "T", Text: "go"})
			done <- err
		}()
		synctest.Wait()
		if b.models.open() != 3 {
			t.Fatalf("%d clients, want parent, child and grandchild", b.models.open())
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if childrenOf(b.Agent) != 0 || b.models.open() != 0 {
			t.Errorf("after the close: %d children, %d open clients", childrenOf(b.Agent), b.models.open())
		}
		for _, want := range []string{"kill turn T/1", "kill turn T/1/1", "kill session cli:local"} {
			if !slices.Contains(b.log.all(), want) {
				t.Errorf("no %q in %q", want, b.log.all())
			}
		}
		close(release)
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("the turn ended with %v", err)
		}
	})
}

func TestDelegate_WhatAChildIsGiven(t *testing.T) {
	other := fakeTool{"other", func(context.Context, tool.Call) (string, error) { return "", nil }}
	for _, tt := range []struct {
		name, arguments string
		tools           []string
		want            string
	}{
		{"without names it gets everything but delegate", `{"goal":"g"}`, []string{"other"}, "ok"},
		{"it gets what is named", `{"goal":"g","tools":["delegate"]}`, []string{"delegate"}, "ok"},
		{"an empty list gives no tools", `{"goal":"g","tools":[]}`, nil, "ok"},
		{"an unknown tool is an answer", `{"goal":"g","tools":["x"]}`, nil, `{"error":"unknown tool \"x\"; available: delegate, other"}`},
		{"a goal is needed", `{"context":"c"}`, nil, `{"error":"argument \"goal\" is required"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got string
			var tools []string
			b := newBench(family(tt.arguments, &got, func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
				for _, s := range req.Tools {
					tools = append(tools, s.Name)
				}
				if got := req.Messages[len(req.Messages)-1]; got.Content != "g" || got.Role != model.RoleUser {
					t.Errorf("the child was asked %+v", got)
				}
				return says("ok"), nil
			}), nil, tool.Delegate{}, other)
			res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"})
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("the parent got %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.tools, tools); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			if want := int64(20); tt.want == "ok" && res.Usage.In != want+10 {
				t.Errorf("usage in %d, want the parent's two calls and the child's one", res.Usage.In)
			}
		})
	}
}

func TestDelegate_EndsAtTheSecondLevel(t *testing.T) {
	var calls []string
	b := newBench(func(_ context.Context, call int, req model.Request, _ func(string)) (model.Response, error) {
		if call == 1 {
			calls = append(calls, req.Session+": "+req.Messages[len(req.Messages)-1].Content)
			return says("ok"), nil
		}
		return delegates("d", `{"goal":"deeper","tools":["delegate"]}`), nil
	}, nil, tool.Delegate{})
	if _, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"}); err != nil {
		t.Fatal(err)
	}
	if len(calls) != 2 || !strings.Contains(calls[0], "cli:local/T/1: ") || !strings.Contains(calls[0], "cannot delegate") ||
		calls[1] != "cli:local: ok" {
		t.Errorf("got %q, want the child refused and its parent answered", calls)
	}
}

func TestDelegate_TheChildsProgressIsItsParents(t *testing.T) {
	var got string
	var doing []string
	b := newBench(family(`{"goal":"look"}`, &got, always(says("seen"))), nil, tool.Delegate{})
	if _, err := b.turn(t.Context(), Turn{ID: "T", Text: "go", Progress: func(s string) { doing = append(doing, s) }}); err != nil {
		t.Fatal(err)
	}
	want := []string{"model call", "delegate", "delegate: look", "delegate: model call", "delegate: ended", "model call"}
	if diff := cmp.Diff(want, doing); diff != "" {
		t.Errorf("doing (-want +got):\n%s", diff)
	}
}
