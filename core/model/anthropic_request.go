package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// messageRequest is a request of the messages API.
type messageRequest struct {
	Model       string         `json:"model"`
	MaxTokens   int64          `json:"max_tokens"`
	Stream      bool           `json:"stream"`
	System      []block        `json:"system,omitempty"`
	Messages    []blocks       `json:"messages"`
	Tools       []messageTool  `json:"tools,omitempty"`
	ToolChoice  *messageChoice `json:"tool_choice,omitempty"`
	Temperature *float64       `json:"temperature,omitempty"`
	TopP        *float64       `json:"top_p,omitempty"`
	Stop        []string       `json:"stop_sequences,omitempty"`
	Output      *messageOutput `json:"output_config,omitempty"`
}

type messageOutput struct {
	Effort string `json:"effort"`
}

type messageTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
}

type messageChoice struct {
	Type       string `json:"type"`
	Name       string `json:"name,omitempty"`
	NoParallel bool   `json:"disable_parallel_tool_use,omitempty"`
}

// blocks is a message: who speaks, and what.
type blocks struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a block of content of a request.
type block struct {
	Type   string          `json:"type"`
	Text   string          `json:"text,omitempty"`
	ID     string          `json:"id,omitempty"`
	Name   string          `json:"name,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	CallID string          `json:"tool_use_id,omitempty"`
	Result any             `json:"content,omitempty"` // of a call: a text, or blocks
	Source *imageSource    `json:"source,omitempty"`
	// Cache marks the end of a part that the endpoint may keep for the next request.
	Cache *cacheControl `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type imageSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// message is req in the endpoint's words. Always a stream, as for other endpoints. The endpoint may keep the system prompt with the
// tools, and the conversation up to its last message. The error is an *Error about a parameter that it does not have.
func (p anthropic) message(req Request) (messageRequest, error) {
	q := p.params(req.Params)
	if name := unknownToMessages(q); name != "" {
		return messageRequest{}, &Error{Kind: KindRefused, Message: "has no parameter " + name}
	}
	most := cmp.Or(q.MaxCompletionTokens, q.MaxTokens)
	if most == nil {
		most = new(int64(defaultOutput))
	}
	wire := messageRequest{Model: p.name, MaxTokens: *most, Stream: true, Temperature: q.Temperature, TopP: q.TopP, Stop: stops(q.Stop)}
	if q.ReasoningEffort != "" {
		wire.Output = &messageOutput{q.ReasoningEffort}
	}
	for _, t := range req.Tools {
		wire.Tools = append(wire.Tools, messageTool{t.Name, t.Description, t.Schema})
	}
	if len(wire.Tools) > 0 {
		wire.ToolChoice = choice(q)
	}
	for _, m := range req.Messages {
		if m.Role == RoleSystem {
			if m.Content != "" {
				wire.System = append(wire.System, block{Type: "text", Text: m.Content})
			}
			continue
		}
		wire.add(m)
	}
	if len(wire.Messages) == 0 || wire.Messages[0].Role != string(RoleUser) { // the API wants a user to begin
		wire.Messages = append([]blocks{{string(RoleUser), []block{{Type: "text", Text: "(the conversation goes on)"}}}}, wire.Messages...)
	}
	kept := &cacheControl{"ephemeral"}
	if n := len(wire.System); n > 0 {
		wire.System[n-1].Cache = kept
	}
	last := wire.Messages[len(wire.Messages)-1].Content
	last[len(last)-1].Cache = kept
	return wire, nil
}

// add adds a message. What one side says in a row is one message of several blocks: the results of tools too, which are the user's.
func (w *messageRequest) add(m Message) {
	role, content := string(RoleUser), []block(nil)
	switch m.Role {
	case RoleTool:
		content = []block{{Type: "tool_result", CallID: callID(m.ToolCallID), Result: resultOf(m)}}
	case RoleAssistant:
		role = string(RoleAssistant)
		if strings.TrimSpace(m.Content) != "" {
			content = append(content, block{Type: "text", Text: m.Content})
		}
		for _, c := range m.ToolCalls {
			content = append(content, block{Type: "tool_use", ID: callID(c.ID), Name: c.Name, Input: object(c.Arguments)})
		}
	default:
		content = shown(m.Images)
		if strings.TrimSpace(m.Content) != "" {
			content = append(content, block{Type: "text", Text: m.Content})
		}
	}
	if len(content) == 0 {
		content = []block{{Type: "text", Text: "(empty)"}} // the API refuses a message without a content
	}
	if n := len(w.Messages); n > 0 && w.Messages[n-1].Role == role {
		w.Messages[n-1].Content = append(w.Messages[n-1].Content, content...)
		return
	}
	w.Messages = append(w.Messages, blocks{role, content})
}

// resultOf is the result of a tool: its text, or blocks if it has pictures.
func resultOf(m Message) any {
	if len(m.Images) == 0 {
		return m.Content
	}
	blocks := shown(m.Images)
	if strings.TrimSpace(m.Content) != "" {
		blocks = append([]block{{Type: "text", Text: m.Content}}, blocks...)
	}
	return blocks
}

// shown are pictures as blocks.
func shown(images []Image) (blocks []block) {
	for _, i := range images {
		blocks = append(blocks, block{Type: "image", Source: sourceOf(i)})
	}
	return blocks
}

// callID is the id of a call in the characters that the API allows.
func callID(id string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
			return r
		}
		return '_'
	}, id)
}

// object is arguments if they are a JSON object, else an empty one.
func object(arguments string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &members) != nil || members == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(arguments)
}

// sourceOf is a picture as the API takes it.
func sourceOf(i Image) *imageSource {
	kind, data, inline := strings.Cut(strings.TrimPrefix(i.URL, "data:"), ";base64,")
	if inline && strings.HasPrefix(i.URL, "data:") {
		return &imageSource{Type: "base64", MediaType: kind, Data: data}
	}
	return &imageSource{Type: "url", URL: i.URL}
}

// stops are the texts that end an answer: one, or a list.
func stops(raw json.RawMessage) (all []string) {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	_ = json.Unmarshal(raw, &all) // the API has checked the shape
	return all
}

// choice is what the parameters say about calls of tools; nil: nothing.
func choice(q Params) *messageChoice {
	c := messageChoice{Type: "auto", NoParallel: q.ParallelToolCalls != nil && !*q.ParallelToolCalls}
	var function struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	switch string(q.ToolChoice) {
	case "", "null", `"auto"`:
		if !c.NoParallel {
			return nil
		}
	case `"none"`:
		return &messageChoice{Type: "none"}
	case `"required"`:
		c.Type = "any"
	default:
		_ = json.Unmarshal(q.ToolChoice, &function) // the API has checked the shape
		c.Type, c.Name = "tool", function.Function.Name
	}
	return &c
}

// unknownToMessages names a parameter that the messages API does not have and that would change the answer; empty: there is none.
func unknownToMessages(q Params) string {
	var format struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(q.ResponseFormat, &format)
	for _, one := range []struct {
		name string
		set  bool
	}{
		{"response_format " + fmt.Sprintf("%.20q", format.Type), format.Type != "" && format.Type != "text"},
		{"presence_penalty", q.PresencePenalty != nil && *q.PresencePenalty != 0},
		{"frequency_penalty", q.FrequencyPenalty != nil && *q.FrequencyPenalty != 0},
		{"seed", q.Seed != nil},
		{"logit_bias", len(q.LogitBias) > 0},
		{"verbosity", q.Verbosity != ""},
	} {
		if one.set {
			return one.name
		}
	}
	return ""
}
