package model

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// messages is a double of Anthropic's API: it refuses what that refuses, keeps what it was sent, and answers with a stream.
type messages struct {
	t      *testing.T
	sent   []messageRequest
	answer func(n int) *http.Response
}

// event is one event of a stream.
func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

// streamed is a stream that ends with a reason, after blocks.
func streamed(reason string, blocks ...string) string {
	return event("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}}}`) +
		event("ping", `{"type":"ping"}`) + strings.Join(blocks, "") +
		event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":7}}`) +
		event("message_stop", `{"type":"message_stop"}`)
}

const (
	saidHello = `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

`
	thought = `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hmm."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQ"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

`
	called = `event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"terminal","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"command\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

`
)

func (d *messages) RoundTrip(r *http.Request) (*http.Response, error) {
	refuse := func(why string) (*http.Response, error) {
		d.t.Errorf("the double refuses: %s", why)
		return respond(400, nil, `{"type":"error","error":{"type":"invalid_request_error","message":"`+why+`"}}`), nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var q messageRequest
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	switch err := decoder.Decode(&q); {
	case err != nil:
		return refuse(err.Error())
	case r.URL.String() != "https://api.anthropic.com/v1/messages":
		return refuse("address " + r.URL.String())
	case r.Header.Get("X-Api-Key") != testKey || r.Header.Get("Authorization") != "" || r.Header.Get("Anthropic-Version") != "2023-06-01":
		return refuse("a header is wrong")
	case q.MaxTokens < 1 || !q.Stream || q.Model != "claude":
		return refuse("a field is wrong")
	}
	open := map[string]bool{} // calls without a result
	for i, m := range q.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			return refuse("roles do not alternate")
		}
		answered := map[string]bool{}
		for _, b := range m.Content {
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) == "":
				return refuse("text content blocks must be non-empty")
			case b.Type == "tool_result" && (m.Role != "user" || !open[b.CallID]):
				return refuse("a result without its call in the message before")
			case b.Type == "tool_result":
				answered[b.CallID] = true
			case b.Type == "tool_use" && (b.Input == nil || b.Input[0] != '{' || strings.ContainsAny(b.ID, "/. ")):
				return refuse("a call is wrong")
			}
		}
		if len(answered) != len(open) {
			return refuse("tool_use ids were found without tool_result blocks immediately after")
		}
		clear(open)
		for _, b := range m.Content {
			if b.Type == "tool_use" {
				open[b.ID] = true
			}
		}
	}
	d.sent = append(d.sent, q)
	return d.answer(len(d.sent)), nil
}

// anthropicOver is a client of the double.
func anthropicOver(t *testing.T, o OpenAIOptions, answer func(n int) *http.Response) (Client, *messages) {
	t.Helper()
	o.Model, o.APIKey, o.KeyHint, o.Table = "claude", testKey, "ANTHROPIC_API_KEY", "models.claude"
	p, err := NewAnthropic(o)
	if err != nil {
		t.Fatal(err)
	}
	d := &messages{t: t, answer: answer}
	p.(*openAI).http.Transport = d
	c := p.New()
	t.Cleanup(func() { c.Close() })
	return c, d
}

func stream(text string) func(int) *http.Response {
	return func(int) *http.Response { return respond(200, nil, text) }
}

func TestCV5_AnthropicsAPIIsSpokenByHand(t *testing.T) {
	t.Run("text, with what came from the cache", func(t *testing.T) {
		c, _ := anthropicOver(t, OpenAIOptions{}, stream(streamed("end_turn", saidHello)))
		var deltas []string
		got, err := c.Complete(t.Context(), Request{Messages: []Message{{Role: RoleUser, Content: "hi"}}}, func(s string) { deltas = append(deltas, s) })
		want := Response{Message: Message{Role: RoleAssistant, Content: "Hello"}, Usage: Usage{In: 330, Cached: 300, Out: 7}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil || strings.Join(deltas, "") != "Hello" {
			t.Errorf("%v, deltas %q\n%s", err, deltas, diff)
		}
	})
	t.Run("thoughts are left out, calls are whole", func(t *testing.T) {
		c, _ := anthropicOver(t, OpenAIOptions{}, stream(streamed("tool_use", thought, called)))
		got, err := c.Complete(t.Context(), Request{Messages: []Message{{Role: RoleUser, Content: "hi"}}}, nil)
		want := []ToolCall{{"toolu_1", "terminal", `{"command":"ls"}`}, {"toolu_2", "list", "{}"}}
		if diff := cmp.Diff(want, got.Message.ToolCalls); diff != "" || err != nil || got.Message.Content != "" || got.Finish != "" {
			t.Errorf("%v, %+v\n%s", err, got, diff)
		}
	})
	for reason, want := range map[string]Finish{"max_tokens": FinishLength, "refusal": FinishContentFilter, "stop_sequence": "", "pause_turn": ""} {
		t.Run("an answer that ends with "+reason, func(t *testing.T) {
			c, _ := anthropicOver(t, OpenAIOptions{}, stream(streamed(reason, saidHello)))
			got, err := c.Complete(t.Context(), Request{Messages: []Message{{Role: RoleUser, Content: "hi"}}}, nil)
			if err != nil || got.Finish != want {
				t.Errorf("finish %q, %v; want %q", got.Finish, err, want)
			}
		})
	}
	t.Run("an answer in one piece", func(t *testing.T) {
		c, _ := anthropicOver(t, OpenAIOptions{}, func(int) *http.Response {
			return respond(200, map[string]string{"Content-Type": "application/json"}, `{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"Hello"},`+
				`{"type":"tool_use","id":"t","name":"list","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`)
		})
		got, err := c.Complete(t.Context(), Request{Messages: []Message{{Role: RoleUser, Content: "hi"}}}, nil)
		want := Response{Message: Message{Role: RoleAssistant, Content: "Hello", ToolCalls: []ToolCall{{"t", "list", `{"a":1}`}}}, Usage: Usage{In: 3, Out: 4}}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
	})
}

func TestCV5_ATranscriptHasTheFormThatAnthropicsAPIWants(t *testing.T) {
	c, d := anthropicOver(t, OpenAIOptions{MaxOutput: 1000, Reasoning: "high"}, stream(streamed("end_turn", saidHello)))
	req := Request{
		Messages: []Message{
			{Role: RoleSystem, Content: "Be brief."},
			{Role: RoleAssistant, Content: "cut off before this"},
			{Role: RoleUser, Content: "look", Images: []Image{{URL: "data:image/png;base64,AA"}, {URL: "https://x.test/a.png"}}},
			{Role: RoleAssistant, ToolCalls: []ToolCall{{"call-01/1-0-0", "terminal", `{"command":"ls"}`}, {"b", "list", "not JSON"}}},
			{Role: RoleTool, ToolCallID: "call-01/1-0-0", Content: ""},
			{Role: RoleTool, ToolCallID: "b", Content: "[]", Images: []Image{{URL: "data:image/jpeg;base64,BB"}}},
			{Role: RoleUser, Content: "and?"},
			{Role: RoleUser, Content: " "},
		},
		Tools:  []ToolSpec{{Name: "terminal", Description: "runs a command", Schema: json.RawMessage(`{"type":"object"}`)}},
		Params: Params{Temperature: new(0.5), MaxTokens: new(int64(5000)), Stop: json.RawMessage(`"END"`), ToolChoice: json.RawMessage(`{"type":"function","function":{"name":"terminal"}}`), ParallelToolCalls: new(false)},
	}
	if _, err := c.Complete(t.Context(), req, nil); err != nil {
		t.Fatal(err)
	}
	ephemeral := &cacheControl{"ephemeral"}
	want := messageRequest{
		Model: "claude", MaxTokens: 1000, Stream: true, Temperature: new(0.5), Stop: []string{"END"}, Output: &messageOutput{"high"},
		System:     []block{{Type: "text", Text: "Be brief.", Cache: ephemeral}},
		Tools:      []messageTool{{"terminal", "runs a command", json.RawMessage(`{"type":"object"}`)}},
		ToolChoice: &messageChoice{Type: "tool", Name: "terminal", NoParallel: true},
		Messages: []blocks{
			{"user", []block{{Type: "text", Text: "(the conversation goes on)"}}},
			{"assistant", []block{{Type: "text", Text: "cut off before this"}}},
			{"user", []block{
				{Type: "image", Source: &imageSource{Type: "base64", MediaType: "image/png", Data: "AA"}},
				{Type: "image", Source: &imageSource{Type: "url", URL: "https://x.test/a.png"}},
				{Type: "text", Text: "look"},
			}},
			{"assistant", []block{
				{Type: "tool_use", ID: "call-01_1-0-0", Name: "terminal", Input: json.RawMessage(`{"command":"ls"}`)},
				{Type: "tool_use", ID: "b", Name: "list", Input: json.RawMessage(`{}`)},
			}},
			{"user", []block{
				{Type: "tool_result", CallID: "call-01_1-0-0", Result: ""},
				{Type: "tool_result", CallID: "b", Result: []any{ // as the double reads it
					map[string]any{"type": "text", "text": "[]"},
					map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/jpeg", "data": "BB"}},
				}},
				{Type: "text", Text: "and?"},
				{Type: "text", Text: "(empty)", Cache: ephemeral},
			}},
		},
	}
	if diff := cmp.Diff([]messageRequest{want}, d.sent); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestCV5_AParameterThatAnthropicsAPIDoesNotHaveIsRefusedByName(t *testing.T) {
	for name, params := range map[string]Params{
		"response_format \"json_object\"": {ResponseFormat: json.RawMessage(`{"type":"json_object"}`)},
		"seed":                            {Seed: new(int64(1))},
		"presence_penalty":                {PresencePenalty: new(1.0)},
		"logit_bias":                      {LogitBias: map[string]float64{"1": 1}},
	} {
		c, d := anthropicOver(t, OpenAIOptions{}, nil)
		_, err := c.Complete(t.Context(), Request{Params: params}, nil)
		if e, is := errors.AsType[*Error](err); !is || e.Kind != KindRefused || !strings.Contains(e.Message, "has no parameter "+name) || len(d.sent) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCV5_AFailureOfAnthropicsAPIIsUnderstood(t *testing.T) {
	failure := func(status int, header map[string]string, kind, message string) func(int) *http.Response {
		return func(int) *http.Response {
			return respond(status, header, `{"type":"error","error":{"type":"`+kind+`","message":"`+message+`"}}`)
		}
	}
	for name, tt := range map[string]struct {
		answer   func(int) *http.Response
		kind     Kind
		attempts int
		says     string
	}{
		"overloaded":               {failure(529, nil, "overloaded_error", "Overloaded"), KindUnavailable, maxAttempts, "Overloaded"},
		"overloaded in a stream":   {stream(event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), KindUnavailable, maxAttempts, "Overloaded"},
		"a rate limit":             {failure(429, map[string]string{"Retry-After": "3"}, "rate_limit_error", "slow down"), KindRateLimited, maxAttempts, "asks to wait 3s"},
		"a wrong key":              {failure(401, nil, "authentication_error", "invalid x-api-key"), KindAuth, 1, "ANTHROPIC_API_KEY"},
		"no such model":            {failure(404, nil, "not_found_error", "model: claude"), KindNoModel, 1, "models.claude.name"},
		"too long":                 {failure(400, nil, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), KindTooLong, 1, "210000"},
		"too long with the answer": {failure(400, nil, "invalid_request_error", "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000"), KindTooLong, 1, "198000"},
		"an empty account":         {failure(400, nil, "invalid_request_error", "Your credit balance is too low to access the API"), KindQuota, 1, "credit balance"},
		"another refusal":          {failure(400, nil, "invalid_request_error", "temperature: range 0..1"), KindRefused, 1, "range 0..1"},
		"a stream that is cut":     {stream(strings.TrimSuffix(streamed("end_turn", saidHello), event("message_stop", `{"type":"message_stop"}`))[:400]), KindUnavailable, maxAttempts, "closed the connection"},
		"a web page": {func(int) *http.Response {
			return respond(200, map[string]string{"Content-Type": "text/html"}, "<html>")
		}, KindNotAModel, 1, "a web page"},
		"other JSON": {func(int) *http.Response {
			return respond(200, map[string]string{"Content-Type": "application/json"}, `{"ok":true}`)
		}, KindNotAModel, 1, "not a model's answer"},
		"an event that is not JSON": {stream(event("message_start", `{"type":`)), KindBroken, 1, "broken answer"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, d := anthropicOver(t, OpenAIOptions{Timeout: 10 * time.Minute}, tt.answer)
				_, err := c.Complete(t.Context(), Request{Messages: []Message{{Role: RoleUser, Content: "hi"}}}, nil)
				e, is := errors.AsType[*Error](err)
				if !is || e.Kind != tt.kind || len(d.sent) != tt.attempts || !strings.Contains(e.Message, tt.says) || strings.Contains(e.Message, testKey) {
					t.Errorf("%v after %d attempts; want %s with %q after %d", err, len(d.sent), tt.kind, tt.says, tt.attempts)
				}
			})
		})
	}
}

func TestAnthropicsAddressIsItsOwnUnlessTheConfigHasAnother(t *testing.T) {
	for in, want := range map[string]string{
		"": "https://api.anthropic.com/v1", "https://proxy.test": "https://proxy.test/v1", "https://proxy.test/": "https://proxy.test/v1", "https://proxy.test/a/v1/": "https://proxy.test/a/v1",
	} {
		p, err := NewAnthropic(OpenAIOptions{BaseURL: in, Model: "m"})
		if err != nil || p.(*openAI).at != want {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

// FuzzMessageEvents is FuzzEvents for the events of Anthropic's API.
func FuzzMessageEvents(f *testing.F) {
	f.Add(streamed("end_turn", thought, saidHello, called))
	f.Add(event("error", `{"type":"error","error":{"type":"overloaded_error"}}`))
	f.Add(event("content_block_delta", `{"type":"content_block_delta","index":9,"delta":{"type":"input_json_delta","partial_json":"{"}}`) + event("message_stop", `{"type":"message_stop"}`))
	f.Add(event("content_block_start", `{"type":"content_block_start","index":-1,"content_block":{"type":"tool_use","input":{"a":1}}}`))
	f.Fuzz(func(t *testing.T, stream string) {
		var handed strings.Builder
		p := anthropic{&openAI{}}
		got, err := p.read("text/event-stream", io.NopCloser(iotest.HalfReader(strings.NewReader(stream))), func(s string) { handed.WriteString(s) })
		if err == nil && (got.Message.Content != handed.String() || len(got.Message.ToolCalls) > maxCalls || got.Usage.In < 0 || got.Usage.Cached > got.Usage.In) {
			t.Errorf("%q became %+v, and %q was handed on", stream, got, &handed)
		}
	})
}
