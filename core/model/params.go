package model

import "encoding/json"

// Image is a picture for a model that can see.
type Image struct {
	// URL is http(s), which the endpoint fetches, or data:image/…;base64.
	URL string `json:"url"`
	// Detail is "low", "high" or "auto"; empty: the endpoint's default.
	Detail string `json:"detail,omitempty"`
}

// Params are the parameters of a model call that a client may choose. Nil or empty is the endpoint's default. The JSON is that
// of the chat-completions protocol.
type Params struct {
	Temperature      *float64 `json:"temperature,omitempty"`
	TopP             *float64 `json:"top_p,omitempty"`
	PresencePenalty  *float64 `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64 `json:"frequency_penalty,omitempty"`
	Seed             *int64   `json:"seed,omitempty"`
	// MaxTokens and MaxCompletionTokens are the older and the newer name of one bound. Endpoints differ in which they know.
	MaxTokens           *int64 `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int64 `json:"max_completion_tokens,omitempty"`
	// Stop is a string or a list of strings.
	Stop            json.RawMessage    `json:"stop,omitempty"`
	LogitBias       map[string]float64 `json:"logit_bias,omitempty"`
	ReasoningEffort string             `json:"reasoning_effort,omitempty"`
	Verbosity       string             `json:"verbosity,omitempty"`
	// ResponseFormat is an object with the member type: text, json_object or json_schema.
	ResponseFormat json.RawMessage `json:"response_format,omitempty"`
	// ToolChoice is "auto", "none", "required", or an object that names a function. A choice that forces a call counts for the
	// first call of a turn alone; with it every further one would have to call a tool as well.
	ToolChoice        json.RawMessage `json:"tool_choice,omitempty"`
	ParallelToolCalls *bool           `json:"parallel_tool_calls,omitempty"`
}

// Forces reports whether ToolChoice makes the model call a tool.
func (p Params) Forces() bool {
	switch string(p.ToolChoice) {
	case "", "null", `"auto"`, `"none"`:
		return false
	}
	return true
}
