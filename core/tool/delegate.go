package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gatewaytui/core/model"
	"gatewaytui/core/term"
)

// Delegate is the tool that gives tasks to child agents.
type Delegate struct {
	// Limit is the most bytes of the results of several tasks together.
	Limit int
}

type delegateArguments struct {
	Goal    string   `json:"goal"`
	Context string   `json:"context"`
	Tools   []string `json:"tools"`
	Tasks   []Task   `json:"tasks"`
}

// maxTasks is how many tasks one call may have.
const maxTasks = 16

// Spec implements Tool.
func (Delegate) Spec() model.ToolSpec {
	return model.ToolSpec{
		Name: "delegate",
		Description: "Give a task to a child agent and get its final text, or give several tasks to children that work side by side, and get all " +
			"results together. A child starts with nothing but goal and context, and everything that it starts ends with it.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
			"goal":{"type":"string","description":"what the child is to do and what its answer must contain; leave it out with tasks"},
			"context":{"type":"string","description":"what the child must know"},
			"tools":{"type":"array","items":{"type":"string"},"description":"names of the tools that the child may use; without it, all of yours but delegate"},
			"tasks":{"type":"array","maxItems":16,"description":"several tasks that do not depend on each other","items":{"type":"object","additionalProperties":false,"required":["goal"],"properties":{
				"goal":{"type":"string"},"context":{"type":"string"},"tools":{"type":"array","items":{"type":"string"}}}}}}}`),
	}
}

// Run implements Tool. The answer to a goal is the child's final text as it is, that to tasks a list of results in their order.
func (d Delegate) Run(ctx context.Context, call Call) (string, error) {
	var args delegateArguments
	if err := decode(call.Arguments, &args); err != nil {
		return "", err
	}
	several := len(args.Tasks) > 0
	if err := args.check(); err != nil {
		return "", err
	}
	if call.Delegate == nil {
		return "", errors.New("delegation is not available here")
	}
	if !several {
		call.Progress("delegate: " + term.Clean(args.Goal, goalWidth))
		out := call.Delegate.Delegate(ctx, []Task{{args.Goal, args.Context, args.Tools}})
		return out[0].Text, out[0].Err
	}
	call.Progress(fmt.Sprintf("delegate: %d tasks: %s", len(args.Tasks), term.Clean(args.Tasks[0].Goal, goalWidth)))
	outcomes := call.Delegate.Delegate(ctx, args.Tasks)
	for _, out := range outcomes {
		if over, is := errors.AsType[*OverError](out.Err); is && call.Over != nil {
			call.Over(over.Text)
			break
		}
	}
	return joined(d.Limit, outcomes), nil
}

// check is why a call of these arguments is wrong.
func (args delegateArguments) check() error {
	if len(args.Tasks) == 0 {
		if strings.TrimSpace(args.Goal) == "" {
			return required("goal")
		}
		return nil
	}
	if args.Goal != "" || args.Context != "" || args.Tools != nil {
		return errors.New("give either goal, with context and tools, or tasks; each task has its own goal, context and tools")
	}
	if n := len(args.Tasks); n > maxTasks {
		return fmt.Errorf("%d tasks are too many: one call takes at most %d; give the rest in a further call", n, maxTasks)
	}
	for i, task := range args.Tasks {
		if strings.TrimSpace(task.Goal) == "" {
			return fmt.Errorf("task %d: %w", i+1, required("goal"))
		}
	}
	return nil
}

// taskResult is an outcome as a model reads it.
type taskResult struct {
	Task   int    `json:"task"`
	State  string `json:"state"` // done or failed
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// joined is outcomes as JSON in at most limit bytes: where they are longer, each text keeps its beginning and its end.
func joined(limit int, outcomes []Outcome) string {
	limit = max(limit, minLimit)
	longest := 0
	for _, out := range outcomes {
		longest = max(longest, len(out.Text))
	}
	for keep := longest; ; keep = keep * limit / (limit + limit/4) {
		list := make([]taskResult, len(outcomes))
		for i, out := range outcomes {
			list[i] = taskResult{Task: i + 1, State: "done", Result: truncateMiddle(strings.ToValidUTF8(out.Text, "\uFFFD"), max(keep, 1))}
			if out.Err != nil {
				list[i] = taskResult{Task: i + 1, State: "failed", Error: term.Clean(out.Err.Error(), max(limit/len(outcomes)/8, 40))}
			}
		}
		text := encode(struct {
			Results []taskResult `json:"results"`
		}{list})
		if len(text) <= limit || keep < 2*len(outcomes) {
			return text
		}
	}
}

// goalWidth is the room for a goal, in runes, in the display of a turn's activity.
const goalWidth = 60
