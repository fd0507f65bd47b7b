package api

import (
	"encoding/json"
	"fmt"

	"gatewaytui/core/model"
)

// responseForm writes an answer as a response (https://platform.openai.com/docs/api-reference/responses). It belongs to one
// client: a stream counts its events.
type responseForm struct {
	id, model string
	created   int64
	kept      *kept
	// spoken means that the stream has begun its message, and sequence is the number of its next event.
	spoken   bool
	sequence int
}

// response is the answer as clients read it.
type response struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	CreatedAt          int64             `json:"created_at"`
	Status             string            `json:"status"`
	Background         bool              `json:"background"`
	Error              any               `json:"error"`
	IncompleteDetails  any               `json:"incomplete_details"`
	Instructions       *string           `json:"instructions"`
	MaxOutputTokens    *int64            `json:"max_output_tokens"`
	Model              string            `json:"model"`
	Output             []output          `json:"output"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Reasoning          map[string]any    `json:"reasoning"`
	Store              bool              `json:"store"`
	Temperature        *float64          `json:"temperature"`
	Text               map[string]any    `json:"text"`
	ToolChoice         any               `json:"tool_choice"`
	Tools              []json.RawMessage `json:"tools"`
	TopP               *float64          `json:"top_p"`
	Truncation         string            `json:"truncation"`
	Usage              *responseUsage    `json:"usage"`
	User               *string           `json:"user"`
	Metadata           map[string]string `json:"metadata"`
}

type responseUsage struct {
	In        int64            `json:"input_tokens"`
	InDetail  map[string]int64 `json:"input_tokens_details"`
	Out       int64            `json:"output_tokens"`
	OutDetail map[string]int64 `json:"output_tokens_details"`
	Total     int64            `json:"total_tokens"`
}

// output is an item of an answer: a message, or a call of a client's function.
type output struct {
	Type      string       `json:"type"`
	ID        string       `json:"id"`
	Status    string       `json:"status"`
	Role      string       `json:"role,omitempty"`
	Content   []outputPart `json:"content,omitzero"`
	CallID    string       `json:"call_id,omitempty"`
	Name      string       `json:"name,omitempty"`
	Arguments *string      `json:"arguments,omitempty"`
}

type outputPart struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations"`
}

// The states of a response and of its items.
const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
	failed     = "failed"
)

func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// response is the answer in a state, without its output.
func (f *responseForm) response(status string) response {
	b := f.kept.body
	r := response{
		ID: f.id, Object: "response", CreatedAt: f.created, Status: status, Instructions: orNil(b.Instructions), MaxOutputTokens: b.MaxOutputTokens,
		Model: f.model, Output: []output{}, ParallelToolCalls: b.ParallelToolCalls == nil || *b.ParallelToolCalls, PreviousResponseID: orNil(b.PreviousResponseID),
		Reasoning: map[string]any{"effort": orNil(b.Reasoning.Effort), "summary": nil}, Store: f.kept.keep, Temperature: b.Temperature, TopP: b.TopP,
		Text: map[string]any{"format": map[string]string{"type": "text"}}, ToolChoice: "auto", Tools: b.Tools, Truncation: "disabled",
		User: orNil(b.User), Metadata: b.Metadata,
	}
	if len(b.ToolChoice) > 0 {
		r.ToolChoice = b.ToolChoice
	}
	if len(b.Text.Format) > 0 {
		r.Text["format"] = b.Text.Format
	}
	if r.Tools == nil {
		r.Tools = []json.RawMessage{}
	}
	if r.Metadata == nil {
		r.Metadata = map[string]string{}
	}
	return r
}

// message is the text of the answer as an item.
func (f *responseForm) message(status, text string) output {
	m := output{Type: "message", ID: "msg_" + f.id, Status: status, Role: "assistant", Content: []outputPart{}}
	if status != inProgress {
		m.Content = []outputPart{textPart(text)}
	}
	return m
}

func textPart(text string) outputPart {
	return outputPart{Type: "output_text", Text: text, Annotations: []any{}}
}

func callOutput(c model.ToolCall, status string) output {
	arguments := c.Arguments
	if status == inProgress {
		arguments = ""
	}
	return output{Type: "function_call", ID: "fc_" + c.ID, Status: status, CallID: c.ID, Name: c.Name, Arguments: &arguments}
}

// ended is the answer with its output.
func (f *responseForm) ended(text string, o outcome) response {
	r := f.response(completed)
	if o.finish == string(model.FinishLength) || o.finish == string(model.FinishContentFilter) {
		r.Status = incomplete
		r.IncompleteDetails = map[string]string{"reason": map[string]string{"length": "max_output_tokens"}[o.finish]}
		if o.finish == string(model.FinishContentFilter) {
			r.IncompleteDetails = map[string]string{"reason": o.finish}
		}
	}
	if text != "" || len(o.calls) == 0 {
		r.Output = append(r.Output, f.message(completed, text))
	}
	for _, c := range o.calls {
		r.Output = append(r.Output, callOutput(c, completed))
	}
	if u := o.usage; u != nil {
		r.Usage = &responseUsage{u.In, map[string]int64{"cached_tokens": 0}, u.Out, map[string]int64{"reasoning_tokens": 0}, u.Total}
	}
	return r
}

func (f *responseForm) whole(text string, o outcome) []byte {
	out, _ := json.Marshal(f.ended(text, o)) // what was decoded or made here encodes
	return out
}

// event is one event of the stream, with its number.
func (f *responseForm) event(kind string, members map[string]any) []byte {
	members["type"], members["sequence_number"] = kind, f.sequence
	f.sequence++
	data, _ := json.Marshal(members) // what was decoded or made here encodes
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, data)
}

func (f *responseForm) begin() []byte {
	r := f.response(inProgress)
	return append(f.event("response.created", map[string]any{"response": r}), f.event("response.in_progress", map[string]any{"response": r})...)
}

// silence is a comment, which clients of this form skip.
func (f *responseForm) silence() []byte { return []byte(": waiting\n\n") }

func (f *responseForm) piece(text string) []byte {
	out := f.speak()
	return append(out, f.event("response.output_text.delta", f.at(map[string]any{"delta": text, "logprobs": []any{}}))...)
}

// speak begins the message, once.
func (f *responseForm) speak() (out []byte) {
	if f.spoken {
		return nil
	}
	f.spoken = true
	out = f.event("response.output_item.added", map[string]any{"output_index": 0, "item": f.message(inProgress, "")})
	return append(out, f.event("response.content_part.added", f.at(map[string]any{"part": textPart("")}))...)
}

// at adds where in the answer the text is.
func (f *responseForm) at(members map[string]any) map[string]any {
	members["item_id"], members["output_index"], members["content_index"] = "msg_"+f.id, 0, 0
	return members
}

func (f *responseForm) end(text string, o outcome) []byte {
	r := f.ended(text, o)
	var out []byte
	if r.Output[0].Type == "message" {
		out = append(out, f.speak()...)
		out = append(out, f.event("response.output_text.done", f.at(map[string]any{"text": text, "logprobs": []any{}}))...)
		out = append(out, f.event("response.content_part.done", f.at(map[string]any{"part": textPart(text)}))...)
		out = append(out, f.event("response.output_item.done", map[string]any{"output_index": 0, "item": r.Output[0]})...)
	}
	first := len(r.Output) - len(o.calls)
	for i, c := range o.calls {
		out = append(out, f.call(c, first+i)...)
	}
	return append(out, f.event("response."+r.Status, map[string]any{"response": r})...)
}

// call is the events of one call of a client's function.
func (f *responseForm) call(c model.ToolCall, index int) []byte {
	item := func(status string) map[string]any {
		return map[string]any{"output_index": index, "item": callOutput(c, status)}
	}
	id := "fc_" + c.ID
	out := f.event("response.output_item.added", item(inProgress))
	out = append(out, f.event("response.function_call_arguments.delta", map[string]any{"item_id": id, "output_index": index, "delta": c.Arguments})...)
	out = append(out, f.event("response.function_call_arguments.done", map[string]any{"item_id": id, "output_index": index, "name": c.Name, "arguments": c.Arguments})...)
	return append(out, f.event("response.output_item.done", item(completed))...)
}

func (f *responseForm) failed(p *problem) []byte {
	r := f.response(failed)
	r.Error = map[string]string{"code": p.code, "message": p.message}
	return f.event("response.failed", map[string]any{"response": r})
}
