package agent

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gatewaytui/core/model"
	"gatewaytui/core/tool"
)

var clients = []model.ToolSpec{{Name: "ask_user"}}

// seen plays the answers in order and keeps what the model was asked.
func seen(reqs *[]model.Request, answers ...model.Response) play {
	return func(_ context.Context, n int, req model.Request, _ func(string)) (model.Response, error) {
		*reqs = append(*reqs, req)
		return answers[n], nil
	}
}

// CV1.
func TestCV1_AHistoryThatTheClientSendsIsTheWholeContext(t *testing.T) {
	var reqs []model.Request
	b := newBench(seen(&reqs, says("one"), says("two")), nil)
	first := model.Input{Given: true, System: "Be a pirate.", History: []model.Message{
		{Role: model.RoleUser, Content: "I am Bob."}, {Role: model.RoleAssistant, Content: "Ahoy."},
	}}
	if _, err := b.turn(t.Context(), Turn{ID: "1", Text: "Who am I?", Input: first}); err != nil {
		t.Fatal(err)
	}
	second := model.Input{Given: true, History: []model.Message{{Role: model.RoleUser, Content: "An edited beginning."}}}
	if _, err := b.turn(t.Context(), Turn{ID: "2", Text: "And now?", Input: second}); err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, r := range reqs {
		var texts []string
		for _, m := range r.Messages {
			texts = append(texts, string(m.Role)+": "+m.Content)
		}
		got = append(got, texts)
	}
	want := [][]string{
		{"system: Be a pirate.", "user: I am Bob.", "assistant: Ahoy.", "user: Who am I?"},
		{"user: An edited beginning.", "user: And now?"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the model read (-want +got):\n%s", diff)
	}
}

// CV2.
func TestCV2_ACallOfTheClientsFunctionEndsTheTurnAndItsResultContinuesIt(t *testing.T) {
	var reqs []model.Request
	call := model.ToolCall{ID: "c", Name: "ask_user", Arguments: "{}"}
	b := newBench(seen(&reqs, asks(call), says("done"), asks(call), says("as you like")), nil)
	in := model.Input{Tools: clients, Params: model.Params{ToolChoice: json.RawMessage(`"required"`)}}
	res, err := b.turn(t.Context(), Turn{ID: "1", Text: "go", Input: in})
	if err != nil || res.Finish != model.FinishToolCalls || len(res.Calls) != 1 || res.Calls[0] != call || res.ToolsRan {
		t.Fatalf("%v, %+v", err, res)
	}
	in.Results = []model.Message{{Role: model.RoleTool, ToolCallID: "c", Content: "yes"}}
	if res, err = b.turn(t.Context(), Turn{ID: "2", Input: in}); err != nil || res.Text != "done" {
		t.Fatalf("%v, %+v", err, res)
	}
	if got := reqs[1].Messages; len(got) != 3 || got[2].Content != "yes" {
		t.Errorf("the model reads %+v", got)
	}
	in.Results = nil
	if _, err := b.turn(t.Context(), Turn{ID: "3", Text: "again", Input: in}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.turn(t.Context(), Turn{ID: "4", Text: "never mind", Input: in}); err != nil {
		t.Fatal(err)
	}
	last := reqs[3].Messages
	if n := len(last); last[n-2].Role != model.RoleTool || last[n-2].Content != outcomeUnknown || last[n-1].Content != "never mind" {
		t.Errorf("a call that the client left open reads %+v", last)
	}
}

// CV2.
func TestCV2_TheClientsFunctionIsCalledInAStepOfItsOwn(t *testing.T) {
	var reqs []model.Request
	ran := 0
	own := fakeTool{"touch", func(context.Context, tool.Call) (string, error) { ran++; return "touched", nil }}
	b := newBench(seen(&reqs,
		asks(model.ToolCall{ID: "a", Name: "touch", Arguments: "{}"}, model.ToolCall{ID: "b", Name: "ask_user", Arguments: "{}"}),
		asks(model.ToolCall{ID: "c", Name: "ask_user", Arguments: "{}"}),
	), nil, own)
	in := model.Input{Tools: clients, Params: model.Params{ToolChoice: json.RawMessage(`"required"`)}}
	res, err := b.turn(t.Context(), Turn{ID: "1", Text: "go", Input: in})
	if err != nil || ran != 1 || len(res.Calls) != 1 || res.Calls[0].ID != "c" {
		t.Fatalf("%v, the own tool ran %d times, %+v", err, ran, res)
	}
	if len(reqs[0].Tools) != 2 || string(reqs[0].Params.ToolChoice) != `"required"` || reqs[1].Params.ToolChoice != nil {
		t.Errorf("the model was offered %+v with the choices %s and %s", reqs[0].Tools, reqs[0].Params.ToolChoice, reqs[1].Params.ToolChoice)
	}
	if got := reqs[1].Messages; got[len(got)-1].Content != notAlone {
		t.Errorf("the client's call was answered with %q", got[len(got)-1].Content)
	}
}

// CV2.
func TestCV2_TheClientsFunctionHidesTheAgentsToolOfItsName(t *testing.T) {
	var reqs []model.Request
	own := fakeTool{"ask_user", func(context.Context, tool.Call) (string, error) { t.Error("the agent's tool ran"); return "", nil }}
	b := newBench(seen(&reqs, asks(model.ToolCall{ID: "c", Name: "ask_user", Arguments: "{}"})), nil, own)
	res, err := b.turn(t.Context(), Turn{ID: "1", Text: "go", Input: model.Input{Tools: clients}})
	if err != nil || len(res.Calls) != 1 || len(reqs[0].Tools) != 1 {
		t.Errorf("%v, %+v, offered %+v", err, res, reqs[0].Tools)
	}
}

// CV2.
func TestCV2_APictureIsShownInItsTurnAlone(t *testing.T) {
	var reqs []model.Request
	b := newBench(seen(&reqs, says("a cat"), says("yes")), nil)
	in := model.Input{Images: []model.Image{{URL: "data:image/png;base64,AAAA"}}}
	if _, err := b.turn(t.Context(), Turn{ID: "1", Text: "What is it? [with 1 picture]", Input: in}); err != nil {
		t.Fatal(err)
	}
	bytes := b.Bytes()
	if _, err := b.turn(t.Context(), Turn{ID: "2", Text: "Really?"}); err != nil {
		t.Fatal(err)
	}
	if len(reqs[0].Messages[0].Images) != 1 || len(reqs[1].Messages[0].Images) != 0 || bytes <= 0 {
		t.Errorf("the model saw %+v, then %+v; %d bytes", reqs[0].Messages[0], reqs[1].Messages[0], bytes)
	}
}
