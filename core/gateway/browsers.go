package gateway

import (
	"context"
	"path/filepath"

	"gatewaytui/core/address"
	"gatewaytui/core/browser"
	"gatewaytui/core/config"
	"gatewaytui/core/mcp"
	"gatewaytui/core/ops"
)

// browsersDir is the folder of the home that has a folder for each browser.
const browsersDir = "browsers"

// browserOwner is the owner of the processes of browsers.
const browserOwner = "browser"

// newBrowsers is what makes the browsers of sessions.
func (g *Gateway) newBrowsers() *browser.Browsers {
	return browser.New(browser.Options{
		Folder: filepath.Join(g.opts.Home.Dir, browsersDir), Root: g.opts.Root, Guard: func() *address.Guard { return g.now().guard },
	})
}

// launchBrowser is the preset of servers that are browsers.
func (g *Gateway) launchBrowser(ctx context.Context, use mcp.Use) (mcp.Launch, error) {
	var command []string
	if s := g.config().Servers[use.Server]; s != nil {
		command = s.Command
	}
	l, err := g.browsers.Launch(ctx, command)
	if err != nil {
		return mcp.Launch{}, err
	}
	return mcp.Launch{Command: l.Command, Env: l.Env, Owner: browserOwner, Kind: ops.HeldBrowser, Close: l.Close}, nil
}

// withheld are the tools of a server that no agent gets. One of a browser's runs code in its server, past all that holds for its pages.
func withheld(s *config.Server) []string {
	if s.Preset == config.PresetBrowser {
		return []string{"browser_run_code*"}
	}
	return nil
}

// sweepBrowsers removes what the browsers of earlier lives left. Their processes have ended.
func (g *Gateway) sweepBrowsers(ctx context.Context) {
	if err := g.browsers.Sweep(ctx); err != nil {
		g.opts.Log.Warn("folders of earlier browsers not removed", "event", ops.LogServer, "error", err.Error())
	}
}
