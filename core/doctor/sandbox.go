package doctor

import (
	"context"
	"os"

	"gatewaytui/core/config"
	"gatewaytui/core/environment/landlock"
	"gatewaytui/core/environment/sandbox"
)

// checkSandbox tries a sandbox with the flags that commands get, if an agent has one, and says what this kernel's landlock keeps.
func (c *checkup) checkSandbox(ctx context.Context) {
	if !c.valid || c.runnerErr != nil { // checkContainment says so
		return
	}
	auto, named := false, ""
	for _, name := range config.Names(c.loaded.Config.AgentsByName()) {
		environment := c.loaded.Config.AgentsByName()[name].Environment
		auto = auto || environment == config.EnvironmentAuto
		if e := c.loaded.Config.Environments[environment]; e != nil && e.Kind == config.KindSandbox {
			named = environment
		}
	}
	if !auto && named == "" {
		return
	}
	keeps := landlock.Describe(landlock.ABI(), landlock.Filters())
	c.ok("what fences commands where no sandbox works: %s", keeps)
	dir, err := os.MkdirTemp("", "gatewaytui-doctor-")
	if err != nil {
		c.fail("free some space, or set TMPDIR", "make a folder to try a sandbox in: %v", err)
		return
	}
	defer os.RemoveAll(dir)
	detail, err := sandbox.New(sandbox.Options{Spawn: c.runner.Spawn, Temporary: dir}).Probe(ctx)
	switch {
	case err == nil:
		c.ok("commands of agents can run in a sandbox (%s)", detail)
	case named != "" && !auto:
		c.warn("do what the reason says; until then commands in "+named+" are refused, or fenced by landlock with its fallback", "no sandbox works here: %v", err)
	case landlock.ABI() > 0:
		c.warn("do what the reason says, or choose agent.environment", "no sandbox works here, so files and TCP of commands are fenced by landlock (%s): %v", keeps, err)
	default:
		c.warn("do what the reason says, or choose agent.environment", "no sandbox works here, and this kernel has no landlock, so commands run on the machine itself: %v", err)
	}
}
