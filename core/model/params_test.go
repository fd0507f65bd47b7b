package model

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestCV5_TheBoundOfAnAnswerAndTheReasoningReachTheEndpoint(t *testing.T) {
	p, err := NewOpenAI(OpenAIOptions{BaseURL: "http://model.test/v1", Model: "m", MaxOutput: 500, Reasoning: "low"})
	if err != nil {
		t.Fatal(err)
	}
	var sent []map[string]any
	p.(*openAI).http.Transport = &fakeNet{answer: func(_ int, req *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(req.Body)
		var wire map[string]any
		if err := json.Unmarshal(body, &wire); err != nil {
			t.Error(err)
		}
		sent = append(sent, wire)
		if strings.Contains(string(body), `"max_tokens"`) {
			return respond(400, nil, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`), nil
		}
		return respond(200, nil, sse(text("ok"), stopChunk, "[DONE]")), nil
	}}
	c := p.New()
	defer c.Close()
	for range 2 { // the second call knows
		if _, err := c.Complete(t.Context(), Request{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(sent) != 3 {
		t.Fatalf("%d requests, want 3", len(sent))
	}
	if sent[0]["max_tokens"] != 500.0 || sent[0]["reasoning_effort"] != "low" || sent[2]["max_completion_tokens"] != 500.0 || sent[2]["max_tokens"] != nil {
		t.Errorf("sent %v", sent)
	}
}
