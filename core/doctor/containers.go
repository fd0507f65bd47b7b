package doctor

import (
	"context"
	"log/slog"

	"gatewaytui/core/config"
	"gatewaytui/core/environment/container"
)

// checkContainers asks Docker or Podman for the images of the config, if it has environments of that kind. Nothing is pulled.
func (c *checkup) checkContainers(ctx context.Context) {
	if !c.valid || c.runnerErr != nil { // checkContainment says so
		return
	}
	var all []container.Settings
	for _, name := range config.Names(c.loaded.Config.Environments) {
		if e := c.loaded.Config.Environments[name]; e.Kind == config.KindContainer {
			all = append(all, container.Settings{Name: name, Image: e.Image, Read: e.Read, Write: e.Write})
		}
	}
	if len(all) == 0 {
		return
	}
	engine := container.New(container.Options{Programs: container.Programs(c.runner.Registry), Log: slog.New(slog.DiscardHandler)})
	program, problems := engine.Check(ctx, all...)
	for _, err := range problems {
		c.warn("do so before an agent uses it: until then its commands are refused", "%v", err)
	}
	if len(problems) == 0 {
		c.ok("%s answers and has the images of %d environments", program, len(all))
	}
}
