package agent

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

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

// D8: an interrupt leaves nothing that the next turn trips over. D11: a good client ends at once.
func TestTurn_AnInterruptEndsTheModelCallAndTheNextTurnRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(func(ctx context.Context, call int, req model.Request, delta func(string)) (model.Response, error) {
			if call == 0 {
				delta("I am abou")
				return hang(ctx, call, req, delta)
			}
			if bad := wellFormed(req.Messages); bad != "" {
				t.Error(bad)
			}
			return says("fine"), nil
		}, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(errStopped) })
		start := time.Now()
		res, err := b.turn(ctx, Turn{ID: "T1", Text: "go"})
		if err != errStopped || time.Since(start) != time.Minute {
			t.Fatalf("ended after %v with %v, want the cause of the interrupt at once", time.Since(start), err)
		}
		if len(res.Last) != 1 || res.Last[0].Content != "I am abou [interrupted]" {
			t.Errorf("last is %v, want what the user had already seen", res.Last)
		}
		if res, err = b.turn(t.Context(), Turn{ID: "T2", Text: "again"}); err != nil || res.Text != "fine" {
			t.Errorf("the next turn: %q, %v", res.Text, err)
		}
	})
}

func TestTurn_AnInterruptDuringAToolKeepsWhatIsKnownAndRunsNoOther(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	ran := 0
	b := newBench(inOrder(
		asks(model.ToolCall{ID: "a", Name: "slow"}, model.ToolCall{ID: "b", Name: "slow"}), says("never"),
	), nil, fakeTool{"slow", func(ctx context.Context, _ tool.Call) (string, error) {
		ran++
		cancel(errStopped)
		<-ctx.Done()
		return "", ctx.Err()
	}})
	res, err := b.turn(ctx, Turn{ID: "T", Text: "go"})
	if err != errStopped {
		t.Fatalf("ended with %v", err)
	}
	if ran != 1 {
		t.Errorf("%d tools ran, want the first alone", ran)
	}
	if len(res.Last) != 2 || !strings.Contains(res.Last[0].Content, "may or may not") || res.Last[1].Content != neverStarted {
		t.Errorf("last is %+v, want an unknown outcome and a call that was not run", res.Last)
	}
	if bad := wellFormed(b.memory.messages); bad != "" {
		t.Errorf("on disk: %s", bad)
	}
	if !slices.Contains(b.log.all(), "kill turn T") {
		t.Error("the turn's processes were not ended")
	}
}

// D19: after a cut at any step, the next turn gets a transcript that an endpoint takes, and no tool runs twice.
func TestTurn_D19_RandomInterruptsNeverPoisonNorRepeat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ctx context.Context
		var cancel context.CancelCauseFunc
		events, stopAt := 0, 0
		event := func() {
			if events++; events == stopAt {
				cancel(errStopped)
			}
		}
		asked, ran := 0, map[string]int{}
		fresh := rapid.Bool().Draw(t, "fresh agent for each turn")
		b := newBench(func(ctx context.Context, _ int, req model.Request, delta func(string)) (model.Response, error) {
			if bad := wellFormed(req.Messages); bad != "" {
				t.Fatal(bad)
			}
			event()
			delta("text")
			event()
			if len(req.Messages)%5 == 4 {
				return says("done"), nil
			}
			asked += 2
			return asks(
				model.ToolCall{Name: "once", Arguments: strconv.Itoa(asked)},
				model.ToolCall{Name: "once", Arguments: strconv.Itoa(asked + 1)},
			), ctx.Err()
		}, nil, fakeTool{"once", func(ctx context.Context, c tool.Call) (string, error) {
			ran[string(c.Arguments)]++
			event()
			return "ok", ctx.Err()
		}})
		b.memory.saveErr = func() error { event(); return ctx.Err() }
		b.memory.writesAnyway = rapid.Bool().Draw(t, "a failing append writes")
		for i := range rapid.IntRange(1, 6).Draw(t, "turns") {
			id := string(rune('A' + i))
			ctx, cancel = context.WithCancelCause(context.Background())
			events, stopAt = 0, rapid.IntRange(1, 14).Draw(t, "stop at")
			if fresh {
				b.Agent = New(b.cfg)
			}
			if _, err := b.turn(ctx, Turn{ID: id, Text: id}); err != nil && err != errStopped {
				t.Fatal(err)
			}
			cancel(nil)
			if bad := wellFormed(repaired(b.memory.messages)); bad != "" {
				t.Fatalf("after turn %s: %s", id, bad)
			}
		}
		for call, n := range ran {
			if n > 1 {
				t.Fatalf("call %s ran %d times", call, n)
			}
		}
	})
}

// D8, D10: a turn that was reset meanwhile learns it from its first write, and the agent reads what is true.
func TestTurn_AStaleTurnEndsAtOnceAndWritesNothing(t *testing.T) {
	ran := false
	b := newBench(inOrder(asks(model.ToolCall{ID: "a", Name: "touch"}), says("fresh")), nil,
		fakeTool{"touch", func(context.Context, tool.Call) (string, error) { ran = true; return "", nil }})
	b.memory.saveErr = func() error { return ErrStale }
	res, err := b.turn(t.Context(), Turn{ID: "T1", Text: "go"})
	if !errors.Is(err, ErrStale) || ran || len(res.Last) != 0 {
		t.Errorf("ended with %v, tool ran %v, last %v; want ErrStale before any tool", err, ran, res.Last)
	}
	if b.Unsaved() {
		t.Error("a stale turn left the agent unsaved")
	}
	b.memory.saveErr = nil
	if res, err := b.turn(t.Context(), Turn{ID: "T2", Text: "again"}); err != nil || res.Text != "fresh" || b.memory.loads != 2 {
		t.Errorf("the next turn: %q, %v, %d loads; want it to read the transcript again", res.Text, err, b.memory.loads)
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
