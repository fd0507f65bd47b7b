package gateway

import (
	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

// Tool reports whether the process pid is one that this gateway tracks, and for which session it runs: see
// process.Registry.Caller. It may be called at any time.
func (g *Gateway) Tool(pid int) (session string, tool bool, err error) {
	owner, tracked, err := g.procs.Caller(pid)
	return owner.Session, tracked, err
}

// allowTool refuses what a tool of this gateway may not ask for (HF7): it could write into other sessions, end them, and
// hide behind the operator.
func (g *Gateway) allowTool(spec ops.VerbSpec) error {
	switch {
	case !spec.ByTools:
		return ops.ToolRefused(string(spec.Verb))
	case g.cfg.Tools.MayStop == config.No:
		return &ops.Error{
			Code: ops.CodeToolCaller, Message: "a tool of this gateway may not " + string(spec.Verb) + " it: tools.may_stop is \"no\"",
			Hint: "the operator can, with gatewaytui " + string(spec.Verb) + " in a terminal of their own",
		}
	}
	return nil
}

// asker is who asked for a stop, in the reason of one that was given none.
func asker(a ops.Actor) string {
	if a.Tool {
		return "a tool"
	}
	return "an operator"
}
