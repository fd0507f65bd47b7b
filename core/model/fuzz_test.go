package model

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"gatewaytui/fixtures"
)

// FuzzEvents checks that any stream ends as an answer, which is the text that was handed on and a bounded
// number of tool calls, or as an error.
func FuzzEvents(f *testing.F) {
	f.Add(sse(text("a"), stopChunk, "[DONE]"))
	f.Add(": comment\n\nevent: x\ndata: {\"error\":{\"message\":\"no\"}}\n\n")
	f.Add("data: {\"choices\":[{\"in")
	f.Add("\ufeffdata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":5}]}}]}\ndata: [DONE]")
	f.Fuzz(func(t *testing.T, stream string) {
		var streamed strings.Builder
		got, err := readStream(io.NopCloser(iotest.HalfReader(strings.NewReader(stream))), &answer{kind: "text/event-stream", delta: func(s string) { streamed.WriteString(s) }})
		if err == nil && (got.Message.Content != streamed.String() || got.Message.Role != RoleAssistant || len(got.Message.ToolCalls) > maxCalls) {
			t.Errorf("%q became %+v, and %q was handed on", stream, got, &streamed)
		}
		if err != nil && (got.Message.Content != "" || got.Message.ToolCalls != nil) {
			t.Errorf("%q ended with %v and %+v", stream, err, got)
		}
	})
}

// FuzzSaid checks that an endpoint's words come out clean and bounded.
func FuzzSaid(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"\u001b[31mno","code":5}}`))
	f.Add([]byte(`{"error":"x"}`))
	f.Add([]byte(`{"detail":[1]}`))
	f.Add([]byte("<html>"))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := parseSaid(body)
		classify(0, s)
		text := clean(s.message, "key")
		if utf8.RuneCountInString(text) > maxSaid+1 || strings.ContainsAny(text, "\x1b\n\r\x00\u202e") || strings.Contains(text, "key]key") {
			t.Errorf("%q became %q", body, text)
		}
	})
}

// FuzzParseScript checks that a script is refused or can be played: no message makes it panic or grow without bound.
func FuzzParseScript(f *testing.F) {
	for _, name := range fixtures.Scripts() {
		text, err := fixtures.Script(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), "sh: ls", `{"output":"x","exit_code":1}`)
	}
	f.Add("[[rule]]\nmatch='(a)(?P<n>b)'\nreply='$1${n}$$ {{input}}'\n", "ab", "")
	f.Add("[[rule]]\ncall=[{tool='t',arguments={a=['{{number $1}}',1,inf]}}]\nmatch='(.)'\n", "7", "[]")
	f.Add("[[rule]]\nreply='x'\n[[rule]]\nreply='y'\n", "", "")
	f.Fuzz(func(t *testing.T, script, message, result string) {
		s, err := ParseScript([]byte(script))
		if err != nil {
			if s != nil || err.Error() == "" {
				t.Errorf("%q: %v, %v", script, s, err)
			}
			return
		}
		for _, request := range []Request{
			{Messages: []Message{{Role: RoleUser, Content: message}}},
			{Messages: []Message{
				{Role: RoleUser, Content: message},
				{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "a"}}},
				{Role: RoleTool, Content: result},
			}},
		} {
			facts := readFacts(request, "m")
			step := s.step(facts)
			if step.Reply != nil {
				if text, _ := step.Reply.fill(facts); len(text) > maxExpansion {
					t.Errorf("reply of %d bytes", len(text))
				}
			}
			for _, call := range step.Call {
				arguments := fillArguments(call.Arguments, facts)
				if _, raw := call.Arguments.(string); !raw && !json.Valid([]byte(arguments)) {
					t.Errorf("%q made arguments %q", script, arguments)
				}
			}
		}
	})
}
