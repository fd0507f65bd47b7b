package agent

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
)

var errStopped = errors.New("stopped by the user")

func TestTurn_ReturnsTheAnswerForTheGatewayToWrite(t *testing.T) {
	b := newBench(func(_ context.Context, _ int, req model.Request, delta func(string)) (model.Response, error) {
		delta("hel")
		delta("lo")
		return says("hello"), nil
	}, nil)
	var streamed strings.Builder
	res, err := b.turn(t.Context(), Turn{ID: "T", Text: "hi", Delta: func(s string) { streamed.WriteString(s) }})
	if err != nil {
		t.Fatal(err)
	}
	want := Result{
		Text: "hello", Last: []model.Message{{Role: model.RoleAssistant, Content: "hello"}},
		Usage: model.Usage{In: 10, Out: 1, Unpriced: 11}, Iterations: 1,
	}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if streamed.String() != "hello" {
		t.Errorf("streamed %q, want the answer", streamed.String())
	}
	if got := b.log.all(); len(got) != 0 {
		t.Errorf("a turn without tools did %q; the gateway alone writes its messages", got)
	}
	if b.count.Load() != 2 || b.Bytes() == 0 {
		t.Errorf("%d messages, %d bytes after the turn; want the question and the answer", b.count.Load(), b.Bytes())
	}
}

func TestTurn_EveryStepIsDurableBeforeTheNextBegins(t *testing.T) {
	var b *bench
	touch := fakeTool{"touch", func(_ context.Context, c tool.Call) (string, error) {
		b.log.add("run %s", c.Arguments)
		return "done", nil
	}}
	b = newBench(inOrder(
		asks(model.ToolCall{ID: "a", Name: "touch", Arguments: "1"}, model.ToolCall{ID: "b", Name: "touch", Arguments: "2"}),
		says("all done"),
	), nil, touch)
	if _, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"append T assistant", "run 1", "append T tool", "run 2", "append T tool", "kill turn T"}
	if diff := cmp.Diff(want, b.log.all()); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestTurn_ACachedAgentDoesNotLoadAgain(t *testing.T) {
	var seen [][]model.Message
	b := newBench(func(_ context.Context, call int, req model.Request, _ func(string)) (model.Response, error) {
		seen = append(seen, req.Messages)
		return says("answer"), nil
	}, nil)
	b.memory.write(model.Message{Role: model.RoleUser, Content: "before"}, model.Message{Role: model.RoleAssistant, Content: "yes"})
	for _, text := range []string{"one", "two"} {
		if _, err := b.turn(t.Context(), Turn{ID: text, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, m := range seen[1] {
		got = append(got, m.Content)
	}
	if diff := cmp.Diff([]string{"before", "yes", "one", "answer", "two"}, got); diff != "" {
		t.Errorf("the second turn's transcript (-want +got):\n%s", diff)
	}
	if b.memory.loads != 1 {
		t.Errorf("loaded %d times, want once", b.memory.loads)
	}
}

func TestTurn_TheNoteIsForOneTurnAndGoesWithTheSystemPrompt(t *testing.T) {
	var systems []string
	b := newBench(func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
		systems = append(systems, req.Messages[0].Content)
		for _, m := range req.Messages[1:] {
			if m.Role == model.RoleSystem {
				t.Errorf("a second system message: %q", m.Content)
			}
		}
		return says("ok"), nil
	}, nil)
	for _, note := range []string{"You were cut off.", ""} {
		if _, err := b.turn(t.Context(), Turn{ID: "T", Text: "x", System: "Be kind.", Note: note}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"Be kind.\n\nYou were cut off.", "Be kind."}, systems); diff != "" {
		t.Errorf("system prompts (-want +got):\n%s", diff)
	}
}

func TestTurn_MaxIterationsEndsWithAnAnswerThatSaysSo(t *testing.T) {
	b := newBench(always(asks(model.ToolCall{ID: "a", Name: "x"})), func(c *Config) { c.MaxIterations = 3 })
	res, err := b.turn(t.Context(), Turn{ID: "T", Text: "loop"})
	if err != nil {
		t.Fatal(err)
	}
	if res.Iterations != 3 || !strings.Contains(res.Text, "max_iterations") || len(res.Last) != 1 {
		t.Errorf("%d iterations, last %v, text %q; want 3 and a final answer that names the limit", res.Iterations, res.Last, res.Text)
	}
}

func TestTurn_WhatAModelWritesWrongIsAnsweredAndNeverPoisonsTheTranscript(t *testing.T) {
	var second model.Request
	b := newBench(func(_ context.Context, call int, req model.Request, _ func(string)) (model.Response, error) {
		if call == 0 {
			return asks(
				model.ToolCall{Name: "echo", Arguments: `{"a":`},
				model.ToolCall{ID: "same", Name: "nope"},
				model.ToolCall{ID: "same", Name: "boom", Arguments: `{}`},
			), nil
		}
		second = req
		return says(""), nil
	}, nil,
		fakeTool{"echo", func(_ context.Context, c tool.Call) (string, error) { return "got " + string(c.Arguments), nil }},
		fakeTool{"boom", func(context.Context, tool.Call) (string, error) { panic("kaboom") }},
	)
	res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if bad := wellFormed(second.Messages); bad != "" {
		t.Error(bad)
	}
	asked := second.Messages[1]
	if got := asked.ToolCalls[0].Arguments; got != "{}" {
		t.Errorf("broken arguments went back to the endpoint as %q", got)
	}
	ids := map[string]bool{}
	for _, c := range asked.ToolCalls {
		ids[c.ID] = true
	}
	if len(ids) != 3 || ids[""] {
		t.Errorf("call ids %v, want three of their own", ids)
	}
	for i, want := range []string{`got {"a":`, `unknown tool \"nope\"`, "kaboom"} {
		if got := second.Messages[2+i].Content; !strings.Contains(got, want) {
			t.Errorf("result %d is %q, want it to contain %q", i, got, want)
		}
	}
	if res.Text != emptyReply {
		t.Errorf("an empty message was answered as %q", res.Text)
	}
}

func TestTurn_AStepThatCannotBeSavedFailsTheTurnBeforeTheToolRuns(t *testing.T) {
	full := errors.New("disk full")
	ran := false
	b := newBench(always(asks(model.ToolCall{ID: "a", Name: "touch"})), nil,
		fakeTool{"touch", func(context.Context, tool.Call) (string, error) { ran = true; return "", nil }})
	b.memory.saveErr = func() error { return full }
	if _, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"}); !errors.Is(err, full) || ran {
		t.Errorf("ended with %v, tool ran %v; want the true reason and no tool", err, ran)
	}
	if !b.Unsaved() {
		t.Error("an agent whose step is not on disk must say that it is unsaved (D5)")
	}
}

// CV11: what its user writes meanwhile comes before the next model call, once a step has ended, and the model reads it in its place.
func TestCV11_TheModelReadsWhatItsUserWroteAfterTheStep(t *testing.T) {
	var asked [][]string
	calls := inOrder(asks(model.ToolCall{ID: "a", Name: "touch"}, model.ToolCall{ID: "b", Name: "touch"}), asks(model.ToolCall{ID: "c", Name: "touch"}), says("done"))
	b := newBench(func(ctx context.Context, n int, req model.Request, delta func(string)) (model.Response, error) {
		var roles []string
		for _, m := range req.Messages {
			roles = append(roles, string(m.Role))
		}
		asked = append(asked, roles)
		return calls(ctx, n, req, delta)
	}, nil, fakeTool{"touch", func(context.Context, tool.Call) (string, error) { return "ok", nil }})
	waits := [][]model.Message{{{Role: model.RoleUser, Content: "one"}, {Role: model.RoleUser, Content: "two"}}, nil}
	steer := func(context.Context) ([]model.Message, error) {
		next := waits[0]
		waits = waits[1:]
		return next, nil
	}
	if _, err := b.turn(t.Context(), Turn{ID: "T", Text: "go", Steer: steer}); err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"user"},
		{"user", "assistant", "tool", "tool", "user", "user"},
		{"user", "assistant", "tool", "tool", "user", "user", "assistant", "tool"},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("the model reads (-want +got):\n%s", diff)
	}
	full := errors.New("disk full")
	b = newBench(always(asks(model.ToolCall{ID: "a", Name: "touch"})), nil, fakeTool{"touch", func(context.Context, tool.Call) (string, error) { return "ok", nil }})
	if _, err := b.turn(t.Context(), Turn{ID: "T", Text: "go", Steer: func(context.Context) ([]model.Message, error) { return nil, full }}); !errors.Is(err, full) {
		t.Errorf("a turn whose user's messages could not be saved ended with %v", err)
	}
}

// D11: a client that ignores cancellation keeps Run, and that turn does nothing any more when it comes back.
func TestTurn_AWedgedTurnDoesNothingWhenItComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBench(func(_ context.Context, _ int, _ model.Request, delta func(string)) (model.Response, error) {
			<-release
			delta("late")
			return asks(model.ToolCall{ID: "a", Name: "touch"}), nil
		}, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		var late atomic.Int32
		done := make(chan error)
		go func() {
			_, err := b.Run(ctx, Turn{
				ID: "T", Text: "go", Delta: func(string) { late.Add(1) },
				Progress: func(string) {
					if ctx.Err() != nil {
						late.Add(1)
					}
				},
			})
			done <- err
		}()
		synctest.Wait()
		cancel(errStopped)
		synctest.Wait()
		if !b.Busy() {
			t.Error("a wedged agent must be seen as busy")
		}
		if _, err := b.Run(t.Context(), Turn{ID: "T2"}); !errors.Is(err, ErrBusy) {
			t.Errorf("a second turn on a wedged agent: %v, want ErrBusy", err)
		}
		close(release)
		if err := <-done; err != errStopped {
			t.Errorf("came back with %v", err)
		}
		if late.Load() != 0 || len(b.log.all()) != 0 {
			t.Errorf("%d calls of the turn's functions after the interrupt, and %q", late.Load(), b.log.all())
		}
	})
}

func TestTurn_APanicOfTheClientIsTheTurnsError(t *testing.T) {
	b := newBench(func(_ context.Context, call int, _ model.Request, _ func(string)) (model.Response, error) {
		if call == 0 {
			panic("nil map")
		}
		return says("ok"), nil
	}, nil)
	if _, err := b.turn(t.Context(), Turn{ID: "T1", Text: "x"}); err == nil || !strings.Contains(err.Error(), "nil map") {
		t.Errorf("error %v, want the panic", err)
	}
	if res, err := b.turn(t.Context(), Turn{ID: "T2", Text: "y"}); err != nil || res.Text != "ok" {
		t.Errorf("the next turn: %q, %v", res.Text, err)
	}
}

// D13: only a model or a tool that moves is progress, and a stream counts a few times a second. I4: what is shown is clean.
func TestTurn_ProgressIsWhatMovedAndIsCleanToShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(_ context.Context, call int, _ model.Request, delta func(string)) (model.Response, error) {
			if call == 1 {
				return says("ok"), nil
			}
			for range 100 {
				delta("x")
				time.Sleep(10 * time.Millisecond)
			}
			return asks(model.ToolCall{ID: "a", Name: "sh"}), nil
		}, nil, fakeTool{"sh", func(_ context.Context, c tool.Call) (string, error) {
			c.Progress("sh: \x1b[31mcurl -H 'Authorization: Bearer abcdef123456'")
			time.Sleep(time.Hour)
			return "", nil
		}})
		var got []string
		if _, err := b.turn(t.Context(), Turn{ID: "T", Text: "go", Progress: func(s string) { got = append(got, s) }}); err != nil {
			t.Fatal(err)
		}
		if n := len(got); n < 8 || n > 12 {
			t.Errorf("%d notes for one second of stream, a silent hour and a short answer: %q", n, got)
		}
		for _, s := range got {
			if strings.Contains(s, "\x1b") || strings.Contains(s, "abcdef123456") {
				t.Errorf("shown as %q", s)
			}
		}
	})
}

func TestMended(t *testing.T) {
	user := model.Message{Role: model.RoleUser, Content: "u"}
	asked := model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "a"}, {ID: "b"}}}
	result := func(id, text string) model.Message {
		return model.Message{Role: model.RoleTool, ToolCallID: id, Content: text}
	}
	for _, tt := range []struct {
		name     string
		in, want []model.Message
	}{
		{"an empty transcript stays empty", nil, []model.Message{}},
		{
			"a whole one is not touched",
			[]model.Message{user, asked, result("a", "1"), result("b", "2"), user},
			[]model.Message{user, asked, result("a", "1"), result("b", "2"), user},
		},
		{
			"calls without results at the end get unknown outcomes",
			[]model.Message{user, asked},
			[]model.Message{user, asked, result("a", outcomeUnknown), result("b", outcomeUnknown)},
		},
		{
			"a result that is missing in the middle is put in its place",
			[]model.Message{asked, result("b", "2"), user},
			[]model.Message{asked, result("a", outcomeUnknown), result("b", "2"), user},
		},
		{
			"results without a call are left out",
			[]model.Message{result("x", "?"), user, asked, result("y", "?"), result("a", "1"), result("b", "2")},
			[]model.Message{user, asked, result("a", "1"), result("b", "2")},
		},
		{
			"of two results the first counts",
			[]model.Message{asked, result("a", "1"), result("a", "late"), result("b", "2")},
			[]model.Message{asked, result("a", "1"), result("b", "2")},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, repaired(tt.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTR3_AToolEndsTheTurnWithAnAnswerAlsoFromAChild(t *testing.T) {
	over := fakeTool{"over", func(context.Context, tool.Call) (string, error) {
		return "", &tool.OverError{Text: "it was refused three times"}
	}}
	last := fakeTool{"last", func(context.Context, tool.Call) (string, error) { panic("a call ran after the turn was over") }}
	for _, tt := range []struct {
		name  string
		first model.Response
	}{
		{"its own call", asks(model.ToolCall{ID: "a", Name: "over"}, model.ToolCall{ID: "b", Name: "last"})},
		{"the call of a child", delegates("d", `{"goal":"do it"}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(func(_ context.Context, call int, req model.Request, _ func(string)) (model.Response, error) {
				if req.Session != "cli:local" {
					return asks(model.ToolCall{ID: "c", Name: "over"}), nil
				}
				if call > 0 {
					t.Error("the model was asked again")
				}
				return tt.first, nil
			}, nil, over, last, tool.Delegate{})
			res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go"})
			if err != nil || res.Text != "it was refused three times" || !res.Over {
				t.Errorf("the turn ended with %+v, %v", res, err)
			}
			if bad := wellFormed(b.memory.messages); bad != "" {
				t.Errorf("on disk: %s", bad)
			}
		})
	}
}
