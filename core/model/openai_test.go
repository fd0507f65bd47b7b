package model

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
			want: Response{Message: hello, Usage: Usage{7, 3}}, deltas: []string{"Hel", "lo"},
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
				Usage:   Usage{7, 3},
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

func TestErrorsSayWhatTheEndpointSaidAndWhatToDoWithoutTheKey(t *testing.T) {
	for name, tt := range map[string]struct {
		status   int
		body     string
		stream   bool
		kind     Kind
		attempts int32
		says     []string
	}{
		"a wrong key":                       {status: 401, body: `{"error":{"message":"Incorrect API key provided: ` + testKey + `"}}`, kind: KindAuth, attempts: 1, says: []string{"401 Unauthorized", "Incorrect API key", "OPENAI_API_KEY"}},
		"a key that may not":                {status: 403, body: `{"error":"no"}`, kind: KindAuth, attempts: 1, says: []string{"403 Forbidden: no"}},
		"a model that is not there":         {status: 404, body: `{"error":{"message":"model m not found","code":"model_not_found"}}`, kind: KindNoModel, attempts: 1, says: []string{"model m not found", "model.name"}},
		"a model that is not there, as 400": {status: 400, body: `{"error":{"message":"no m","code":"model_not_found"}}`, kind: KindNoModel, attempts: 1, says: []string{"no m"}},
		"a path that is not there":          {status: 404, body: "404 page not found\n", kind: KindNoModel, attempts: 1, says: []string{"404 page not found", "model.base_url"}},
		"a transcript too long":             {status: 400, body: `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, kind: KindTooLong, attempts: 1, says: []string{"8192"}},
		"an account that is exhausted":      {status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`, kind: KindQuota, attempts: 1, says: []string{"quota"}},
		"a rate limit that does not end":    {status: 429, body: `{"message":"slow down"}`, kind: KindRateLimited, attempts: maxAttempts, says: []string{"slow down", "6 attempts"}},
		"an endpoint that stays broken":     {status: 503, body: `<html><body>nginx</body></html>`, kind: KindUnavailable, attempts: maxAttempts, says: []string{"503 Service Unavailable (6 attempts)"}},
		"another refusal":                   {status: 422, body: `{"detail":[{"msg":"bad temperature"}]}`, kind: KindRefused, attempts: 1, says: []string{"bad temperature"}},
		"hostile words":                     {status: 400, body: "{\"error\":{\"message\":\"a\\u001b]52;c;x\\u0007\\nb\\u202e" + strings.Repeat("x", 5000) + "\"}}", kind: KindRefused, attempts: 1, says: []string{"a]52;c;x b"}},
		"an error inside the stream":        {status: 200, body: sse(`{"error":{"message":"engine died"}}`), kind: KindUnavailable, attempts: maxAttempts, says: []string{"engine died"}},
		"an error inside a chunk":           {status: 200, body: sse(`{"id":"x","error":"engine died","choices":[]}`), kind: KindUnavailable, attempts: maxAttempts, says: []string{"engine died"}},
		"an error without framing":          {status: 200, body: `{"error":{"message":"maximum context length exceeded"}}` + "\n", kind: KindTooLong, attempts: 1, says: []string{"maximum context"}},
		"a chunk that is not JSON":          {status: 200, body: sse(`{"choices":}`), kind: KindBroken, attempts: 1, says: []string{"broken answer"}},
		"a stream that is cut":              {status: 200, body: "data: {\"choices\":[{\"ind", kind: KindUnavailable, attempts: maxAttempts, says: []string{"closed the connection before"}},
		"too many tool calls":               {status: 200, body: sse(`{"choices":[{"index":0,"delta":{"tool_calls":[` + strings.TrimSuffix(strings.Repeat(`{"id":"x","function":{}},`, maxCalls+1), ",") + `]}}]}`), kind: KindBroken, attempts: 1, says: []string{"128 tool calls"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, n := clientOver(t, time.Hour, func(int, *http.Request) (*http.Response, error) {
					return respond(tt.status, nil, tt.body), nil
				})
				_, err := c.Complete(t.Context(), hi, nil)
				e, ok := errors.AsType[*Error](err)
				if !ok {
					t.Fatalf("error %v, want a *model.Error", err)
				}
				wantStatus := tt.status
				if wantStatus == 200 {
					wantStatus = 0
				}
				if e.Kind != tt.kind || e.Status != wantStatus || n.Load() != tt.attempts {
					t.Errorf("kind %s, status %d after %d attempts, want %s, %d after %d (%v)", e.Kind, e.Status, n.Load(), tt.kind, wantStatus, tt.attempts, err)
				}
				for _, want := range append(tt.says, `model "m" at http://model.test/v1`) {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q does not say %q", err, want)
					}
				}
				if strings.Contains(err.Error(), testKey) {
					t.Errorf("error %q tells the key", err)
				}
				if len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
					t.Errorf("error %q is not clean and short", err)
				}
			})
		})
	}
}

func TestWhatMayBeRetriedIsRetriedWithBackoff(t *testing.T) {
	ok := func() *http.Response { return respond(200, nil, sse(text("ok"), stopChunk, "[DONE]")) }
	for name, tt := range map[string]struct {
		first    func() (*http.Response, error)
		min, max time.Duration
	}{
		"a 503":                {func() (*http.Response, error) { return respond(503, nil, ""), nil }, 200 * time.Millisecond, time.Second},
		"a failed connection":  {func() (*http.Response, error) { return nil, errors.New("connection refused") }, 200 * time.Millisecond, time.Second},
		"a stream cut at once": {func() (*http.Response, error) { return respond(200, nil, ""), nil }, 200 * time.Millisecond, time.Second},
		"a 429 that says when": {func() (*http.Response, error) { return respond(429, map[string]string{"Retry-After": "7"}, ""), nil }, 7 * time.Second, 7 * time.Second},
		"a 503 that says when, as a date": {func() (*http.Response, error) {
			return respond(503, map[string]string{"Retry-After": time.Now().Add(9 * time.Second).UTC().Format(http.TimeFormat)}, ""), nil
		}, 8 * time.Second, 9 * time.Second},
		"a 429 that asks for too much waits a minute (E8)": {func() (*http.Response, error) { return respond(429, map[string]string{"Retry-After": "600"}, ""), nil }, time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := clientOver(t, time.Hour, func(attempt int, _ *http.Request) (*http.Response, error) {
					if attempt == 1 {
						return tt.first()
					}
					return ok(), nil
				})
				start := time.Now()
				got, err := c.Complete(t.Context(), hi, func(string) {})
				if err != nil || got.Message.Content != "ok" {
					t.Fatalf("Complete = %+v, %v", got, err)
				}
				if waited := time.Since(start); waited < tt.min || waited > tt.max {
					t.Errorf("waited %s, want %s to %s", waited, tt.min, tt.max)
				}
			})
		})
	}
}

func TestDeliveredTextIsNeverRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := func(attempt int, _ *http.Request) (*http.Response, error) {
			if attempt == 1 {
				return respond(200, nil, sse(text("half"))), nil
			}
			return respond(200, nil, sse(text("whole"), "[DONE]")), nil
		}
		c, n := clientOver(t, time.Hour, cut)
		var got strings.Builder
		_, err := c.Complete(t.Context(), hi, func(s string) { got.WriteString(s) })
		if err == nil || got.String() != "half" || n.Load() != 1 {
			t.Errorf("delivered %q in %d attempts, error %v; want half, 1 and an error", &got, n.Load(), err)
		}
		c, n = clientOver(t, time.Hour, cut)
		resp, err := c.Complete(t.Context(), hi, nil)
		if err != nil || resp.Message.Content != "whole" || n.Load() != 2 {
			t.Errorf("without a listener: %q in %d attempts, error %v; want whole, 2 and none", resp.Message.Content, n.Load(), err)
		}
	})
}

func TestARetryThatTheTimeoutWouldCutIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, n := clientOver(t, 5*time.Second, func(int, *http.Request) (*http.Response, error) {
			return respond(429, map[string]string{"Retry-After": "30"}, ""), nil
		})
		start := time.Now()
		_, err := c.Complete(t.Context(), hi, nil)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Kind != KindRateLimited || n.Load() != 1 || time.Since(start) != 0 {
			t.Fatalf("after %s and %d attempts: %v; want the 429 at once", time.Since(start), n.Load(), err)
		}
		if want := "asks to wait 30s; not waited for, because 5s are left of model.timeout"; e.RetryAfter != 30*time.Second || !strings.Contains(e.Message, want) {
			t.Errorf("it says %q with %s, want %q and 30s", e.Message, e.RetryAfter, want)
		}
	})
}

// silences are the places where an endpoint may say nothing.
var silences = map[string]roundTrip{
	"before the answer": func(_ int, req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	},
	"inside the stream": func(_ int, req *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
		go io.WriteString(w, sse(text("half")))
		resp := respond(200, nil, "")
		resp.Body = r
		return resp, nil
	},
	"inside an error": func(_ int, req *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
		resp := respond(500, nil, "")
		resp.Body = r
		return resp, nil
	},
	"inside a backoff": func(int, *http.Request) (*http.Response, error) {
		return respond(429, map[string]string{"Retry-After": "50"}, ""), nil
	},
}

func TestACallEndsWhereverTheEndpointIsSilent(t *testing.T) {
	for place, answer := range silences {
		for cause, tt := range map[string]struct {
			timeout time.Duration
			end     func(c Client, cancel context.CancelFunc)
			want    func(error) bool
		}{
			"its context": {time.Hour, func(_ Client, cancel context.CancelFunc) { cancel() }, func(err error) bool { return err == context.Canceled }},
			"Close":       {time.Hour, func(c Client, _ context.CancelFunc) { c.Close() }, func(err error) bool { return err == ErrClosed }},
			"the timeout": {time.Minute, nil, func(err error) bool {
				e, ok := errors.AsType[*Error](err)
				return ok && (e.Kind == KindTimeout || place == "inside a backoff" && e.Kind == KindRateLimited)
			}},
		} {
			t.Run(place+" through "+cause, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, _ := clientOver(t, tt.timeout, answer)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					limit := tt.timeout
					if tt.end != nil {
						limit = 10 * time.Second
						time.AfterFunc(limit, func() { tt.end(c, cancel) })
					}
					start := time.Now()
					_, err := c.Complete(ctx, hi, nil)
					if !tt.want(err) || time.Since(start) > limit {
						t.Errorf("ended after %s with %v", time.Since(start), err)
					}
				})
			})
		}
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

// The tests below use real sockets: what net/http does with them is part of the promise.

func overNetwork(t *testing.T, handler http.HandlerFunc) (Provider, *httptest.Server) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Start()
	t.Cleanup(server.Close)
	p, err := NewOpenAI(OpenAIOptions{BaseURL: server.URL + "/v1/", Model: "m", Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return p, server
}

func TestCallsOneAfterAnotherShareAConnection(t *testing.T) {
	peers := map[string]bool{}
	p, _ := overNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		if r.URL.Path != "/v1/chat/completions" {
			t.Errorf("the call goes to %s", r.URL.Path) // the base URL of overNetwork ends with a slash
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{text("ok"), stopChunk, "[DONE]"} {
			io.WriteString(w, sse(piece))
			w.(http.Flusher).Flush()
		}
	})
	c := p.New()
	defer c.Close()
	for range 3 {
		if _, err := c.Complete(t.Context(), hi, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(peers) != 1 {
		t.Errorf("3 calls used %d connections, want 1", len(peers))
	}
}

// Each round has all its calls on the network at once: the endpoint answers none of them before it has the last one.
func TestManyCallsAtOnceReuseTheirConnections(t *testing.T) {
	const calls, rounds = 96, 3
	for _, tc := range []struct {
		name, proto string
		http2       bool
		connections int
		// spare is how many connections may be replaced. A slow machine can miss drainPatience, which closes a connection.
		// Without reuse rounds * calls connections are made.
		spare int
	}{
		{"over HTTP/1.1 a round has a connection for each call, and the next round the same ones", "HTTP/1.1", false, calls, calls / 4},
		{"over HTTP/2 all calls of all rounds share one connection", "HTTP/2.0", true, 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var mu sync.Mutex
			peers := map[string]int{}
			at, all := 0, make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				peers[r.RemoteAddr]++
				if r.Proto != tc.proto {
					t.Errorf("a call came over %s, want %s", r.Proto, tc.proto)
				}
				round := all
				if at++; at == calls {
					at, all = 0, make(chan struct{})
					close(round)
				}
				mu.Unlock()
				select {
				case <-round:
				case <-r.Context().Done():
					return
				}
				w.Header().Set("Content-Type", "text/event-stream")
				for _, piece := range []string{text("ok"), stopChunk, "[DONE]"} {
					io.WriteString(w, sse(piece))
					w.(http.Flusher).Flush()
				}
			}))
			server.EnableHTTP2 = tc.http2
			server.StartTLS()
			t.Cleanup(server.Close)
			provider, err := NewOpenAI(OpenAIOptions{BaseURL: server.URL + "/v1", Model: "m", Timeout: time.Minute, Calls: calls})
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AddCert(server.Certificate())
			provider.(*openAI).http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
			kept := provider.New() // as long as a client is open the idle connections are kept
			defer kept.Close()
			for range rounds {
				var group sync.WaitGroup
				for range calls {
					group.Go(func() {
						c := provider.New()
						defer c.Close()
						if _, err := c.Complete(t.Context(), hi, nil); err != nil {
							t.Error(err)
						}
					})
				}
				group.Wait()
			}
			if n := len(peers); n < tc.connections || n > tc.connections+tc.spare {
				t.Errorf("%d rounds of %d calls used %d connections, want %d and at most %d more", rounds, calls, n, tc.connections, tc.spare)
			}
		})
	}
}

func TestAServerThatAcceptsAndNeverAnswersIsLeft(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p, err := NewOpenAI(OpenAIOptions{BaseURL: "http://" + listener.Addr().String(), Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	c := p.New()
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := c.Complete(ctx, hi, nil); err != context.DeadlineExceeded || time.Since(start) > 30*time.Second {
		t.Errorf("after %s: %v, want the context's error soon after 100ms", time.Since(start), err)
	}
}

func TestCloseEndsACallOnTheNetworkAndDropsItsConnection(t *testing.T) {
	arrived, gone := make(chan struct{}), make(chan struct{})
	p, _ := overNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
		close(gone)
	})
	c := p.New()
	ended := make(chan error, 1)
	go func() {
		_, err := c.Complete(t.Context(), hi, nil)
		ended <- err
	}()
	<-arrived
	c.Close()
	if err := <-ended; err != ErrClosed {
		t.Errorf("Complete = %v, want ErrClosed", err)
	}
	<-gone
}

// A model that thinks, or writes a long tool call, moves although it says nothing: its turn is not stuck (TF16).
func TestAThoughtIsNotSilence(t *testing.T) {
	const body = "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"so\"}}]}\n\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"yes\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	c, _ := clientOver(t, time.Minute, func(int, *http.Request) (*http.Response, error) {
		return respond(200, map[string]string{"Content-Type": "text/event-stream"}, body), nil
	})
	var deltas []string
	got, err := c.Complete(t.Context(), hi, func(s string) { deltas = append(deltas, s) })
	if err != nil || got.Message.Content != "yes" {
		t.Fatalf("%+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"", "", "yes"}, deltas); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}
