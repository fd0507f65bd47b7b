package gateway

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"gatewaytui/core/access"
	"gatewaytui/core/config"
	"gatewaytui/core/environment"
	"gatewaytui/core/environment/partial"
	"gatewaytui/core/environment/sandbox"
	"gatewaytui/core/ops"
	"gatewaytui/core/session"
	"gatewaytui/core/term"
	"gatewaytui/core/tool"
)

// Folders of the home that environments use: the homes of agents, which last, and temporary files of sessions, which do not.
const (
	agentsDir    = "agents"
	temporaryDir = "environments"
)

// newEnvironments is where the commands of agents run.
func (g *Gateway) newEnvironments() *environment.Set {
	home, cfg := g.opts.Home.Dir, g.config()
	hidden := append([]string{home, g.opts.Home.ConfigFile.Path}, cfg.SecretFiles()...)
	return environment.New(environment.Options{
		Drivers: []environment.Driver{
			sandbox.New(sandbox.Options{
				Spawn: g.procs.Spawn, Temporary: filepath.Join(home, temporaryDir, "sandbox"), Clear: true, Hidden: hidden,
				Hosts: g.newHosts(),
			}),
			g.newContainers(),
			partial.New(partial.Options{Spawn: g.procs.Spawn, Temporary: filepath.Join(home, temporaryDir, "partial"), Hidden: hidden}),
		},
		Setup: g.now().places,
		Homes: filepath.Join(home, agentsDir), Workdir: g.workdir(), Root: g.opts.Root, Log: g.opts.Log,
	})
}

// definitionOf is a block [environments.NAME].
func definitionOf(name string, e *config.Environment) environment.Definition {
	return environment.Definition{
		Name: name, Kind: environment.Kind(e.Kind), Network: e.Network.All, Hosts: e.Network.Hosts, Read: e.Read, Write: e.Write, Image: e.Image,
		Memory: uint64(e.MemoryMax), Processes: uint64(e.PidsMax), CPU: e.CPUMax, Fallback: e.Fallback == config.FallbackLandlock,
	}
}

// variables are those of our environment that the tools of an agent see as well (agents.NAME.env).
func variables(d config.Definition) (all []string) {
	for _, name := range d.Env {
		if value, is := os.LookupEnv(name); is {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// runsAsRoot reports whether the person behind a call may run commands on the machine itself although the gateway runs as root.
func (g *Gateway) runsAsRoot(call tool.Call) bool {
	return access.Decide(call.Role, access.RunAsRoot, session.Platform(call.Session))
}

// weakWarning is the code of the warning that an agent's commands have a weaker environment than auto can mean.
const weakWarning = "environment.weak"

// warnOfEnvironments says when auto means less than a sandbox, and when an agent's commands are refused. It waits for the probes.
func (g *Gateway) warnOfEnvironments(ctx context.Context) {
	said := map[string]bool{}
	for _, name := range config.Names(g.config().AgentsByName()) {
		place, err := g.trust.environments.Resolve(ctx, name)
		text := ""
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			text = "commands of the agent " + name + " are refused: " + err.Error()
		case place.Why != "":
			text = "commands of agents run in the environment \"" + string(place.Kind) + "\" and not in a sandbox: " + place.Why
		}
		if text != "" && !said[text] {
			said[text] = true
			g.health.Keep(ops.Warning{Code: weakWarning, Message: term.Clean(text, 1200), Since: ops.At(time.Now())})
		}
	}
}
