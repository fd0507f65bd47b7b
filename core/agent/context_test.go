package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
	"gatewaytui/core/window"
)

// tight is models with a small window. summarise plays the calls for a summary, talk all others.
type tight struct {
	*models
	tokens int
}

func (m tight) Window() int { return m.tokens }

// uncounted is an answer of an endpoint that tells no usage.
func uncounted(r model.Response) model.Response {
	r.Usage = model.Usage{}
	return r
}

func isSummary(req model.Request) bool { return req.Messages[0].Content == summarySystem }

// spoken is a bench whose conversation has so many turns of about 200 tokens.
func spoken(turns int, p play, change func(*Config), tools ...tool.Tool) *bench {
	b := newBench(p, func(c *Config) {
		c.Models = tight{c.Models.(*models), 4096}
		if change != nil {
			change(c)
		}
	}, tools...)
	for i := range turns {
		b.memory.write(model.Message{Role: model.RoleUser, Content: fmt.Sprintf("question %d", i)},
			model.Message{Role: model.RoleAssistant, Content: fmt.Sprintf("answer %d %s", i, strings.Repeat("word ", 120))})
	}
	return b
}

func texts(req model.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String()
}

func TestCV4_ACallThatWasTooLongIsMadeAgainOnceWithAShorterConversation(t *testing.T) {
	for _, fits := range []bool{true, false} {
		t.Run(fmt.Sprintf("then it fits %v", fits), func(t *testing.T) {
			long := &model.Error{Kind: model.KindTooLong, Message: "too long"}
			var kinds []string
			b := spoken(8, func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
				switch {
				case isSummary(req):
					kinds = append(kinds, "summary")
					return says("they talked"), nil
				case len(kinds) > 0 && fits:
					kinds = append(kinds, "answer")
					return says("done"), nil
				}
				kinds = append(kinds, "long")
				return model.Response{}, long
			}, func(c *Config) { c.Models = c.Models.(tight).models }) // the window is not known
			res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go on", Calls: NewCalls(10, nil)})
			switch got := strings.Join(kinds, " "); {
			case fits && (err != nil || res.Text != "done" || got != "long summary answer"):
				t.Errorf("%q, %v after %s", res.Text, err, got)
			case !fits && (!errors.Is(err, long) || got != "long summary long"):
				t.Errorf("%v after %s", err, got)
			}
		})
	}
}

func TestCV4_TheModelOfTheConfigSummarises(t *testing.T) {
	log := &journal{}
	other := &models{log: log, play: func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
		if !isSummary(req) || !strings.Contains(texts(req), "question 1") {
			return model.Response{}, errors.New("not a summary")
		}
		return says("they talked of questions"), nil
	}}
	var last model.Request
	b := spoken(20, func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
		last = req
		return says("ok"), nil
	}, func(c *Config) { c.Summariser = other })
	var told []Compacted
	calls := NewCalls(10, nil)
	res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go on", Calls: calls, Compacted: func(c Compacted) { told = append(told, c) }})
	if err != nil || res.Usage.In != 20 || calls.Used() != 2 || other.open() != 0 {
		t.Fatalf("%v, usage %+v, %d calls, %d clients are open", err, res.Usage, calls.Used(), other.open())
	}
	if text := texts(last); !strings.Contains(text, "they talked of questions") || !strings.Contains(text, "question 3") || strings.Contains(text, "answer 3") || !strings.HasSuffix(text, "go on\n") {
		t.Errorf("the model reads %s", text)
	}
	if len(told) != 1 || !told[0].Summary || told[0].Messages == 0 || told[0].After >= told[0].Before || b.memory.kept.Upto == 0 {
		t.Errorf("told %+v, kept up to %d", told, b.memory.kept.Upto)
	}
}

func TestCV4_ACompactionThatCannotBeSavedHoldsInMemory(t *testing.T) {
	b := spoken(20, func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
		if isSummary(req) {
			return model.Response{}, errors.New("no")
		}
		return uncounted(says("ok")), nil
	}, nil)
	b.memory.saveErr = func() error { return errors.New("disk full") }
	if res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go on"}); err != nil || res.Text != "ok" {
		t.Fatalf("%q, %v", res.Text, err)
	}
	if b.memory.kept.Upto != 0 || !strings.Contains(b.digest.Summary, window.NoSummary) {
		t.Errorf("kept %+v, in memory %+v", b.memory.kept, b.digest)
	}
	b.memory.saveErr = func() error { return ErrStale }
	b.forget()
	if _, err := b.turn(t.Context(), Turn{ID: "U", Text: "and now"}); !errors.Is(err, ErrStale) {
		t.Errorf("a turn that is over goes on: %v", err)
	}
}

func TestCV4_ATurnOfManyStepsFitsToo(t *testing.T) {
	calls, summaries, shown := 0, 0, 0
	read := fakeTool{"read", func(_ context.Context, call tool.Call) (string, error) {
		if err := call.Show(model.Image{URL: "data:image/png;base64,BBBB"}); err != nil {
			t.Error(err)
		}
		return strings.Repeat("line of a file\n", 75), nil
	}}
	b := spoken(1, func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
		if isSummary(req) {
			summaries++
			return says("files were read"), nil
		}
		if wrong := wellFormed(req.Messages); wrong != "" {
			t.Errorf("call %d: %s", calls, wrong)
		}
		if !strings.Contains(texts(req), "read them all") {
			t.Errorf("call %d lacks the task", calls)
		}
		n := 0
		for _, m := range req.Messages {
			n += window.Message(m)
			shown += len(m.Images)
		}
		if n > 4096-1024 {
			t.Errorf("call %d has %d tokens", calls, n)
		}
		if last := req.Messages[len(req.Messages)-1]; last.Role == model.RoleTool && len(last.Images) != 1 {
			t.Errorf("call %d does not see what the last result shows", calls)
		}
		if calls++; calls < 30 {
			return uncounted(asks(model.ToolCall{ID: fmt.Sprint("c", calls), Name: "read", Arguments: "{}"})), nil
		}
		return says("all read"), nil
	}, func(c *Config) { c.MaxIterations = 40 }, read)
	b.models.sees = true
	in := model.Input{Images: []model.Image{{URL: "data:image/png;base64,AAAA"}}}
	res, err := b.turn(t.Context(), Turn{ID: "T", Text: "read them all", Input: in})
	if err != nil || res.Text != "all read" || summaries > mostExtra || shown == 0 {
		t.Errorf("%q, %v with %d summaries, a picture was shown %d times", res.Text, err, summaries, shown)
	}
}

func TestCV4_AConversationThatIsShortIsNotCompacted(t *testing.T) {
	b := newBench(always(says("ok")), nil)
	if res, err := b.Run(t.Context(), Turn{ID: "T", Compact: true}); err != nil || !strings.Contains(res.Text, "nothing to compact") || len(res.Last) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}
