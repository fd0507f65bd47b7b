package gateway

import (
	"gatewaytui/core/acp"
	"gatewaytui/core/agent"
	"gatewaytui/core/config"
	"gatewaytui/core/tool"
)

// external makes the programs of an agent whose kind is acp; nil: models work for the agent.
func (g *Gateway) external(of *generation, name string, d config.Definition) agent.Externals {
	if d.Kind != config.KindACP {
		return nil
	}
	return g.externals.External(acp.Definition{
		Name: name, Command: d.Command, TurnTimeout: d.TurnTimeout.Duration, TurnsPerDay: d.TurnsPerDay,
		Environments: g.trust.environments.With(of.places), Gate: g.approvals.Gate(of.terms),
		OnMachine: func(call tool.Call) bool { return !g.opts.Root || g.runsAsRoot(call) },
	})
}
