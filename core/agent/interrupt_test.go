package agent

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
)

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
