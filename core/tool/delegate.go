package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"gatewaytui/core/model"
	"gatewaytui/core/term"
)

// Delegate is the tool that gives a task to a child agent.
type Delegate struct{}

type delegateArguments struct {
	Goal    string   `json:"goal"`
	Context string   `json:"context"`
	Tools   []string `json:"tools"`
}

// Spec implements Tool.
func (Delegate) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: "delegate",
		Description: "Give a task to a child agent and get its final text. The child starts with nothing but goal and " +
			"context, and everything that it starts ends with it.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["goal"],"properties":{
			"goal":{"type":"string","description":"what the child is to do and what its answer must contain"},
			"context":{"type":"string","description":"what the child must know"},
			"tools":{"type":"array","items":{"type":"string"},"description":"names of the tools that the child may use; without it, all of yours but delegate"}}}`),
	}
}

// Run implements Tool. The answer is the child's final text as it is.
func (Delegate) Run(ctx context.Context, call Call) (string, error) {
	var args delegateArguments
	if err := decode(call.Arguments, &args); err != nil {
		return "", err
	}
	if strings.TrimSpace(args.Goal) == "" {
		return "", required("goal")
	}
	if call.Delegate == nil {
		return "", errors.New("delegation is not available here")
	}
	call.Progress("delegate: " + term.Clean(args.Goal, goalWidth))
	return call.Delegate.Delegate(ctx, args.Goal, args.Context, args.Tools)
}

// goalWidth is the room for a goal, in runes, in the display of a turn's activity.
const goalWidth = 60
