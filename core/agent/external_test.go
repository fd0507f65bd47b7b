package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
)

// program is an External that plays a function.
type program struct {
	log  *journal
	play func(ctx context.Context, t ExternalTurn) (ExternalAnswer, error)
}

func (p *program) Name() string               { return "played" }
func (p *program) Vision() bool               { return false }
func (p *program) TurnsPerDay() int           { return 0 }
func (p *program) New(ExternalOwner) External { return p }

func (p *program) Prompt(ctx context.Context, t ExternalTurn) (ExternalAnswer, error) {
	return p.play(ctx, t)
}

func (p *program) Close(context.Context) error {
	p.log.add("close program")
	return nil
}

func external(play func(ctx context.Context, t ExternalTurn) (ExternalAnswer, error)) *bench {
	p := &program{log: &journal{}, play: play}
	b := newBench(nil, func(c *Config) { c.External = p })
	b.log = p.log
	return b
}

func TestHR7_AnExternalAgentHasTheTranscriptOfItsSession(t *testing.T) {
	var got []ExternalTurn
	b := external(func(_ context.Context, t ExternalTurn) (ExternalAnswer, error) {
		got = append(got, t)
		t.Delta("answer to ")
		t.Delta(t.Text)
		return ExternalAnswer{Text: "answer to " + t.Text, Asked: true, Usage: model.Usage{In: 5, Out: 2}}, nil
	})
	var streamed strings.Builder
	for _, text := range []string{"one", "two"} {
		res, err := b.turn(t.Context(), Turn{ID: text, Text: text, Note: "a note", Delta: func(s string) { streamed.WriteString(s) }})
		if err != nil || res.Text != "answer to "+text || res.Usage.In != 5 || res.Model != "played" {
			t.Errorf("the result is %+v, %v", res, err)
		}
	}
	if streamed.String() != "answer to oneanswer to two" {
		t.Errorf("%q was streamed", streamed.String())
	}
	if got[0].Past != "" || got[1].Past != "User: one\n\nYou: answer to one" || got[1].Note != "a note" || got[1].Fresh {
		t.Errorf("the program got %+v", got)
	}
	b.Reload()
	if _, err := b.turn(t.Context(), Turn{ID: "three", Text: "three"}); err != nil || !got[2].Fresh {
		t.Errorf("a conversation that has changed is not said to have: %+v, %v", got[2], err)
	}
	if err := b.Close(t.Context()); err != nil || !strings.HasPrefix(strings.Join(b.log.all(), "\n"), "close program") {
		t.Errorf("the close: %v, %q", err, b.log.all())
	}
}

func TestHR7_AnExternalAgentThatIsInterruptedKeepsWhatItSaid(t *testing.T) {
	stop := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	b := external(func(ctx context.Context, t ExternalTurn) (ExternalAnswer, error) {
		t.Delta("half of")
		cancel(stop)
		t.Delta(" this is too late")
		<-ctx.Done()
		return ExternalAnswer{Asked: true}, context.Cause(ctx)
	})
	res, err := b.turn(ctx, Turn{ID: "t", Text: "hello"})
	if !errors.Is(err, stop) || len(res.Last) != 1 || res.Last[0].Content != "half of [interrupted]" {
		t.Errorf("the turn ended with %+v, %v", res, err)
	}
}

func TestHR7_AnExternalAgentIsNotAskedForWhatItCannotDo(t *testing.T) {
	b := external(func(context.Context, ExternalTurn) (ExternalAnswer, error) {
		t.Error("the program was asked")
		return ExternalAnswer{}, nil
	})
	if res, err := b.turn(t.Context(), Turn{ID: "1", Text: "x", Compact: true}); err != nil || !strings.Contains(res.Text, "/new") {
		t.Errorf("a compaction: %+v, %v", res, err)
	}
	if _, err := b.turn(t.Context(), Turn{ID: "2", Text: "x", NoTools: true}); !ops.HasCode(err, ops.CodeForbidden) {
		t.Errorf("a person without tools: %v", err)
	}
	if _, err := b.turn(t.Context(), Turn{ID: "3", Text: "x", Input: model.Input{Tools: []model.ToolSpec{{Name: "f"}}}}); !ops.HasCode(err, ops.CodeInvalid) {
		t.Errorf("a client with functions: %v", err)
	}
}
