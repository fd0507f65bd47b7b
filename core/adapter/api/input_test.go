package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"gatewaytui/core/adapter"
	"gatewaytui/core/model"
)

// taken posts body and returns what the gateway got of it.
func (f *fixture) taken(t *testing.T, body string, headers ...string) adapter.Inbound {
	t.Helper()
	f.chat(body, headers...).whole(t)
	got := f.gateway.messages()
	return got[len(got)-1]
}

const pirates = `"messages":[{"role":"system","content":"You are a pirate."},{"role":"developer","content":[{"type":"text","text":"Be brief."}]},
	{"role":"user","content":"My name is Bob."},{"role":"assistant","content":"Ahoy, Bob."},{"role":"user","content":"What is my name?"}]`

// CV1, TF3.
func TestCV1_TheMessagesOfARequestAreItsWholeContext(t *testing.T) {
	f := start(t, Options{}, echo)
	for name, c := range map[string]struct {
		body    string
		headers []string
		session string
	}{
		"without an id":                 {`{` + pirates + `}`, nil, requestKeys},
		"with a user, which is a label": {`{"user":"alice",` + pirates + `}`, nil, requestKeys},
		"with a conversation":           {`{"conversation":"c1",` + pirates + `}`, nil, "api:chat:c1"},
		"with a conversation's object":  {`{"conversation":{"id":"c1"},` + pirates + `}`, nil, "api:chat:c1"},
		"with the chat of Open WebUI":   {`{` + pirates + `}`, []string{"X-OpenWebUI-Chat-Id", "c2"}, "api:chat:c2"},
	} {
		t.Run(name, func(t *testing.T) {
			m := f.taken(t, c.body, c.headers...)
			if !strings.HasPrefix(m.Session, c.session) || m.Text != "What is my name?" {
				t.Errorf("session %q, text %q", m.Session, m.Text)
			}
			want := []model.Message{{Role: model.RoleUser, Content: "My name is Bob."}, {Role: model.RoleAssistant, Content: "Ahoy, Bob."}}
			if in := m.Input; !in.Given || in.System != "You are a pirate.\n\nBe brief." || !reflect.DeepEqual(in.History, want) {
				t.Errorf("the input is %+v", in)
			}
		})
	}
}

func TestCV1_WithASessionKeyTheGatewayHoldsTheHistory(t *testing.T) {
	f := start(t, Options{}, echo)
	m := f.taken(t, `{`+pirates+`}`, "X-Session-Key", "alice")
	if m.Session != "api:user:alice" || m.Text != "What is my name?" || m.Input.Given || len(m.Input.History) > 0 || m.Input.System == "" {
		t.Errorf("the message is %+v with %+v", m, m.Input)
	}
}

// The table of what becomes of each parameter: CONTRACT.md, 4 (CV2, TF17).
func TestCV2_EveryParameterIsPassedOnHonouredIgnoredByNameOrRefused(t *testing.T) {
	f := start(t, Options{}, echo)
	tools := `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"},"strict":true}}],`
	for _, c := range []struct{ name, params, wire string }{
		{"sampling", `"temperature":0.5,"top_p":0.9,"presence_penalty":1,"frequency_penalty":-1,"seed":7`, ""},
		{"both bounds", `"max_tokens":5,"max_completion_tokens":6`, ""},
		{"stop", `"stop":["a","b"]`, ""},
		{"bias", `"logit_bias":{"50256":-100}`, ""},
		{"reasoning", `"reasoning_effort":"high","verbosity":"low"`, ""},
		{"a schema", `"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{}}}`, ""},
		{"tool choice", `"tool_choice":{"type":"function","function":{"name":"f"}},"parallel_tool_calls":false`, ""},
		{"nothing that is null", `"stop":null,"tool_choice":null,"response_format":null,"temperature":null`, `{}`},
	} {
		t.Run(c.name+" is passed on", func(t *testing.T) {
			m := f.taken(t, `{`+tools+c.params+`,`+pirates+`}`)
			got, err := json.Marshal(m.Input.Params)
			if err != nil {
				t.Fatal(err)
			}
			var is, want map[string]any
			if c.wire == "" {
				c.wire = `{` + c.params + `}`
			}
			if json.Unmarshal(got, &is) != nil || json.Unmarshal([]byte(c.wire), &want) != nil || !reflect.DeepEqual(is, want) {
				t.Errorf("the model gets %s, want %s", got, c.wire)
			}
			if len(m.Input.Tools) != 1 || m.Input.Tools[0].Name != "f" || m.Input.Tools[0].Strict == nil {
				t.Errorf("the model gets the functions %+v", m.Input.Tools)
			}
		})
	}
	for _, name := range []string{"metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"} {
		f.taken(t, `{"`+name+`":{"a":1},`+pirates+`}`)
	}
	f.taken(t, `{"n":1,"logprobs":false,"top_logprobs":0,"modalities":["text"],"functions":[],"function_call":"none","audio":null,`+pirates+`}`)
	for params, code := range map[string]string{
		`"n":2`:                           "invalid_request",
		`"logprobs":true`:                 "unsupported_parameter",
		`"top_logprobs":3`:                "unsupported_parameter",
		`"modalities":["text","audio"]`:   "unsupported_parameter",
		`"audio":{"voice":"x"}`:           "unsupported_parameter",
		`"prediction":{"type":"content"}`: "unsupported_parameter",
		`"functions":[{"name":"f"}]`:      "unsupported_parameter",
		`"function_call":{"name":"f"}`:    "unsupported_parameter",
		`"web_search_options":{}`:         "unsupported_parameter",
		`"top_k":40`:                      "unsupported_parameter",
		`"temperature":3`:                 "invalid_request",
		`"temperature":"hot"`:             "invalid_request",
		`"top_p":-1`:                      "invalid_request",
		`"max_tokens":0`:                  "invalid_request",
		`"stop":7`:                        "invalid_request",
		`"response_format":"json"`:        "invalid_request",
		`"tool_choice":"sometimes"`:       "invalid_request",
		`"tool_choice":{"type":"function","function":{"name":"g"}}`:                                         "invalid_request",
		`"tools":[{"type":"web_search"}]`:                                                                   "unsupported_parameter",
		`"tools":[{"type":"function","function":{"name":"a b"}}]`:                                           "invalid_request",
		`"tools":[{"type":"function","function":{"name":"f","parameters":[]}}]`:                             "invalid_request",
		`"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]`: "invalid_request",
		`"conversation":7`: "invalid_request",
	} {
		t.Run(params+" is refused", func(t *testing.T) {
			before := len(f.gateway.messages())
			e := f.chat(`{`+params+`,`+pirates+`}`).refused(t, http.StatusBadRequest, code)
			name, _, _ := strings.Cut(params[1:], `"`)
			if e.Param == nil || !strings.HasPrefix(*e.Param, name) {
				t.Errorf("it does not blame %s: %s", name, *e.Message)
			}
			if len(f.gateway.messages()) != before {
				t.Error("the gateway got it all the same")
			}
		})
	}
}

// asksBack answers with a call of the client's function.
func asksBack(r adapter.Responder) {
	r.Ended(model.Outcome{Finish: model.FinishToolCalls, Calls: []model.ToolCall{{ID: "c1", Name: "f", Arguments: `{"a":1}`}}})
	r.Done("", nil)
}

func TestCV2_ACallOfTheClientsFunctionEndsTheAnswerWithToolCalls(t *testing.T) {
	f := start(t, Options{}, func(_ context.Context, m adapter.Inbound) error {
		asksBack(m.Responder)
		return nil
	})
	const want = `[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]`
	var plain completion
	if a := f.chat(saying("hi")); json.Unmarshal(a.body, &plain) != nil {
		t.Fatalf("%s", a.body)
	}
	calls, _ := json.Marshal(plain.Choices[0].Message.ToolCalls)
	if string(calls) != want || *plain.Choices[0].FinishReason != "tool_calls" {
		t.Errorf("the calls are %s, the reason %s", calls, *plain.Choices[0].FinishReason)
	}
	stream := string(f.chat(streaming("hi")).body)
	placed := strings.Replace(want, `{"id"`, `{"index":0,"id"`, 1)
	if !strings.Contains(stream, `"tool_calls":`+placed) || !strings.Contains(stream, `"finish_reason":"tool_calls"`) {
		t.Errorf("the stream is %s", stream)
	}
}

func TestCV2_ResultsOfTheClientsFunctionsAreTheTurnsInput(t *testing.T) {
	f := start(t, Options{}, echo)
	const talk = `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[
		{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c2","content":"two"},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"one"}]}]}`
	m := f.taken(t, talk)
	in := m.Input
	if m.Text != "" || len(in.Results) != 2 || in.Results[0].ToolCallID != "c2" || in.Results[1].Content != "one" || len(in.History) != 2 || len(in.History[1].ToolCalls) != 2 {
		t.Errorf("the input is %q and %+v", m.Text, in)
	}
}

func TestCV2_PicturesGoWithTheMessage(t *testing.T) {
	f := start(t, Options{}, echo)
	const picture = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo=","detail":"low"}}`
	m := f.taken(t, `{"messages":[{"role":"user","content":[{"type":"text","text":"What is on it?"},`+picture+`]}]}`)
	if len(m.Input.Images) != 1 || m.Input.Images[0].Detail != "low" || !strings.HasPrefix(m.Text, "What is on it?") {
		t.Errorf("the message is %q with %+v", m.Text, m.Input.Images)
	}
}
