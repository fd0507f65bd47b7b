package operator

import (
	"fmt"
	"strings"

	"gatewaytui/core/conversation"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
)

// checkSession refuses a command for a session that is not there, or that means another conversation or turn.
func checkSession(op *Operator, cmd ops.Command) error {
	s, ok := op.o.Table.Get(cmd.Target)
	if !ok {
		return conversation.NoSession(cmd.Target)
	}
	// A conversation stays the same while turns begin and end in it: a session that loops can be reset and interrupted.
	if cmd.Expect == "" || cmd.Expect == s.ID {
		return nil
	}
	if v, running := op.o.Table.Running(cmd.Target); running && v.ID == cmd.Expect {
		return nil
	}
	return &ops.Error{Code: ops.CodeConflict, Message: "the conversation or turn that you saw in " + term.Clean(cmd.Target, 80) + " has ended", Hint: "look again"}
}

// checkLife refuses a command that means another life than this one. The gateway's state and its turns do not matter.
func checkLife(op *Operator, cmd ops.Command) error {
	if cmd.Expect == "" || cmd.Expect == op.o.Identity.Life {
		return nil
	}
	return &ops.Error{Code: ops.CodeConflict, Message: "this is another life, " + op.o.Identity.Life, Hint: "look at it first, and ask again if you mean this one as well"}
}

// checkProcess refuses a command for what is not a tracked process.
func checkProcess(op *Operator, cmd ops.Command) error {
	pid, ok := ops.ParsePID(cmd.Target)
	if !ok {
		return &ops.Error{Code: ops.CodeInvalid, Message: term.Quote(cmd.Target) + " is not a process id", Hint: "`gatewaytui processes` lists them"}
	}
	if _, ok := op.o.Processes.Get(pid); !ok {
		return &ops.Error{Code: ops.CodeNotFound, Message: fmt.Sprintf("no tracked process %d", pid), Hint: "`gatewaytui processes` lists them; only those are ended"}
	}
	return nil
}

// checkAdapter refuses a command for an adapter that is not there.
func checkAdapter(op *Operator, cmd ops.Command) error {
	var names []string
	for _, a := range op.o.Adapters.Rows() {
		if a.Name == cmd.Target {
			return nil
		}
		names = append(names, a.Name)
	}
	return &ops.Error{Code: ops.CodeNotFound, Message: "no adapter " + term.Quote(cmd.Target), Hint: "there are: " + strings.Join(names, ", ")}
}

// checkStopping refuses a lever without a shutdown, or for a phase that is not there.
func checkStopping(op *Operator, cmd ops.Command) error {
	run := op.o.Lifecycle.Run()
	if run == nil {
		return &ops.Error{Code: ops.CodeNotStopping, Message: "no shutdown is running", Hint: "`gatewaytui stop` begins one"}
	}
	if cmd.Phase == "" {
		return nil
	}
	var names []string
	for _, p := range run.Report().Phases {
		if p.Name == cmd.Phase {
			return nil
		}
		names = append(names, p.Name)
	}
	return &ops.Error{Code: ops.CodeInvalid, Message: "no phase " + term.Quote(cmd.Phase), Hint: "there are: " + strings.Join(names, ", ")}
}
