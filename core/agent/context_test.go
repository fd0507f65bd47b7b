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

// tight is models with a small window. talk plays what is no summary, summarise what is.
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

func TestCV4_ACallThatWasTooLongIsMadeAgainWithAShorterConversation(t *testing.T) {
	for _, c := range []struct {
		name string
		told int // the window that a refusal names
		fits int // how many calls are refused
		want string
	}{
		{"the refusal names the window", 3000, 1, "long summary answer"},
		{"the refusal names a window that is not true", 3000, 9, "long summary long"},
		{"the refusal names no window", 0, 1, "long answer"},
		{"the refusal names no window, and that is small", 0, 2, "long long answer"},
		{"nothing fits", 0, 9, "long long long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			long := &model.Error{Kind: model.KindTooLong, Message: "too long", Window: c.told}
			var kinds []string
			refused, size := 0, 1<<20
			b := spoken(12, func(_ context.Context, _ int, req model.Request, _ func(string)) (model.Response, error) {
				if isSummary(req) {
					kinds = append(kinds, "summary")
					return says("they talked"), nil
				}
				if n := len(texts(req)); n >= size {
					t.Errorf("a request of %d bytes follows one of %d", n, size)
				} else {
					size = n
				}
				if !strings.HasSuffix(texts(req), "go on\n") {
					t.Errorf("the newest message is not the last of %s", texts(req))
				}
				if refused < c.fits {
					refused++
					kinds = append(kinds, "long")
					return model.Response{}, long
				}
				kinds = append(kinds, "answer")
				return says("done"), nil
			}, func(c *Config) { c.Models = c.Models.(tight).models }) // the window is not known
			res, err := b.turn(t.Context(), Turn{ID: "T", Text: "go on", Calls: NewCalls(10, nil)})
			if got := strings.Join(kinds, " "); got != c.want {
				t.Errorf("the calls are %s, want %s", got, c.want)
			}
			if answered := strings.HasSuffix(c.want, "answer"); answered != (err == nil && res.Text == "done") || !answered && !errors.Is(err, long) {
				t.Errorf("answered %q, %v", res.Text, err)
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
	read := fakeTool{"read", func(context.Context, tool.Call) (string, error) { return strings.Repeat("line of a file\n", 150), nil }}
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
		if calls++; calls < 30 {
			return uncounted(asks(model.ToolCall{ID: fmt.Sprint("c", calls), Name: "read", Arguments: "{}"})), nil
		}
		return says("all read"), nil
	}, func(c *Config) { c.MaxIterations = 40 }, read)
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
