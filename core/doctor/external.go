package doctor

import (
	"context"

	"gatewaytui/core/config"
	"gatewaytui/core/process"
)

// checkExternal looks for the programs of the agents of the kind acp, if there are some. A program inside an environment may be there alone.
func (c *checkup) checkExternal(context.Context) {
	if !c.valid {
		return
	}
	all := c.loaded.Config.AgentsByName()
	for _, name := range config.Names(all) {
		d := all[name]
		if d.Kind != config.KindACP || d.Environment != config.EnvironmentLocal {
			continue
		}
		path, err := process.Find(d.Command[0])
		if err != nil {
			c.warn("install it for the gateway's user, or name it with its whole path", "agents.%s.command: %v: a turn of the agent fails", name, err)
			continue
		}
		c.ok("agents.%s starts %s", name, path)
	}
}
