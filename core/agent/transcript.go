package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"gatewaytui/core/model"
)

// What a model is told of a tool call that has no result. Neither is ever run again by itself (D19).
const (
	// outcomeUnknown answers a call that may have had any effect: the turn was cut off while it ran.
	outcomeUnknown = `{"error":"interrupted before this call's result was recorded: it may or may not have had its effect; look at what is there before repeating it"}`
	// neverStarted answers a call that certainly had none.
	neverStarted = `{"error":"the turn was interrupted before this call began; it was not run"}`
)

// emptyReply stands for a model's message without text and without calls: endpoints refuse such a message in the next
// request, and a chat cannot show it.
const emptyReply = "(the model gave no answer)"

// fixed returns a transcript that every endpoint accepts, whatever cut it short (D19): each tool call is answered, right
// after the message that made it and in its order, with outcomeUnknown where there is no result; results that answer
// nothing are left out. A whole transcript comes back as it is.
func fixed(messages []model.Message) []model.Message {
	out := make([]model.Message, 0, len(messages))
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if m.Role == model.RoleTool {
			continue // its call is gone; those that have one are taken below
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
// arguments that are JSON, because endpoints refuse the whole transcript otherwise. step makes the ids that are missing.
// The calls to run keep what the model wrote, so that it can be told what was wrong with it.
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

// transcriptBytes is about what messages cost in memory.
func transcriptBytes(messages []model.Message) int64 {
	var n int64
	for _, m := range messages {
		n += m.Bytes()
	}
	return n
}
