package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"gatewaytui/core/model"
)

// Results for a tool call that has none. Such a call is never run again automatically (D19).
const (
	// outcomeUnknown answers a call with an unknown effect: the turn was interrupted while it ran.
	outcomeUnknown = `{"error":"interrupted before this call's result was recorded: it may or may not have taken effect; check before repeating it"}`
	// neverStarted answers a call that certainly had no effect.
	neverStarted = `{"error":"the turn was interrupted before this call began; it was not run"}`
	// notAlone answers a call of the client's function in a step that also calls the agent's own tools: the client does not see
	// their results, and could not go on from them.
	notAlone = `{"error":"not run: this function belongs to the caller and must be called in a step of its own; call it again now"}`
)

// emptyReply replaces a model's message without text and without calls: endpoints refuse such a message in the next
// request, and a chat cannot show it.
const emptyReply = "(the model gave no answer)"

// repaired returns a transcript that every endpoint accepts, wherever it was interrupted (D19). Each tool call is answered,
// directly after the message that made it and in its order, with outcomeUnknown where there is no result. Results without
// a call are left out. A complete transcript is returned unchanged.
func repaired(messages []model.Message) []model.Message {
	out := make([]model.Message, 0, len(messages))
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Role == model.RoleTool {
			continue // its call is gone; results with a call are added below
		}
		if m.Role != model.RoleAssistant || len(m.ToolCalls) == 0 {
			out = append(out, m)
			continue
		}
		results := make(map[string]model.Message)
		for i+1 < len(messages) && messages[i+1].Role == model.RoleTool {
			i++
			if _, twice := results[messages[i].ToolCallID]; !twice {
				results[messages[i].ToolCallID] = messages[i]
			}
		}
		out = append(out, m)
		for _, call := range m.ToolCalls {
			result, ok := results[call.ID]
			if !ok {
				result = toolResult(call, outcomeUnknown)
			}
			out = append(out, result)
		}
	}
	return out
}

func toolResult(call model.ToolCall, text string) model.Message {
	return model.Message{Role: model.RoleTool, ToolCallID: call.ID, Content: text}
}

// asked is a model's message as it goes into the transcript: its calls have ids that are unique in the message, and
// arguments that are JSON, because endpoints refuse the whole transcript otherwise. step makes the missing ids. The calls
// to run keep what the model wrote, so that an error can name the fault.
func asked(m model.Message, turn string, step int) (message model.Message, run []model.ToolCall) {
	m.Role, m.ToolCallID = model.RoleAssistant, ""
	run = make([]model.ToolCall, len(m.ToolCalls))
	kept := make([]model.ToolCall, len(m.ToolCalls))
	seen := make(map[string]bool, len(m.ToolCalls))
	for i, call := range m.ToolCalls {
		if call.ID == "" || seen[call.ID] {
			call.ID = fmt.Sprintf("call-%s-%d-%d", turn, step, i)
		}
		seen[call.ID] = true
		run[i] = call
		if !json.Valid([]byte(call.Arguments)) {
			call.Arguments = "{}"
		}
		kept[i] = call
	}
	m.ToolCalls = kept
	if len(kept) == 0 {
		m.ToolCalls = nil
		if strings.TrimSpace(m.Content) == "" {
			m.Content = emptyReply
		}
	}
	return m, run
}

// transcriptBytes is roughly the memory that messages use.
func transcriptBytes(messages []model.Message) int64 {
	var n int64
	for _, m := range messages {
		n += m.Bytes()
	}
	return n
}
