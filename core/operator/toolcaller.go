package operator

import (
	"gatewaytui/core/ops"
)

// Tool reports whether the process pid is one that this gateway tracks, and for which session it runs: see
// process.Registry.Caller. It may be called at any time.
func (op *Operator) Tool(pid int) (session string, tool bool, err error) {
	owner, tracked, err := op.o.Processes.Caller(pid)
	return owner.Session, tracked, err
}

// allowTool refuses what a tool of this gateway may not ask for (HF7): it could write into other sessions, end them, and
// hide behind the operator.
func (op *Operator) allowTool(spec ops.VerbSpec) error {
	switch {
	case !spec.ByTools:
		return ops.ToolRefused(string(spec.Verb))
	case !op.o.ToolsMayStop:
		return &ops.Error{
			Code: ops.CodeToolCaller, Message: "a tool of this gateway may not " + string(spec.Verb) + " it: tools.may_stop is \"no\"",
			Hint: "the operator can, with gatewaytui " + string(spec.Verb) + " in a terminal of their own",
		}
	}
	return nil
}
