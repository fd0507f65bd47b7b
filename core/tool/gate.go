package tool

import (
	"context"

	"gatewaytui/core/environment"
	"gatewaytui/core/fence"
)

// StepKind is what a step does.
type StepKind string

// The kinds of steps. Rows on the wire name them.
const (
	StepCommand StepKind = "command" // a shell command, or input for one that runs
	StepWrite   StepKind = "write"   // a file outside of the work folder
	StepHost    StepKind = "host"    // a host that the session has not used yet
	StepTool    StepKind = "tool"    // a tool of a server that the config does not trust
	StepStop    StepKind = "stop"    // a stop or a restart of the gateway
)

// Step is one thing that a call is about to do.
type Step struct {
	Kind StepKind
	// Text is all of it: the bytes that bash -c gets, the path of a file, the name of a host.
	Text string
	// Folder is where it happens, an absolute path; empty for a step without one.
	Folder string
	// Environment is where a command runs; empty is fence.Local.
	Environment fence.Environment
	// Tool names what a step of a tool calls, without its arguments: the server and its tool. Approvals for longer than a turn cover it
	// with any arguments. Empty: they cover Text alone.
	Tool string
	// Into is the command that reads Text as its input; empty: Text is the command.
	Into string
	// Judgement is the verdict of the caller on a step that is not a command. The gate judges commands itself.
	Judgement fence.Judgement
}

// Gate decides about a step before a tool takes it (TR3).
type Gate interface {
	// Pass returns nil when the step may be taken now, exactly as it is. It may wait for a person, until ctx ends. Its error is for the
	// model. An *OverError also ends the turn.
	Pass(ctx context.Context, call Call, step Step) error
}

// OverError is the error of a step after which the turn ends. Text is the turn's answer for the user.
type OverError struct{ Text string }

func (e *OverError) Error() string { return e.Text }

// pass asks the gate, if there is one.
func (o Options) pass(ctx context.Context, call Call, step Step) error {
	if o.Gate == nil {
		return nil
	}
	return o.Gate.Pass(ctx, call, step)
}

// passCommand asks the gate for a command at a place, in a folder. For input, into names the process that reads it.
func (o Options) passCommand(ctx context.Context, call Call, at environment.Place, text, folder, into string) error {
	return o.pass(ctx, call, Step{Kind: StepCommand, Text: text, Folder: folder, Environment: fenceOf(at), Into: into})
}

// WithheldError is the error of a step that was certainly not taken. The model reads Text also when its turn has ended meanwhile.
type WithheldError struct {
	Text string
	// Declined means that a person refused.
	Declined bool
}

func (e *WithheldError) Error() string { return e.Text }
