package api

import (
	"encoding/json"
	"fmt"
	"slices"

	"gatewaytui/core/model"
)

// item is an item of the input of a response (https://platform.openai.com/docs/api-reference/responses).
type item struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"call_id"`
	Name    string          `json:"name"`
	// Arguments is of a call of a function, Output of its result.
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// inputPart is a part of an item's content.
type inputPart struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
	// ImageURL and Detail are of a picture.
	ImageURL string `json:"image_url"`
	Detail   string `json:"detail"`
}

// parseItems reads the input of a response: a text, or a list of items.
func parseItems(input json.RawMessage) ([]model.Message, *problem) {
	var text string
	if len(input) > 0 && json.Unmarshal(input, &text) == nil {
		return []model.Message{{Role: model.RoleUser, Content: text}}, nil
	}
	var items []item
	if json.Unmarshal(input, &items) != nil || len(items) == 0 {
		return nil, invalid("input", "input must be a string or a list of items")
	}
	var all []model.Message
	for i, it := range items {
		var p *problem
		if all, p = it.add(all, fmt.Sprintf("input[%d]", i)); p != nil {
			return nil, p
		}
	}
	return all, nil
}

// add appends the item, which param names, to the conversation so far.
func (it item) add(all []model.Message, param string) ([]model.Message, *problem) {
	switch it.Type {
	case "", "message":
		m, p := it.message(param)
		return append(all, m), p
	case "function_call":
		call := model.ToolCall{ID: it.CallID, Name: it.Name, Arguments: it.Arguments}
		if n := len(all); n > 0 && all[n-1].Role == model.RoleAssistant {
			all[n-1].ToolCalls = append(all[n-1].ToolCalls, call)
			return all, nil
		}
		return append(all, model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{call}}), nil
	case "function_call_output":
		text, _, p := it.content(it.Output, param+".output", false)
		return append(all, model.Message{Role: model.RoleTool, ToolCallID: it.CallID, Content: text}), p
	case "reasoning":
		return all, nil // it is the model's own, and not sent back to it
	}
	return nil, unsupported(param+".type", fmt.Sprintf("an item of type %.40q is not known: use message, function_call or function_call_output", it.Type))
}

func (it item) message(param string) (m model.Message, p *problem) {
	m.Role = model.Role(it.Role)
	switch m.Role {
	case "developer":
		m.Role = model.RoleSystem
	case model.RoleSystem, model.RoleUser, model.RoleAssistant:
	default:
		return m, invalid(param+".role", fmt.Sprintf("%s.role is %.40q: use system, developer, user or assistant", param, it.Role))
	}
	m.Content, m.Images, p = it.content(it.Content, param+".content", m.Role == model.RoleUser)
	return m, p
}

// content reads a text, or a list of parts. Only a user's message may have pictures.
func (it item) content(content json.RawMessage, param string, mayShow bool) (text string, images []model.Image, p *problem) {
	if json.Unmarshal(content, &text) == nil && string(content) != "null" {
		return text, nil, nil
	}
	var parts []inputPart
	if json.Unmarshal(content, &parts) != nil || string(content) == "null" {
		return "", nil, invalid(param, param+" must be a string or a list of parts")
	}
	for i, one := range parts {
		at := fmt.Sprintf("%s[%d]", param, i)
		switch {
		case slices.Contains([]string{"input_text", "output_text", "text"}, one.Type):
			text = joined(text, one.Text)
		case one.Type == "refusal":
			text = joined(text, one.Refusal)
		case one.Type == "input_image" && mayShow:
			image := model.Image{URL: one.ImageURL, Detail: one.Detail}
			if p := checkImage(&image, at); p != nil {
				return "", nil, p
			}
			images = append(images, image)
		default:
			return "", nil, invalid(at, fmt.Sprintf("%s is of type %.40q: text is understood, and input_image in a user's message", at, one.Type))
		}
	}
	return text, images, nil
}

func joined(text, more string) string {
	if text == "" {
		return more
	}
	return text + "\n" + more
}
