package doctor

import (
	"context"

	"gatewaytui/core/config"
	"gatewaytui/core/process"
)

// checkPrograms looks for the programs of the external adapters of the config, and for the variables that they need. Nothing is started.
func (c *checkup) checkPrograms(context.Context) {
	if !c.valid {
		return
	}
	all := c.loaded.Config.Adapters.External
	for _, name := range config.Names(all) {
		e := all[name]
		if !e.Enabled {
			continue
		}
		for _, variable := range e.EnvPass {
			if c.o.Getenv(variable) == "" {
				c.warn("set it where the gateway is started, for example in its unit file", "adapters.%s needs the environment variable %s, which is not set here", name, variable)
			}
		}
		path, err := process.Find(e.Command[0])
		if err != nil {
			c.warn("install it for the gateway's user, or name it with its whole path", "adapters.%s.command: %v: the platform is not connected", name, err)
			continue
		}
		c.ok("adapters.%s starts %s", name, path)
	}
}
