package api

import (
	"encoding/json"

	"gatewaytui/core/model"
)

// chatForm writes an answer as a chat completion (https://platform.openai.com/docs/api-reference/chat).
type chatForm struct {
	id, model string
	created   int64
	// usage means that the end of a stream says what the answer cost.
	usage bool
}

type message struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	// ToolCalls are what the client must run.
	ToolCalls []wireCall `json:"tool_calls,omitempty"`
}

// wireCall is a call of a client's function. Index is its place, in a stream alone.
type wireCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// wireCalls are calls as clients read them; with their places for a stream.
func wireCalls(calls []model.ToolCall, placed bool) []wireCall {
	out := make([]wireCall, len(calls))
	for i, c := range calls {
		out[i] = wireCall{ID: c.ID, Type: "function", Function: wireFunction{c.Name, c.Arguments}}
		if placed {
			out[i].Index = &i
		}
	}
	return out
}

type choice struct {
	Index   int      `json:"index"`
	Message *message `json:"message,omitempty"`
	Delta   *message `json:"delta,omitempty"`
	// FinishReason is null in a stream until its end.
	FinishReason *string `json:"finish_reason"`
}

// completion is an answer, or a piece of one.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

func (f chatForm) completion(object string, u *usage, choices ...choice) []byte {
	if choices == nil {
		choices = []choice{} // clients iterate over it
	}
	// Strings and numbers always encode.
	out, _ := json.Marshal(completion{ID: f.id, Object: object, Created: f.created, Model: f.model, Choices: choices, Usage: u})
	return out
}

func (f chatForm) whole(text string, o outcome) []byte {
	return f.completion("chat.completion", o.usage, choice{
		Message: &message{Role: "assistant", Content: &text, ToolCalls: wireCalls(o.calls, false)}, FinishReason: &o.finish,
	})
}

// chunk is one piece of a stream.
func (f chatForm) chunk(c choice) []byte { return event(f.completion("chat.completion.chunk", nil, c)) }

func (f chatForm) begin() []byte {
	empty := ""
	return f.chunk(choice{Delta: &message{Role: "assistant", Content: &empty}})
}

// silence is a piece without words: go-openai takes a comment for a part of an error that comes later.
func (f chatForm) silence() []byte { return f.chunk(choice{Delta: &message{}}) }

func (f chatForm) piece(text string) []byte { return f.chunk(choice{Delta: &message{Content: &text}}) }

func (f chatForm) end(_ string, o outcome) []byte {
	var out []byte
	if len(o.calls) > 0 {
		out = f.chunk(choice{Delta: &message{ToolCalls: wireCalls(o.calls, true)}})
	}
	out = append(out, f.chunk(choice{Delta: &message{}, FinishReason: &o.finish})...)
	if f.usage && o.usage != nil {
		out = append(out, event(f.completion("chat.completion.chunk", o.usage))...)
	}
	return append(out, event([]byte("[DONE]"))...)
}

func (f chatForm) failed(p *problem) []byte { return event(p.body()) }

func event(data []byte) []byte {
	return append(append([]byte("data: "), data...), "\n\n"...)
}
