package doctor

import (
	"context"
	"reflect"
	"strings"

	"gatewaytui/core/config"
	"gatewaytui/core/text"
)

// checkJobs says which jobs of the config have a chat that no answer can reach, and how many fail.
func (c *checkup) checkJobs(context.Context) {
	if c.status != nil && c.status.Counts.JobsFailed > 0 {
		c.warn("gatewaytui jobs says why; gatewaytui inbox has what can be done", "the last run of %s failed", text.Count(c.status.Counts.JobsFailed, "job"))
	}
	if !c.valid || len(c.loaded.Config.Jobs) == 0 {
		return
	}
	cfg, reached := c.loaded.Config, 0
	for _, name := range config.Names(cfg.Jobs) {
		platform, _, _ := strings.Cut(cfg.Jobs[name].Deliver, ":")
		if platform == "" || enabled(cfg.Adapters, platform) {
			reached++
			continue
		}
		c.warn("enable adapters."+platform+", or change jobs."+name+".deliver", "job %s delivers to %s, and no platform of that name is enabled: its answers stay in the session job:%s", name, cfg.Jobs[name].Deliver, name)
	}
	if reached == len(cfg.Jobs) {
		c.ok("%s in the config", text.Count(reached, "job"))
	}
}

// enabled reports whether a platform that has chats is enabled. Programs behind the API get no messages.
func enabled(adapters config.Adapters, platform string) bool {
	v := reflect.ValueOf(adapters)
	for f := range v.Type().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		if name != platform || name == "api" || name == "webhook" {
			continue
		}
		if on := v.FieldByIndex(f.Index).FieldByName("Enabled"); on.IsValid() && on.Kind() == reflect.Bool {
			return on.Bool()
		}
	}
	return false
}
