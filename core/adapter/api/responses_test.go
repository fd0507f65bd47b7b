package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
)

// respond posts a body to /v1/responses.
func (f *fixture) respond(body string, headers ...string) answer {
	r := f.request(http.MethodPost, "/v1/responses", body)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return f.do(r)
}

// answered is a response that was given.
func (a answer) answered(t *testing.T) response {
	t.Helper()
	var r response
	if a.status != http.StatusOK || json.Unmarshal(a.body, &r) != nil || r.Object != "response" {
		t.Fatalf("no response, but %d %s", a.status, a.body)
	}
	return r
}

func TestCV2_AParameterOfAResponseIsPassedOnIgnoredOrRefusedByName(t *testing.T) {
	f := start(t, Options{}, echo)
	f.respond(`{"input":"hi","temperature":0.5,"top_p":0.9,"max_output_tokens":5,"reasoning":{"effort":"low","summary":"auto"},"parallel_tool_calls":false,
		"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"tool_choice":{"type":"function","name":"f"},
		"text":{"verbosity":"low","format":{"type":"json_schema","name":"x","schema":{"type":"object"},"strict":true}},
		"metadata":{"a":"b"},"include":["reasoning.encrypted_content"],"truncation":"disabled","background":false,"service_tier":"auto"}`).answered(t)
	got, err := json.Marshal(f.gateway.messages()[0].Input.Params)
	const want = `{"temperature":0.5,"top_p":0.9,"max_completion_tokens":5,"reasoning_effort":"low","verbosity":"low",` +
		`"response_format":{"json_schema":{"name":"x","schema":{"type":"object"},"strict":true},"type":"json_schema"},` +
		`"tool_choice":{"function":{"name":"f"},"type":"function"},"parallel_tool_calls":false}`
	if err != nil || string(got) != want {
		t.Errorf("the model gets\n%s (%v), want\n%s", got, err, want)
	}
	for body, param := range map[string]string{
		`{"input":"x","background":true}`:                                        "background",
		`{"input":"x","prompt":{"id":"p"}}`:                                      "prompt",
		`{"input":"x","truncation":"auto"}`:                                      "truncation",
		`{"input":"x","max_tool_calls":3}`:                                       "max_tool_calls",
		`{"input":"x","top_logprobs":3}`:                                         "top_logprobs",
		`{"input":"x","surprise":1}`:                                             "surprise",
		`{"input":"x","tools":[{"type":"web_search"}]}`:                          "tools[0].type",
		`{"input":[]}`:                                                           "input",
		`{}`:                                                                     "input",
		`{"input":[{"type":"item_reference","id":"x"}]}`:                         "input[0].type",
		`{"input":[{"role":"robot","content":"x"}]}`:                             "input[0].role",
		`{"input":[{"role":"user","content":[{"type":"input_audio"}]}]}`:         "input[0].content[0]",
		`{"input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`: "input",
		`{"input":[{"role":"assistant","content":"x"}]}`:                         "input",
		`{"input":"x","conversation":"c","previous_response_id":"resp_1"}`:       "previous_response_id",
	} {
		t.Run(body, func(t *testing.T) {
			a := f.respond(body)
			var e struct{ Error wireError }
			if a.status != http.StatusBadRequest || json.Unmarshal(a.body, &e) != nil || e.Error.Param == nil || *e.Error.Param != param {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
}

func TestCV2_AResponseIsContinuedByItsCallerAlone(t *testing.T) {
	f := start(t, Options{}, contextual)
	first := f.respond(`{"input":"My name is Bob."}`).answered(t)
	other := f.respond(`{"input":"context","previous_response_id":"`+first.ID+`"}`, "Authorization", "Bearer another")
	if e := other.refused(t, http.StatusNotFound, "not_found"); *e.Param != "previous_response_id" {
		t.Errorf("another caller is refused with %+v", e)
	}
	same := f.respond(`{"input":"context","previous_response_id":"` + first.ID + `"}`).answered(t)
	if text := same.Output[0].Content[0].Text; !strings.Contains(text, "user: My name is Bob.") {
		t.Errorf("its own caller reads %q", text)
	}
	r := f.request(http.MethodGet, "/v1/responses/"+first.ID, "")
	r.Header.Set("Authorization", "Bearer another")
	f.do(r).refused(t, http.StatusNotFound, "not_found")
}

func TestCV2_AResponseThatIsNotKeptCannotBeContinued(t *testing.T) {
	f := start(t, Options{}, contextual)
	for name, body := range map[string]string{"as asked": `{"input":"hi","store":false}`, "for want of space": `{"input":"hi"}`} {
		t.Run(name, func(t *testing.T) {
			f.gateway.full = errors.New("no space left on device")
			r := f.respond(body).answered(t)
			if r.Store {
				t.Error("it says that it is kept")
			}
			f.respond(`{"input":"x","previous_response_id":"`+r.ID+`"}`).refused(t, http.StatusNotFound, "not_found")
		})
	}
}

func TestCV2_AResponseThatFailsSaysSoInItsOwnForm(t *testing.T) {
	f := start(t, Options{}, func(ctx context.Context, m adapter.Inbound) error {
		m.Responder.Delta("It is ")
		m.Responder.Done("", errors.New("the model went away"))
		return nil
	})
	f.respond(`{"input":"hi"}`).refused(t, http.StatusInternalServerError, "internal")
	stream := string(f.respond(`{"input":"hi","stream":true}`).body)
	if !strings.Contains(stream, "event: response.failed\n") || strings.Contains(stream, "response.completed") {
		t.Errorf("the stream is %s", stream)
	}
}

func TestCV2_AResponseThatIsCutSaysWhy(t *testing.T) {
	for finish, reason := range map[model.Finish]string{model.FinishLength: "max_output_tokens", model.FinishContentFilter: "content_filter"} {
		f := start(t, Options{}, func(_ context.Context, m adapter.Inbound) error {
			m.Responder.Ended(model.Outcome{Finish: finish})
			m.Responder.Done("It is", nil)
			return nil
		})
		a := f.respond(`{"input":"hi"}`)
		if r := a.answered(t); r.Status != "incomplete" || !strings.Contains(string(a.body), `"incomplete_details":{"reason":"`+reason+`"}`) {
			t.Errorf("%s: %s", finish, a.body)
		}
		if stream := string(f.respond(`{"input":"hi","stream":true}`).body); !strings.Contains(stream, "event: response.incomplete\n") {
			t.Errorf("%s: the stream is %s", finish, stream)
		}
	}
}

func FuzzResponses(f *testing.F) {
	for _, seed := range []string{
		`{"input":"hi"}`, `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://a.example/b.png"}]}]}`,
		`{"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]}`,
		`{"input":null}`, `{"input":[null]}`, `[`, `{"input":"x","text":{"format":{"type":"json_schema"}},"tool_choice":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q, p := parseResponses(data, func(string) ([]model.Message, *problem) { return nil, nil })
		if p != nil {
			inert(t, p)
			return
		}
		for _, m := range append(q.messages.history, q.messages.results...) {
			if !slices.Contains([]model.Role{model.RoleSystem, model.RoleUser, model.RoleAssistant, model.RoleTool}, m.Role) {
				t.Errorf("the history has a message of role %q", m.Role)
			}
		}
		session(t, q, http.Header{})
	})
}
