package remote

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/control"
	"gatewaytui/core/ops"
)

// askConfig is what a running gateway may take to say which config file it has.
const askConfig = 2 * time.Second

// RunningConfig is the config file of the gateway that runs on the home; false if none answers.
func RunningConfig(ctx context.Context, home string) (ops.ConfigFile, bool) {
	g, err := Find(home, control.ClientOptions{})
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

// AgreeConfig is the config file that a verb looks at while a gateway runs, and a note where that is not obvious. flag is the file of
// the verb's --config, empty for none. named is the file that the flag or the environment names.
func AgreeConfig(flag, named string, running ops.ConfigFile) (path, note string) {
	has := running.Path
	if has == "" {
		has = "the " + config.Embedded
	}
	switch {
	case named != "" && !SameFile(named, running.Path):
		return flag, fmt.Sprintf("the gateway that runs on this home has another config, %s", has)
	case named != "":
		return flag, ""
	case running.Path == "":
		return "", "" // the default one: where there is a file now, status and doctor say that it is not in force
	}
	return running.Path, "this is the config of the gateway that runs on this home: " + running.Path
}

// SameFile reports whether both paths are written alike once they are absolute.
func SameFile(a, b string) bool {
	abs, err := filepath.Abs(a)
	return err == nil && abs == filepath.Clean(b)
}
