// Package model talks to language models: one Client interface, an OpenAI-compatible endpoint behind it (openai.go) and
// a scripted one that plays a file of rules (scripted.go) for the embedded default, the demo and the tests.
//
// What it promises: a call ends when its context ends, at every point (connecting, waiting, streaming, backing off);
// what may be retried (429, 5xx, a connection that failed before an answer began) is retried with capped backoff within
// the call's own timeout; an error says what the endpoint said, without the key; nothing of a client outlives Close.
package model

import (
	"context"
	"encoding/json"
	"slices"
)

// Role is who speaks in a message.
type Role string

// The roles of the chat-completions protocol.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a transcript.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content,omitempty"`
	// Images belong to a user's message of the running turn, or to the result of a tool. Later turns have a note in Content instead.
	Images []Image `json:"images,omitempty"`
	// ToolCalls is what an assistant message asks for.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID is the call that a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Seq is the message's place in the store, 0 where it is not known. It is for the gateway alone.
	Seq int64 `json:"-"`
}

// Bytes is about what m costs in memory.
func (m Message) Bytes() int64 {
	n := int64(len(m.Content)+len(m.ToolCallID)) + 80
	for _, c := range m.ToolCalls {
		n += int64(len(c.ID)+len(c.Name)+len(c.Arguments)) + 48
	}
	for _, i := range m.Images {
		n += int64(len(i.URL)) + 32
	}
	return n
}

// pictured reports whether one of the messages has pictures.
func pictured(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return len(m.Images) > 0 })
}

// ToolCall is a model's request to run a tool. Arguments is JSON as the model wrote it, which may not be JSON at all.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ToolSpec describes a tool to a model. Schema is a JSON Schema object. Its JSON is that of the chat-completions protocol.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parameters"`
	// Strict asks the endpoint to hold the arguments to the schema; nil: the endpoint's default.
	Strict *bool `json:"strict,omitempty"`
}

// Request is one model call.
type Request struct {
	// Session is the session's key; the scripted model keeps its place in a script by it.
	Session  string
	Messages []Message
	Tools    []ToolSpec
	Params   Params
	// Fallback means that another model answers if this one fails: the client tries at most twice, and does not wait as long
	// as an endpoint asks for. A chain sets it.
	Fallback bool
}

// Usage is what calls cost; zero where the endpoint does not say. In are the tokens of the request, Cached those of them that
// the endpoint had in its cache, Out the tokens of the answer, thoughts included.
type Usage struct {
	In, Cached, Out int64
	// Cost is the money for those calls whose cost is known, in the currency of the prices. Priced says that there is such a
	// call: the cost of others is unknown, not 0.
	Cost   float64
	Priced bool
	// Unpriced are the tokens, in and out, of the calls whose cost is unknown.
	Unpriced int64
}

// Add adds the usage of further calls, each of which Count has counted.
func (u *Usage) Add(v Usage) {
	u.In, u.Cached, u.Out, u.Cost, u.Priced = u.In+v.In, u.Cached+v.Cached, u.Out+v.Out, u.Cost+v.Cost, u.Priced || v.Priced
	u.Unpriced += v.Unpriced
}

// Count is the usage of one call with its tokens as unpriced if its cost is unknown.
func (u Usage) Count() Usage {
	if !u.Priced {
		u.Unpriced = u.In + u.Out
	}
	return u
}

// Finish is why a message is not whole, in the words of the chat-completions protocol; empty for one that is.
type Finish string

// The reasons why a message is not whole.
const (
	FinishLength        Finish = "length"         // it was cut at the model's limit of tokens
	FinishContentFilter Finish = "content_filter" // something of it was left out
	// FinishToolCalls is of an answer that asks its client to run functions of its own.
	FinishToolCalls Finish = "tool_calls"
)

// finish reads an endpoint's reason. Every other one, a request for tool calls too, is a message that is whole.
func finish(reason string) Finish {
	switch f := Finish(reason); f {
	case FinishLength, FinishContentFilter:
		return f
	}
	return ""
}

// Response is the model's message.
type Response struct {
	Message Message
	Usage   Usage
	Finish  Finish
	// Model is the name of the model that answered, as people see it. A chain sets it.
	Model string
	// Failed are the names of the models of a chain that failed before it, in their order.
	Failed []string
}

// Client calls one model. A Client belongs to one agent and is used by one goroutine at a time; Close may be called from
// any goroutine, more than once, and ends a call that is under way.
type Client interface {
	// Name is the model's name, for people.
	Name() string
	// Complete makes one call. delta, if not nil, is called with each piece of text as it arrives, on the calling
	// goroutine, and with an empty one when the model sends something else: a thought, or a part of a tool call. The error is ctx's own if ctx ended first.
	Complete(ctx context.Context, req Request, delta func(text string)) (Response, error)
	Close() error
}

// Provider makes the clients of a configured model, one for each agent.
type Provider interface {
	Name() string
	New() Client
	// Window is how many tokens a request and its answer may have together; 0: not known. Vision says that the model can see
	// pictures.
	Window() int
	Vision() bool
}
