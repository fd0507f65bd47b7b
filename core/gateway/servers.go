package gateway

import (
	"context"
	"path/filepath"

	"gatewaytui/core/config"
	"gatewaytui/core/mcp"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/core/tool"
)

// serversDir is the folder of the home that keeps the lists of tools of servers.
const serversDir = "servers"

// newServers is the tool servers of the config in force.
func (g *Gateway) newServers() *mcp.Set {
	set := mcp.New(mcp.Options{
		Spawn: g.procs.Spawn, Folder: filepath.Join(g.opts.Home.Dir, serversDir), Workdir: g.workdir(),
		KillGrace: g.config().Process.KillGrace.Duration, Presets: g.presets(), Files: g.opts.Media, Asker: servedQuestions{g}, OnState: g.serverChanged, Redactor: g.opts.Redactor, Log: g.opts.Log,
	})
	set.Use(serversOf(g.config()))
	return set
}

// presets are the servers that need no command in the config, by name.
func (g *Gateway) presets() map[string]mcp.Preset {
	return map[string]mcp.Preset{config.PresetBrowser: g.launchBrowser}
}

// servedQuestions puts questions of servers to the book of approvals, which is made after the servers.
type servedQuestions struct{ g *Gateway }

// Ask implements tool.Asker.
func (a servedQuestions) Ask(ctx context.Context, call tool.Call, q tool.Question) (string, error) {
	return a.g.approvals.Ask(ctx, call, q)
}

// serversOf are the blocks [servers.NAME].
func serversOf(cfg config.Config) (all []mcp.Definition) {
	for _, name := range config.Names(cfg.Servers) {
		s := cfg.Servers[name]
		all = append(all, mcp.Definition{
			Withheld: withheld(s),
			Name:     name, Command: s.Command, URL: s.URL, Preset: s.Preset, Headers: s.HeadersEnv, Scope: s.Scope, Trusted: s.Trusted, Tools: s.Tools,
			Env: s.Env, Timeout: s.Timeout.Duration, Idle: s.Idle.Duration,
		})
	}
	return all
}

// serverChanged tells of a server in another state.
func (g *Gateway) serverChanged(row ops.Server) {
	why := term.Clean(row.LastError, 300)
	text := "server " + row.Name + " is " + string(row.State)
	if why != "" && row.State.Troubled() {
		text += ": " + why
	}
	g.events.Emit(ops.EventServerState, row.Name, text, ops.ServerChange{Error: why, Session: row.Session, State: row.State})
}
