package model

import (
	"encoding/json"
	"strings"
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

func TestCV9_PicturesOfResultsFollowTheResultsOfTheirStep(t *testing.T) {
	endpoint := &openAI{name: "m"}
	endpoint.noUsage.Store(true)
	picture := func(data string) []Image { return []Image{{URL: "data:image/png;base64," + data}} }
	calls := func(ids ...string) Message {
		m := Message{Role: RoleAssistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, ToolCall{ID: id, Name: "look", Arguments: "{}"})
		}
		return m
	}
	body, err := endpoint.encode(Request{Messages: []Message{
		calls("a", "b"),
		{Role: RoleTool, ToolCallID: "a", Content: "ra", Images: picture("AA")},
		{Role: RoleTool, ToolCallID: "b", Content: "rb"},
		calls("c"),
		{Role: RoleTool, ToolCallID: "c", Content: "rc", Images: picture("CC")},
		{Role: RoleUser, Content: "hurry"},
		calls("d"),
		{Role: RoleTool, ToolCallID: "d", Content: "rd", Images: picture("DD")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	shown := func(id, data, more string) string {
		return `{"role":"user","content":[{"type":"text","text":"[What the result of the call ` + id + ` shows:]"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `"}}` + more + `]}`
	}
	call := func(id string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"look","arguments":"{}"}}`
	}
	asks := func(calls string) string { return `{"role":"assistant","tool_calls":[` + calls + `]}` }
	result := func(id string) string {
		return `{"role":"tool","content":"r` + id + `","tool_call_id":"` + id + `"}`
	}
	want := `{"model":"m","messages":[` + strings.Join([]string{
		asks(call("a") + "," + call("b")), result("a"), result("b"), shown("a", "AA", ""), asks(call("c")), result("c"),
		shown("c", "CC", `,{"type":"text","text":"hurry"}`), asks(call("d")), result("d"), shown("d", "DD", ""),
	}, ",") + `],"stream":true}`
	if string(body) != want {
		t.Errorf("the request is\n%s\nwant\n%s", body, want)
	}
}
