package model

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
)

// The chat-completions protocol (https://platform.openai.com/docs/api-reference/chat), as far as the gateway uses it.

type wireRequest struct {
	Model         string          `json:"model"`
	Messages      any             `json:"messages"` // of type wireMessage, or with pictures also of seen
	Stream        bool            `json:"stream"`
	StreamOptions map[string]bool `json:"stream_options,omitempty"`
	Params
}

// wireMessage is a message, or in a stream a piece of one.
type wireMessage struct {
	Role    string `json:"role"`
	Content string `json:"content,omitempty"`
	// Refusal stands where the text would.
	Refusal    string     `json:"refusal,omitempty"`
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// wireCall is a tool call, or in a stream a piece of one, which then has the Index of its call.
type wireCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

// wirePart is a part of a user's message that is more than text.
type wirePart struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	Image *Image `json:"image_url,omitempty"`
}

// seen is a user's message with pictures.
type seen struct {
	Role    string     `json:"role"`
	Content []wirePart `json:"content"`
}

type wireFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
}

type wireTool struct {
	Type     string   `json:"type"`
	Function ToolSpec `json:"function"`
}

// wireAnswer is an answer in one piece, with a Message in its choice, or a piece of a stream, with a Delta.
type wireAnswer struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int         `json:"index"`
		Message      wireMessage `json:"message"`
		Delta        wireMessage `json:"delta"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
	Usage *wireUsage `json:"usage"`
}

// wireUsage is what an answer cost. Endpoints that tell of their cache do so in one of two ways; few tell of money.
type wireUsage struct {
	In      int64 `json:"prompt_tokens"`
	Out     int64 `json:"completion_tokens"`
	Details struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Hit  int64    `json:"prompt_cache_hit_tokens"`
	Cost *float64 `json:"cost"`
}

// usage is u with nothing negative in it, and no more cached than sent.
func (u wireUsage) usage() Usage {
	out := Usage{In: max(u.In, 0), Out: max(u.Out, 0)}
	out.Cached = min(max(u.Details.Cached, u.Hit, 0), out.In)
	if u.Cost != nil && *u.Cost >= 0 {
		out.Cost, out.Priced = *u.Cost, true
	}
	return out
}

// params are q with what the model's config says: its reasoning where q names none, and its bound of an answer as the most.
func (p *openAI) params(q Params) Params {
	q.ReasoningEffort = cmp.Or(q.ReasoningEffort, p.reasoning)
	if most := int64(p.maxOutput); most > 0 {
		switch {
		case q.MaxTokens != nil:
			q.MaxTokens = new(min(*q.MaxTokens, most))
		case q.MaxCompletionTokens == nil:
			q.MaxTokens = &most
		}
		if q.MaxCompletionTokens != nil {
			q.MaxCompletionTokens = new(min(*q.MaxCompletionTokens, most))
		}
	}
	if p.maxCompletion.Load() && q.MaxTokens != nil {
		q.MaxTokens, q.MaxCompletionTokens = nil, cmp.Or(q.MaxCompletionTokens, q.MaxTokens)
	}
	return q
}

// withUsage asks for the usage at the end of a stream.
var withUsage = map[string]bool{"include_usage": true}

// encode is req in the endpoint's words. Always a stream: it shows that the model lives, and ends early when asked.
func (p *openAI) encode(req Request) ([]byte, error) {
	wire := wireRequest{Model: p.name, Stream: true, Params: p.params(req.Params)}
	if !p.noUsage.Load() {
		wire.StreamOptions = withUsage
	}
	plain := make([]wireMessage, len(req.Messages))
	for i, m := range req.Messages {
		out := wireMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls, wireCall{ID: c.ID, Type: "function", Function: wireFunction{c.Name, c.Arguments}})
		}
		if out.Content == "" && len(out.ToolCalls) == 0 {
			out.Content = "(empty)" // endpoints refuse a message without a content
		}
		plain[i] = out
	}
	if wire.Messages = plain; pictured(req.Messages) {
		wire.Messages = withImages(req.Messages, plain)
	}
	body, err := json.Marshal(wire)
	if err != nil || len(req.Tools) == 0 {
		return body, err
	}
	tools, err := p.written(req.Tools)
	if err != nil {
		return nil, err
	}
	body = append(body[:len(body)-1], `,"tools":`...)
	return append(append(body, tools...), '}'), nil
}

// mostWritten bounds the tools that stay in memory, in bytes: a client of the API may send its own.
const mostWritten = 64 << 10

// writtenTools is tools as the endpoint reads them.
type writtenTools struct {
	first *ToolSpec
	n     int
	text  []byte
}

// written is tools as the endpoint reads them. The agents of a definition share their specs, which are written once.
func (p *openAI) written(specs []ToolSpec) ([]byte, error) {
	if w := p.tools.Load(); w != nil && w.first == &specs[0] && w.n == len(specs) {
		return w.text, nil
	}
	tools := make([]wireTool, len(specs))
	for i, t := range specs {
		tools[i] = wireTool{"function", t}
	}
	text, err := json.Marshal(tools)
	if err == nil && len(text) <= mostWritten {
		p.tools.Store(&writtenTools{first: &specs[0], n: len(specs), text: text})
	}
	return text, err
}

// withImages is messages with their pictures; plain is the same without. The result of a tool has text alone in this protocol, so that its
// pictures follow all results of a step, in the user's next message or in one of their own.
func withImages(messages []Message, plain []wireMessage) (all []any) {
	var results []wirePart
	user := func(parts []wirePart) { all = append(all, seen{Role: string(RoleUser), Content: parts}) }
	for i, m := range messages {
		if m.Role == RoleTool {
			all = append(all, plain[i])
			if len(m.Images) > 0 {
				results = append(results, partsOf("[What the result of the call "+m.ToolCallID+" shows:]", m.Images)...)
			}
			continue
		}
		switch {
		case m.Role == RoleUser && len(results)+len(m.Images) > 0: // some endpoints refuse two messages of one role in a row
			user(append(results, partsOf(m.Content, m.Images)...))
		case len(results) > 0:
			user(results)
			all = append(all, plain[i])
		default:
			all = append(all, plain[i])
		}
		results = nil
	}
	if len(results) > 0 {
		user(results)
	}
	return all
}

// partsOf is a text, if there is one, and pictures.
func partsOf(text string, images []Image) (parts []wirePart) {
	if text != "" {
		parts = append(parts, wirePart{Type: "text", Text: text})
	}
	for _, i := range images {
		parts = append(parts, wirePart{Type: "image_url", Image: &i})
	}
	return parts
}

// toolCall is a call as the transcript holds it. The result refers to it by id, so one without gets one.
func toolCall(id, name, arguments string) ToolCall {
	if id == "" {
		id = "call_" + rand.Text()
	}
	return ToolCall{ID: id, Name: name, Arguments: arguments}
}
