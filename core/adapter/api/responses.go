package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gatewaytui/core/model"
)

// responsesBody has every parameter of POST /v1/responses. One without a field is refused by name.
type responsesBody struct {
	Input              json.RawMessage   `json:"input"`
	Model              string            `json:"model"`
	Instructions       string            `json:"instructions"`
	PreviousResponseID string            `json:"previous_response_id"`
	Conversation       json.RawMessage   `json:"conversation"`
	Store              *bool             `json:"store"`
	Stream             bool              `json:"stream"`
	User               string            `json:"user"`
	Metadata           map[string]string `json:"metadata"`

	Tools             []json.RawMessage `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`
	Temperature       *float64          `json:"temperature"`
	TopP              *float64          `json:"top_p"`
	MaxOutputTokens   *int64            `json:"max_output_tokens"`
	Reasoning         struct {
		Effort string `json:"effort"`
		// Summary and GenerateSummary are ignored: the answer has no reasoning.
		Summary         string `json:"summary"`
		GenerateSummary string `json:"generate_summary"`
	} `json:"reasoning"`
	Text struct {
		Format    json.RawMessage `json:"format"`
		Verbosity string          `json:"verbosity"`
	} `json:"text"`

	// Ignored: labels, settings of OpenAI's own service, and what an answer here never has.
	Include              json.RawMessage `json:"include"`
	ServiceTier          json.RawMessage `json:"service_tier"`
	SafetyIdentifier     json.RawMessage `json:"safety_identifier"`
	PromptCacheKey       json.RawMessage `json:"prompt_cache_key"`
	PromptCacheRetention json.RawMessage `json:"prompt_cache_retention"`
	StreamOptions        json.RawMessage `json:"stream_options"`

	// Refused, unless they ask for nothing.
	Background   json.RawMessage `json:"background"`
	Prompt       json.RawMessage `json:"prompt"`
	MaxToolCalls json.RawMessage `json:"max_tool_calls"`
	TopLogProbs  json.RawMessage `json:"top_logprobs"`
	Truncation   json.RawMessage `json:"truncation"`
}

// kept is what a request of /v1/responses says in addition to a chat completion's.
type kept struct {
	body     responsesBody
	previous string
	keep     bool
	// added is the turn's own messages, for the next answer of the chain.
	added []model.Message
}

// parseResponses reads a body. archive gives the answer that the request continues.
func parseResponses(body []byte, archive func(id string) ([]model.Message, *problem)) (request, *problem) {
	wire := responsesBody{}
	if p := decodeStrict(body, &wire); p != nil {
		return request{}, p
	}
	if p := wire.refused(); p != nil {
		return request{}, p
	}
	q := request{model: wire.Model, user: wire.User, stream: wire.Stream, params: wire.params()}
	q.kept = &kept{body: wire, previous: wire.PreviousResponseID, keep: wire.Store == nil || *wire.Store}
	var p *problem
	if q.conversation, p = parseConversation(wire.Conversation); p != nil {
		return q, p
	}
	if q.kept.previous != "" && q.conversation != "" {
		return q, invalid("previous_response_id", "previous_response_id and conversation exclude each other")
	}
	if q.tools, p = parseFunctions(wire.Tools); p != nil {
		return q, p
	}
	if p := checkParams(q.params, q.tools); p != nil {
		return q, p
	}
	if q.user != "" {
		if p := checkName(q.user, "user"); p != nil {
			return q, p
		}
	}
	return q, q.readInput(wire, archive)
}

// readInput reads the items of the request and puts what they continue before them.
func (q *request) readInput(wire responsesBody, archive func(id string) ([]model.Message, *problem)) *problem {
	items, p := parseItems(wire.Input)
	if p != nil {
		return p
	}
	var before []model.Message
	if q.kept.previous != "" {
		if before, p = archive(q.kept.previous); p != nil {
			return p
		}
	}
	q.kept.added = items
	if q.messages, p = arrange(slices.Concat(before, items), "input", func(int) string { return "input" }); p != nil {
		return p
	}
	if wire.Instructions != "" {
		q.messages.system = strings.TrimSpace(wire.Instructions + "\n\n" + q.messages.system)
	}
	return nil
}

// refused names the first parameter that asks for what no agent does; nil: none.
func (b responsesBody) refused() *problem {
	for _, row := range []struct {
		name    string
		value   json.RawMessage
		nothing []string
		why     string
	}{
		{"background", b.Background, []string{"false"}, "the answer is waited for; /background in a chat runs a task of its own"},
		{"prompt", b.Prompt, nil, "there are no stored prompts"},
		{"max_tool_calls", b.MaxToolCalls, nil, "limits.calls_per_turn of the gateway bounds a turn"},
		{"top_logprobs", b.TopLogProbs, []string{"0"}, "an agent's answer has no token probabilities"},
		{"truncation", b.Truncation, []string{`"disabled"`}, "a conversation that is too long is refused"},
	} {
		if text := compact(row.value); text != "" && text != "null" && !slices.Contains(row.nothing, text) {
			return unsupported(row.name, row.why)
		}
	}
	return nil
}

// params are the parameters in the words of a chat completion.
func (b responsesBody) params() model.Params {
	p := model.Params{
		Temperature: b.Temperature, TopP: b.TopP, MaxCompletionTokens: b.MaxOutputTokens, ReasoningEffort: b.Reasoning.Effort, Verbosity: b.Text.Verbosity,
		ParallelToolCalls: b.ParallelToolCalls,
	}
	var choice struct{ Type, Name string }
	switch {
	case compact(b.ToolChoice) == "null":
	case json.Unmarshal(b.ToolChoice, &choice) == nil && choice.Type == "function" && choice.Name != "":
		p.ToolChoice, _ = json.Marshal(map[string]any{"type": "function", "function": map[string]string{"name": choice.Name}}) // strings always encode
	default:
		p.ToolChoice = b.ToolChoice
	}
	var format struct {
		Type   string          `json:"type"`
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict *bool           `json:"strict,omitempty"`
		About  string          `json:"description,omitempty"`
	}
	switch {
	case compact(b.Text.Format) == "null":
	case json.Unmarshal(b.Text.Format, &format) == nil && format.Type == "json_schema":
		schema := struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
			Strict *bool           `json:"strict,omitempty"`
			About  string          `json:"description,omitempty"`
		}{format.Name, format.Schema, format.Strict, format.About}
		p.ResponseFormat, _ = json.Marshal(map[string]any{"type": "json_schema", "json_schema": schema}) // what was decoded encodes
	default:
		p.ResponseFormat = b.Text.Format
	}
	return p
}

// parseFunctions reads the functions of the client, which have their members at the top.
func parseFunctions(raw []json.RawMessage) ([]model.ToolSpec, *problem) {
	if len(raw) > maxTools {
		return nil, invalid("tools", fmt.Sprintf("tools has more than %d functions", maxTools))
	}
	specs := make([]model.ToolSpec, 0, len(raw))
	for i, one := range raw {
		at := fmt.Sprintf("tools[%d]", i)
		var wire struct {
			Type string `json:"type"`
			model.ToolSpec
		}
		if json.Unmarshal(one, &wire) != nil {
			return nil, invalid(at, at+" must be an object with type and name")
		}
		spec, p := checkTool(wire.Type, wire.ToolSpec, specs, at)
		if p != nil {
			return nil, p
		}
		specs = append(specs, spec)
	}
	return specs, nil
}
