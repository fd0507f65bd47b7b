package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/bot"
	"gatewaytui/core/adapter/discord"
	"gatewaytui/core/adapter/telegram"
	"gatewaytui/core/config"
	"gatewaytui/core/gateway"
	"gatewaytui/core/ops"
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
	return gateway.Next{Settings: l.settings(next, models, l.parts.folder), Platforms: changed}, nil
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
	now := c.inForce.Config.Adapters
	for _, b := range []struct {
		name               string
		was, is            bool
		before, after      bot.Options
		oldToken, newToken config.Credential
		make               func(bot.Options) adapter.Platform
	}{
		{
			"telegram", now.Telegram.Enabled, next.Adapters.Telegram.Enabled,
			bot.Options{BaseURL: now.Telegram.BaseURL, Groups: now.Telegram.Groups},
			bot.Options{BaseURL: next.Adapters.Telegram.BaseURL, Groups: next.Adapters.Telegram.Groups},
			c.secrets.Telegram, secrets.Telegram, func(o bot.Options) adapter.Platform { return telegram.New(o) },
		},
		{
			"discord", now.Discord.Enabled, next.Adapters.Discord.Enabled,
			bot.Options{BaseURL: now.Discord.BaseURL, Groups: now.Discord.Groups},
			bot.Options{BaseURL: next.Adapters.Discord.BaseURL, Groups: next.Adapters.Discord.Groups},
			c.secrets.Discord, secrets.Discord, func(o bot.Options) adapter.Platform { return discord.New(o) },
		},
	} {
		same := b.before.BaseURL == b.after.BaseURL && slices.Equal(b.before.Groups, b.after.Groups) && b.oldToken.Value == b.newToken.Value && b.oldToken.Why() == b.newToken.Why()
		if b.was == b.is && (same || !b.is) {
			continue
		}
		change := gateway.PlatformChange{Name: b.name}
		switch {
		case !b.is:
		case b.newToken.Missing():
			change.Err = &adapter.CredentialsError{Variable: b.newToken.Source, Why: b.newToken.Why()}
		default:
			b.after.Token, b.after.TokenSource, b.after.Log = b.newToken.Value, b.newToken.Source, c.l.log
			change.Platform = b.make(b.after)
		}
		changes = append(changes, change)
	}
	return changes
}

// Adopt implements gateway.Configs.
func (c *configs) Adopt(p reload.Plan) {
	c.inForce = &p.Next
	_ = c.l.logs.SetLevel(p.Next.Config.Log.Level) // the config was checked
	if c.l.parts.api != nil {
		c.l.parts.api.SetAgents(config.Names(p.Next.Config.AgentsByName()))
	}
}
