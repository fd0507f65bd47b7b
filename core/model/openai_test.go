package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const testKey = "sk-canary-0123456789"

// roundTrip answers each request in turn, without a network, so that tests can run in virtual time.
type roundTrip func(attempt int, req *http.Request) (*http.Response, error)

type fakeNet struct {
	answer roundTrip
	n      atomic.Int32
}

func (f *fakeNet) RoundTrip(req *http.Request) (*http.Response, error) {
	return f.answer(int(f.n.Add(1)), req)
}

// clientOver returns a client whose requests answer gets, and the count of the requests.
func clientOver(t *testing.T, timeout time.Duration, answer roundTrip) (Client, *atomic.Int32) {
	t.Helper()
	p, err := NewOpenAI(OpenAIOptions{
		BaseURL: "http://model.test/v1", Model: "m", APIKey: testKey, KeyHint: "OPENAI_API_KEY", Timeout: timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	fake := &fakeNet{answer: answer}
	p.(*openAI).http.Transport = fake
	c := p.New()
	t.Cleanup(func() { c.Close() })
	return c, &fake.n
}

func respond(status int, header map[string]string, body string) *http.Response {
	h := http.Header{"Content-Type": {"text/event-stream"}}
	for k, v := range header {
		h.Set(k, v)
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

func text(s string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q}}]}`, s)
}

const (
	stopChunk  = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	usageChunk = `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}`
)

var hi = Request{Session: "s", Messages: []Message{{Role: RoleUser, Content: "hi"}}}

func TestAnswersAreReadInEveryShapeThatEndpointsSend(t *testing.T) {
	call := func(s string) string {
		return `{"choices":[{"index":0,"delta":{"tool_calls":[` + s + `]}}]}`
	}
	whole := `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello","tool_calls":[{"id":"a","type":"function","function":{"name":"terminal","arguments":"{}"}}]}}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`
	hello := Message{Role: RoleAssistant, Content: "Hello"}
	for name, tt := range map[string]struct {
		kind, body string
		want       Response
		deltas     []string
	}{
		"a stream with usage": {
			body: sse(text("Hel"), text("lo"), stopChunk, usageChunk, "[DONE]"),
			want: Response{Message: hello, Usage: Usage{In: 7, Out: 3}}, deltas: []string{"Hel", "lo"},
		},
		"a stream without usage": {
			body: sse(text("Hello"), stopChunk, "[DONE]"), want: Response{Message: hello}, deltas: []string{"Hello"},
		},
		"a stream that ends without the end mark": {
			body: sse(text("Hello"), stopChunk), want: Response{Message: hello}, deltas: []string{"Hello"},
		},
		"a stream without a finish reason": {
			body: sse(text("Hello"), "[DONE]"), want: Response{Message: hello}, deltas: []string{"Hello"},
		},
		"a stream whose last line has no line feed": {
			body: strings.TrimSpace(sse(text("Hello"), "[DONE]")), want: Response{Message: hello}, deltas: []string{"Hello"},
		},
		"a stream full of keep-alive comments and event names": {
			body: strings.Repeat(": PROCESSING\n\n", 1000) + "event: chunk\nid: 1\n" + sse(text("Hello"), stopChunk) + ": x\n\ndata:\n\n" + sse("[DONE]"),
			want: Response{Message: hello}, deltas: []string{"Hello"},
		},
		"an answer that talks of an \"error\"": {
			body: sse(text(`the "error" is`), stopChunk, "[DONE]"),
			want: Response{Message: Message{Role: RoleAssistant, Content: `the "error" is`}}, deltas: []string{`the "error" is`},
		},
		"an answer that the model cut at its limit": {
			body: sse(text("Hello"), `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, "[DONE]"),
			want: Response{Message: hello, Finish: FinishLength}, deltas: []string{"Hello"},
		},
		"an answer in one piece that a filter cut": {
			kind: "application/json", body: `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"content_filter"}]}`,
			want: Response{Message: hello, Finish: FinishContentFilter}, deltas: []string{"Hello"},
		},
		"a refusal": {
			body: sse(`{"choices":[{"index":0,"delta":{"refusal":"Hello"},"finish_reason":"stop"}]}`, "[DONE]"),
			want: Response{Message: hello}, deltas: []string{"Hello"},
		},
		"other choices, which were not asked for": {
			body: sse(text("Hello"), `{"choices":[{"index":1,"delta":{"content":"no"}}]}`, stopChunk, "[DONE]"),
			want: Response{Message: hello}, deltas: []string{"Hello"},
		},
		"tool calls whose pieces come mixed": {
			body: sse(
				call(`{"index":0,"id":"a","type":"function","function":{"name":"terminal","arguments":""}}`),
				call(`{"index":1,"id":"b","type":"function","function":{"name":"process","arguments":"{\"action\""}}`),
				call(`{"index":0,"function":{"arguments":"{\"command\":"}}`),
				call(`{"index":1,"function":{"arguments":":\"list\"}"}},{"index":0,"function":{"arguments":"\"ls\"}"}}`),
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]"),
			want: Response{Message: Message{Role: RoleAssistant, ToolCalls: []ToolCall{
				{ID: "a", Name: "terminal", Arguments: `{"command":"ls"}`}, {ID: "b", Name: "process", Arguments: `{"action":"list"}`},
			}}},
		},
		"tool calls without an index": {
			body: sse(
				call(`{"id":"a","function":{"name":"terminal","arguments":"{"}}`), call(`{"function":{"arguments":"}"}}`),
				call(`{"id":"b","function":{"name":"process","arguments":"{}"}}`), "[DONE]"),
			want: Response{Message: Message{Role: RoleAssistant, ToolCalls: []ToolCall{
				{ID: "a", Name: "terminal", Arguments: "{}"}, {ID: "b", Name: "process", Arguments: "{}"},
			}}},
		},
		"an answer in one piece": {
			kind: "application/json; charset=utf-8", body: whole,
			want: Response{
				Message: Message{Role: RoleAssistant, Content: "Hello", ToolCalls: []ToolCall{{ID: "a", Name: "terminal", Arguments: "{}"}}},
				Usage:   Usage{In: 7, Out: 3},
			},
			deltas: []string{"Hello"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := clientOver(t, time.Minute, func(int, *http.Request) (*http.Response, error) {
				if tt.kind != "" {
					return respond(200, map[string]string{"Content-Type": tt.kind}, tt.body), nil
				}
				return respond(200, nil, tt.body), nil
			})
			var deltas []string
			got, err := c.Complete(t.Context(), hi, func(s string) {
				if s != "" { // what moved without a text: see TestAThoughtIsNotSilence
					deltas = append(deltas, s)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("response (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.deltas, deltas); diff != "" {
				t.Errorf("deltas (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAToolCallWithoutAnIDGetsOne(t *testing.T) {
	c, _ := clientOver(t, 0, func(int, *http.Request) (*http.Response, error) {
		one := `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"name":"t","arguments":"{}"}}]}}]}`
		return respond(200, nil, sse(fmt.Sprintf(one, 0), fmt.Sprintf(one, 1), "[DONE]")), nil
	})
	got, err := c.Complete(t.Context(), hi, nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := got.Message.ToolCalls
	if len(calls) != 2 || calls[0].ID == "" || calls[0].ID == calls[1].ID {
		t.Errorf("tool calls %+v, want two with ids of their own", calls)
	}
}

func TestTheRequestIsWhatTheProtocolSays(t *testing.T) {
	var got map[string]any
	var header http.Header
	var path string
	c, _ := clientOver(t, 0, func(_ int, req *http.Request) (*http.Response, error) {
		header, path = req.Header, req.URL.Path
		if err := json.NewDecoder(req.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		return respond(200, nil, sse(text("ok"), "[DONE]")), nil
	})
	_, err := c.Complete(t.Context(), Request{
		Messages: []Message{
			{Role: RoleSystem, Content: "sys"},
			{Role: RoleUser, Content: "u"},
			{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "a", Name: "terminal", Arguments: "{}"}}},
			{Role: RoleTool, ToolCallID: "a"},
		},
		Tools: []ToolSpec{{Name: "terminal", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if path != "/v1/chat/completions" || header.Get("Authorization") != "Bearer "+testKey {
		t.Errorf("path %q, authorization %q", path, header.Get("Authorization"))
	}
	want := map[string]any{
		"model": "m", "stream": true, "stream_options": map[string]any{"include_usage": true},
		"messages": []any{
			map[string]any{"role": "system", "content": "sys"},
			map[string]any{"role": "user", "content": "u"},
			map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"id": "a", "type": "function", "function": map[string]any{"name": "terminal", "arguments": "{}"},
			}}},
			map[string]any{"role": "tool", "tool_call_id": "a", "content": "(empty)"},
		},
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{
			"name": "terminal", "description": "d", "parameters": map[string]any{"type": "object"},
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestAnEndpointThatRefusesStreamOptionsIsAskedWithoutThem(t *testing.T) {
	var asked []bool
	c, _ := clientOver(t, 0, func(_ int, req *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(req.Body)
		with := strings.Contains(string(body), "stream_options")
		asked = append(asked, with)
		if with {
			return respond(400, nil, `{"error":{"message":"unknown field stream_options"}}`), nil
		}
		return respond(200, nil, sse(text("ok"), "[DONE]")), nil
	})
	for range 2 {
		if _, err := c.Complete(t.Context(), hi, nil); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]bool{true, false, false}, asked); diff != "" {
		t.Errorf("requests with stream_options (-want +got):\n%s", diff)
	}
}

func TestAClosedClientMakesNoCall(t *testing.T) {
	c, n := clientOver(t, 0, func(int, *http.Request) (*http.Response, error) { return nil, errors.New("called") })
	for range 3 {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := c.Complete(t.Context(), hi, nil); err != ErrClosed || n.Load() != 0 {
		t.Errorf("Complete = %v after %d requests, want ErrClosed after none", err, n.Load())
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, respondTo := range map[string]func() *http.Response{
		"one line": func() *http.Response {
			return respond(200, nil, "data: "+strings.Repeat(long, maxAnswer>>20+1))
		},
		"many lines": func() *http.Response {
			return respond(200, nil, strings.Repeat(sse(text(long)), maxAnswer>>20+1))
		},
		"one piece": func() *http.Response {
			return respond(200, map[string]string{"Content-Type": "application/json"}, strings.Repeat(long, maxAnswer>>20+1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, n := clientOver(t, time.Minute, func(int, *http.Request) (*http.Response, error) { return respondTo(), nil })
			_, err := c.Complete(t.Context(), hi, nil)
			if e, ok := errors.AsType[*Error](err); !ok || e.Kind != KindBroken || n.Load() != 1 || !strings.Contains(err.Error(), "16 MiB") {
				t.Errorf("%d attempts, %v; want one and the bound", n.Load(), err)
			}
		})
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	good := OpenAIOptions{BaseURL: "https://api.test/v1", Model: "m"}
	if _, err := NewOpenAI(good); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]OpenAIOptions{
		"no URL":         {Model: "m"},
		"no scheme":      {BaseURL: "127.0.0.1:11434/v1", Model: "m"},
		"another scheme": {BaseURL: "ftp://h/v1", Model: "m"},
		"a key in it":    {BaseURL: "http://u:" + testKey + "@h/v1", Model: "m"},
		"a key after it": {BaseURL: "http://h/v1?key=" + testKey, Model: "m"},
		"no model":       {BaseURL: "http://h/v1", Model: " "},
	} {
		_, err := NewOpenAI(o)
		if err == nil || !strings.Contains(err.Error(), "model.") || strings.Contains(err.Error(), testKey) {
			t.Errorf("%s: %v, want an error that names the config key and no secret", name, err)
		}
	}
}
