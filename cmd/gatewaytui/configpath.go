package main

import (
	"context"

	"gatewaytui/core/instance"
	"gatewaytui/core/ops"
	"gatewaytui/core/remote"
)

// configPath is the config file that a verb looks at, and a note where that is not obvious. flag, its --config, decides,
// and then $GATEWAYTUI_CONFIG. Without either it is the file of the gateway that runs on the home (TF29), and without a
// gateway the default one, for which path is empty.
func (p *program) configPath(ctx context.Context, flag string) (path, note string) {
	path = flag
	if path == "" {
		path = p.getenv("GATEWAYTUI_CONFIG")
	}
	running, ok := p.runningConfig(ctx)
	if !ok {
		return flag, ""
	}
	return remote.AgreeConfig(flag, path, running)
}

// runningConfig is the config file of the gateway that runs on the home; false if none answers.
func (p *program) runningConfig(ctx context.Context) (ops.ConfigFile, bool) {
	home, err := instance.Resolve(p.home, p.getenv)
	if err != nil {
		return ops.ConfigFile{}, false
	}
	return remote.RunningConfig(ctx, home)
}
