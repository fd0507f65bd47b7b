package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/ops"
)

// askConfig is what a running gateway may take to say which config file it has.
const askConfig = 2 * time.Second

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
	return agree(flag, path, running)
}

// runningConfig is the config file of the gateway that runs on the home; false if none answers.
func (p *program) runningConfig(ctx context.Context) (ops.ConfigFile, bool) {
	g, err := p.reach()
	if err != nil {
		return ops.ConfigFile{}, false
	}
	defer g.Close()
	ctx, cancel := context.WithTimeout(ctx, askConfig)
	defer cancel()
	s, err := g.Status(ctx)
	if err != nil || s.Config.LoadedAt.IsZero() { // an earlier version does not say
		return ops.ConfigFile{}, false
	}
	return s.Config, true
}

// agree is configPath for a gateway that runs. named is the file that the flag or the environment names.
func agree(flag, named string, running ops.ConfigFile) (path, note string) {
	has := running.Path
	if has == "" {
		has = "the " + config.Embedded
	}
	switch {
	case named != "" && !sameFile(named, running.Path):
		return flag, fmt.Sprintf("the gateway that runs on this home has another config, %s", has)
	case named != "":
		return flag, ""
	case running.Path == "":
		return "", "" // the default one: where there is a file now, status and doctor say that it is not in force
	}
	return running.Path, "this is the config of the gateway that runs on this home: " + running.Path
}

// sameFile reports whether both paths are written alike once they are absolute.
func sameFile(a, b string) bool {
	abs, err := filepath.Abs(a)
	return err == nil && abs == filepath.Clean(b)
}
