package api

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"gatewaytui/core/model"
)

// maxTools bounds the functions of a client in one request.
const maxTools = 128

// toolName is what OpenAI allows as the name of a function.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// parseTools reads the client's functions.
func parseTools(raw []json.RawMessage) ([]model.ToolSpec, *problem) {
	if len(raw) > maxTools {
		return nil, invalid("tools", fmt.Sprintf("tools has more than %d functions", maxTools))
	}
	specs := make([]model.ToolSpec, 0, len(raw))
	for i, one := range raw {
		at := fmt.Sprintf("tools[%d]", i)
		var wire struct {
			Type     string         `json:"type"`
			Function model.ToolSpec `json:"function"`
		}
		if json.Unmarshal(one, &wire) != nil {
			return nil, invalid(at, at+" must be an object with type and function")
		}
		spec, p := checkTool(wire.Type, wire.Function, specs, at)
		if p != nil {
			return nil, p
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// noArguments is the schema of a function without parameters.
var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

// checkTool returns a function as models get it.
func checkTool(kind string, spec model.ToolSpec, before []model.ToolSpec, at string) (model.ToolSpec, *problem) {
	switch {
	case kind != "function":
		return spec, unsupported(at+".type", fmt.Sprintf("a tool of type %.40q is not known; the agent has tools of its own, and takes functions", kind))
	case !toolName.MatchString(spec.Name):
		return spec, invalid(at+".function.name", "the name of a function is 1 to 64 of a-z, A-Z, 0-9, _ and -")
	case slices.ContainsFunc(before, func(b model.ToolSpec) bool { return b.Name == spec.Name }):
		return spec, invalid(at+".function.name", fmt.Sprintf("two functions are called %q", spec.Name))
	}
	if text := compact(spec.Schema); text == "" || text == "null" {
		spec.Schema = noArguments
	} else if text[0] != '{' {
		return spec, invalid(at+".function.parameters", "parameters must be a JSON Schema object")
	}
	return spec, nil
}

// checkParams says what is wrong with the parameters that go to the model.
func checkParams(params model.Params, tools []model.ToolSpec) *problem {
	for _, row := range []struct {
		name  string
		bound *int64
	}{{"max_tokens", params.MaxTokens}, {"max_completion_tokens", params.MaxCompletionTokens}} {
		if row.bound != nil && *row.bound < 1 {
			return invalid(row.name, row.name+" must be at least 1")
		}
	}
	for _, row := range []struct {
		name     string
		value    *float64
		low, top float64
	}{
		{"temperature", params.Temperature, 0, 2},
		{"top_p", params.TopP, 0, 1},
		{"presence_penalty", params.PresencePenalty, -2, 2},
		{"frequency_penalty", params.FrequencyPenalty, -2, 2},
	} {
		if row.value != nil && (*row.value < row.low || *row.value > row.top) {
			return invalid(row.name, fmt.Sprintf("%s must be between %g and %g", row.name, row.low, row.top))
		}
	}
	if p := checkStop(params.Stop); p != nil {
		return p
	}
	if p := checkFormat(params.ResponseFormat); p != nil {
		return p
	}
	return checkChoice(params.ToolChoice, tools)
}

func checkStop(value json.RawMessage) *problem {
	if len(value) == 0 {
		return nil
	}
	var one string
	var several []string
	if json.Unmarshal(value, &one) != nil && json.Unmarshal(value, &several) != nil {
		return invalid("stop", "stop must be a string or a list of strings")
	}
	return nil
}

func checkFormat(value json.RawMessage) *problem {
	if len(value) == 0 {
		return nil
	}
	var format struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(value, &format) != nil || !slices.Contains([]string{"text", "json_object", "json_schema"}, format.Type) {
		return invalid("response_format", "response_format must be an object whose type is text, json_object or json_schema")
	}
	return nil
}

// checkChoice says whether a tool choice is one of the words, or names one of the client's functions.
func checkChoice(value json.RawMessage, tools []model.ToolSpec) *problem {
	switch string(value) {
	case "", `"auto"`, `"none"`, `"required"`:
		return nil
	}
	var choice struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(value, &choice) != nil || choice.Type != "function" {
		return invalid("tool_choice", "tool_choice must be auto, none, required, or name a function")
	}
	if !slices.ContainsFunc(tools, func(t model.ToolSpec) bool { return t.Name == choice.Function.Name }) {
		return invalid("tool_choice", fmt.Sprintf("tool_choice names the function %.80q, which tools does not have", choice.Function.Name))
	}
	return nil
}
