package model

import (
	"encoding/json"
	"testing"
)

// CV2.
func TestCV2_ParametersAndPicturesAreInTheRequestToTheEndpoint(t *testing.T) {
	half, seven := 0.5, int64(7)
	endpoint := &openAI{name: "m"}
	endpoint.noUsage.Store(true)
	body, err := endpoint.encode(Request{
		Messages: []Message{{Role: RoleSystem, Content: "s"}, {Role: RoleUser, Content: "what?", Images: []Image{{URL: "data:image/png;base64,AA", Detail: "low"}}}},
		Params:   Params{Temperature: &half, MaxTokens: &seven, Stop: json.RawMessage(`["x"]`), ResponseFormat: json.RawMessage(`{"type":"json_object"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"what?"},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA","detail":"low"}}]}],"stream":true,` +
		`"temperature":0.5,"max_tokens":7,"stop":["x"],"response_format":{"type":"json_object"}}`
	if string(body) != want {
		t.Errorf("the request is\n%s\nwant\n%s", body, want)
	}
}

func TestAChoiceForcesACallUnlessItIsAutoOrNone(t *testing.T) {
	for choice, want := range map[string]bool{"": false, "null": false, `"auto"`: false, `"none"`: false, `"required"`: true, `{"type":"function"}`: true} {
		if got := (Params{ToolChoice: json.RawMessage(choice)}).Forces(); got != want {
			t.Errorf("%s forces: %v", choice, got)
		}
	}
}
