// Package tool holds what a model can call: terminal and process (over core/process) and delegate (over the calling
// agent). CONTRACT.md, 5, fixes their arguments and results.
//
// What it promises: a call returns within its own limit, even if its subprocess hangs. A result is text for the model,
// bounded in size and valid UTF-8. A wrong call (unknown tool, broken arguments) is an answer to the model, and never ends
// the turn. A subprocess belongs to the session that asked, and to the one registry.
//
// tool.go has the interfaces, set.go the tools of an agent, arguments.go the decoding of a model's arguments, and each
// tool has its own file.
package tool

import (
	"context"
	"encoding/json"

	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/timeline"
)

// Tool is one thing that a model can call. It is shared by all agents and used by many goroutines at once.
type Tool interface {
	Spec() model.ToolSpec
	// Run does the call and returns the result for the model. The model also gets an error, as {"error": …}; only ctx's
	// end stops the turn. When ctx ends, Run ends what it started before it returns.
	Run(ctx context.Context, call Call) (string, error)
}

// Call is one call of a tool.
type Call struct {
	// Session and Turn own what the call starts.
	Session, Turn string
	// Agent is the name of the definition of the calling agent. Person wrote the message of the turn; empty: its platform names no one.
	Agent, Person string
	// Role is what that person may do (TR1).
	Role ops.Role
	// Unattended means that nothing can wait for a person: a step that needs one is refused.
	Unattended bool
	// Child means that the caller is a child agent. Everything that it starts, in the background too, belongs to Turn and
	// ends with it, so that a child leaves nothing behind (C14).
	Child bool
	// Arguments is the model's JSON, not validated.
	Arguments json.RawMessage
	// Progress reports that the call made progress, with its activity in a few words; never nil, never blocks.
	Progress func(doing string)
	// Signalled is called when a foreign signal ended a foreground command. It returns why the turn ends with the
	// command, or nil if the turn continues. It may take a moment. Without it the turn always continues.
	Signalled func(ctx context.Context) error
	// Over is called with the answer for the user when the turn ends with the call (OverError); nil: the turn continues.
	Over func(answer string)
	// Show gives the model a picture with the result, which must name the file that has it: the model sees the picture in this turn alone.
	// The error says why it does not see it, for the result. nil: the model sees no pictures.
	Show func(picture model.Image) error
	// Delegate runs a child of the calling agent.
	Delegate Delegator
	// Span is the call in the timeline of its turn; nil: nothing records it. Set.Run ends it; a tool that knows more than that it went
	// well ends it before.
	Span *timeline.Span
}

// Delegator runs child agents. The agent implements it.
type Delegator interface {
	// Delegate gives each task to a child agent of its own. They work side by side, as many at once as limits.delegates says. It returns when
	// all have ended and are closed, with their outcomes in the order of the tasks.
	Delegate(ctx context.Context, tasks []Task) []Outcome
}

// Task is what a child agent is asked.
type Task struct {
	Goal string `json:"goal"`
	// Context is what the child must know.
	Context string `json:"context"`
	// Tools are the names of the tools that it may use; nil: those of its parent, without delegate.
	Tools []string `json:"tools"`
}

// Outcome is what became of a task: the final text of the child, or why there is none. An *OverError ends the parent's turn as well.
type Outcome struct {
	Text string
	Err  error
}
