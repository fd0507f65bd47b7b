package doctor

import (
	"context"

	"gatewaytui/core/browser"
	"gatewaytui/core/config"
)

// checkBrowsers looks for the programs of the servers that have the preset browser, if there are some.
func (c *checkup) checkBrowsers(context.Context) {
	if !c.valid {
		return
	}
	for _, name := range config.Names(c.loaded.Config.Servers) {
		s := c.loaded.Config.Servers[name]
		if s.Preset != config.PresetBrowser {
			continue
		}
		programs, err := browser.Find(s.Command)
		if err != nil {
			c.warn("do so before an agent uses the server "+name+": until then its calls fail", "servers.%s: %v", name, err)
			continue
		}
		c.ok("servers.%s starts %s with %s, which was tried with version %s", name, programs.Chromium, programs.Server[0], browser.Version)
	}
}
