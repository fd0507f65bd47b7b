package host

import (
	"maps"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/webhook"
	"gatewaytui/core/config"
	"gatewaytui/core/gateway"
	"gatewaytui/core/hook"
	"gatewaytui/core/signature"
)

// webhookOf are the options of the webhook of a config. The error names the secret that is missing, where no route has one.
func webhookOf(c config.Webhook, secrets config.Credentials) (o webhook.Options, err error) {
	o = webhook.Options{Listen: c.Listen, Routes: map[string]webhook.Route{}}
	var lacks []config.Credential
	for _, name := range config.Names(c.Routes) {
		r, secret := c.Routes[name], secrets.Routes[name]
		if secret.Missing() {
			secret.Value = ""
			lacks = append(lacks, secret)
		}
		o.Routes[name] = webhook.Route{
			Scheme: signature.Scheme(r.Scheme), Secret: secret.Value, SecretSource: secret.Source, Unread: secret.Why(), Address: r.Address,
			Prompt: r.Prompt, Agent: r.Agent, Deliver: r.Deliver, PerMinute: r.PerMinute,
		}
	}
	if len(lacks) > 0 && len(lacks) == len(o.Routes) {
		err = &adapter.CredentialsError{Variable: lacks[0].Source, Why: lacks[0].Why()}
	}
	return o, err
}

// hooksOf are the hooks of a config.
func hooksOf(c config.Config, secrets config.Credentials) (all []hook.Spec) {
	for _, name := range config.Names(c.Hooks) {
		k, secret := c.Hooks[name], secrets.Hooks[name]
		s := hook.Spec{Name: name, On: k.On, Command: k.Command, URL: k.URL, Secret: secret.Value, Timeout: k.Timeout.Duration}
		if secret.Missing() {
			s.Broken = (&adapter.CredentialsError{Variable: secret.Source, Why: secret.Why()}).Error()
		}
		all = append(all, s)
	}
	return all
}

// webhook adds the webhook of the config, if it has one.
func (p *parts) webhook(l *life) {
	c := l.loaded.Config.Adapters.Webhook
	if !c.Enabled {
		return
	}
	o, err := webhookOf(c, l.secrets)
	if err != nil {
		p.broken[webhook.Name] = err
		return
	}
	o.Log = l.log
	p.platforms = append(p.platforms, webhook.New(o))
}

// webhook is the change of the webhook between the config in force and the next one, as a list of at most one.
func (c *configs) webhook(next config.Config, secrets config.Credentials) []gateway.PlatformChange {
	was, now := c.inForce.Config.Adapters.Webhook, next.Adapters.Webhook
	before, wasBroken := webhookOf(was, c.secrets)
	after, err := webhookOf(now, secrets)
	change := gateway.PlatformChange{Name: webhook.Name, Err: err}
	switch {
	case !was.Enabled && !now.Enabled:
		return nil
	case !now.Enabled:
		change.Err = nil
	case was.Enabled && (err == nil) == (wasBroken == nil) && before.Listen == after.Listen && maps.Equal(before.Routes, after.Routes):
		return nil
	case err == nil:
		after.Log = c.l.log
		change.Platform = webhook.New(after)
	}
	return []gateway.PlatformChange{change}
}
