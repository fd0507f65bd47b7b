package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/gateway"
	"gatewaytui/core/ops"
	"gatewaytui/core/platforms"
	"gatewaytui/core/reload"
)

// configs is the config file of a life (OP4). The gateway calls its methods one at a time.
type configs struct {
	l *life
	// inForce is the config in force, secrets its credentials.
	inForce *config.Loaded
	secrets config.Credentials
}

var _ gateway.Configs = (*configs)(nil)

// errDemo refuses a reload where there is no file.
var errDemo = &ops.Error{Code: ops.CodeConflict, Message: "a demo has no config file", Hint: "start a gateway without --demo"}

// Look implements gateway.Configs.
func (c *configs) Look() (digest string, err error) { return c.inForce.Look() }

// InForce implements gateway.Configs.
func (c *configs) InForce() (digest string, at time.Time) { return c.inForce.Digest(), c.inForce.At }

// Plan implements gateway.Configs.
func (c *configs) Plan() (reload.Plan, error) {
	if c.l.stage != nil {
		return reload.Plan{}, errDemo
	}
	file, err := c.inForce.Again()
	if err != nil {
		return reload.Plan{}, err
	}
	file.Config.Log.Level = cmp.Or(c.l.o.LogLevel, file.Config.Log.Level) // a flag counts first
	p := reload.Compare(c.inForce, &file)
	for _, name := range p.Next.Config.SecretFiles() {
		if !slices.Contains(c.l.loaded.Config.SecretFiles(), name) {
			return reload.Plan{}, &ops.Error{
				Code: ops.CodeConflict, Message: fmt.Sprintf("needs a restart: the file %q of a secret is hidden from tools from the start on, so nothing was changed", name),
				Hint: "restart the gateway, or put the secret into a variable or a file that it knows",
			}
		}
	}
	return p, nil
}

// Build implements gateway.Configs.
func (c *configs) Build(p reload.Plan) (gateway.Next, error) {
	l, next := c.l, &p.Next
	secrets := next.Config.Credentials(l.o.Getenv)
	secrets.Local = c.secrets.Local
	named, err := readNamed(l.o, next.Config, secrets)
	if err != nil {
		return gateway.Next{}, reasonOf(err)
	}
	models, err := l.models(next.Config, named.scripts, secrets)
	if err != nil {
		return gateway.Next{}, reasonOf(err)
	}
	l.redactor.Learn(secrets.Values()...)
	changed := c.platforms(next.Config, secrets)
	c.secrets = secrets
	return gateway.Next{Settings: l.settings(next, models, l.parts.folder, secrets), Platforms: changed}, nil
}

// reasonOf is an error without the type that says how a start ends by it.
func reasonOf(err error) error {
	if setup, is := errors.AsType[*SetupError](err); is {
		return setup.Err
	}
	return err
}

// platforms are those that have another connection with a config than now.
func (c *configs) platforms(next config.Config, secrets config.Credentials) (changes []gateway.PlatformChange) {
	before, after := platforms.Of(c.inForce.Config.Adapters, c.secrets), platforms.Of(next.Adapters, secrets)
	find := func(all []platforms.Made, name string) (platforms.Made, bool) {
		at := slices.IndexFunc(all, func(m platforms.Made) bool { return m.Name == name })
		if at < 0 {
			return platforms.Made{}, false
		}
		return all[at], true
	}
	for _, was := range before {
		if _, is := find(after, was.Name); !is {
			changes = append(changes, gateway.PlatformChange{Name: was.Name})
		}
	}
	for _, now := range after {
		if was, is := find(before, now.Name); is && now.Same(was) {
			continue
		}
		change := gateway.PlatformChange{Name: now.Name, Err: now.Err}
		if now.Err == nil {
			change.Platform = now.New(c.l.platformHost())
		}
		changes = append(changes, change)
	}
	return append(changes, c.webhook(next, secrets)...)
}

// Adopt implements gateway.Configs.
func (c *configs) Adopt(p reload.Plan) {
	c.inForce = &p.Next
	_ = c.l.logs.SetLevel(p.Next.Config.Log.Level) // the config was checked
	if c.l.parts.api != nil {
		c.l.parts.api.SetAgents(config.Names(p.Next.Config.AgentsByName()))
	}
}
