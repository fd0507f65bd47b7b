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
	now, before := botsOf(next.Adapters, secrets), botsOf(c.inForce.Config.Adapters, c.secrets)
	for i, b := range now {
		was := before[i]
		if b.enabled == was.enabled && (b.same(was) || !b.enabled) {
			continue
		}
		change := gateway.PlatformChange{Name: b.name}
		switch {
		case !b.enabled:
		case b.token.Missing():
			change.Err = &adapter.CredentialsError{Variable: b.token.Source, Why: b.token.Why()}
		default:
			b.options.Token, b.options.TokenSource, b.options.Log = b.token.Value, b.token.Source, c.l.log
			change.Platform = b.connect(b.options)
		}
		changes = append(changes, change)
	}
	return append(changes, c.webhook(next, secrets)...)
}

// botOf is a platform of bots as a config has it.
type botOf struct {
	name    string
	enabled bool
	options bot.Options
	token   config.Credential
	connect func(bot.Options) adapter.Platform
}

// botsOf are the platforms of bots, in the same order with every config.
func botsOf(a config.Adapters, secrets config.Credentials) []botOf {
	t, d := a.Telegram, a.Discord
	return []botOf{
		{"telegram", t.Enabled, bot.Options{BaseURL: t.BaseURL, Groups: t.Groups}, secrets.Telegram, func(o bot.Options) adapter.Platform { return telegram.New(o) }},
		{"discord", d.Enabled, bot.Options{BaseURL: d.BaseURL, Groups: d.Groups}, secrets.Discord, func(o bot.Options) adapter.Platform { return discord.New(o) }},
	}
}

// same reports whether the connection of b serves with the config of other.
func (b botOf) same(other botOf) bool {
	return b.options.BaseURL == other.options.BaseURL && slices.Equal(b.options.Groups, other.options.Groups) &&
		b.token.Value == other.token.Value && b.token.Why() == other.token.Why()
}

// Adopt implements gateway.Configs.
func (c *configs) Adopt(p reload.Plan) {
	c.inForce = &p.Next
	_ = c.l.logs.SetLevel(p.Next.Config.Log.Level) // the config was checked
	if c.l.parts.api != nil {
		c.l.parts.api.SetAgents(config.Names(p.Next.Config.AgentsByName()))
	}
}
