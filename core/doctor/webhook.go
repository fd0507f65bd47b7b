package doctor

import (
	"gatewaytui/core/config"
	"gatewaytui/core/term"
)

// webhook is what of the webhook and the hooks crosses a network in the clear. Signatures keep requests from being changed, and
// not from being read.
func (s *survey) webhook() {
	if w := s.c.Adapters.Webhook; w.Enabled && !local(w.Listen) {
		s.say(Medium, "webhook.plain_http", "listen on 127.0.0.1 and put a proxy with TLS in front",
			"adapters.webhook.listen %s is open to the network without TLS: what is sent to it can be read on the way", term.Clean(w.Listen, 100))
	}
	for _, name := range config.Names(s.c.Hooks) {
		if plainHTTP(s.c.Hooks[name].URL) {
			s.say(Low, "hook.plain_http", "use https in its url", "the url of the hook %s is plain http to another machine: events can be read on the way", name)
		}
	}
}

// heldSecrets are the secrets of the webhook's routes and of the hooks.
func (s *survey) heldSecrets() (all []credential) {
	for _, name := range config.Names(s.c.Adapters.Webhook.Routes) {
		all = append(all, credential{"the secret of the route " + name, s.c.Adapters.Webhook.Routes[name].SecretEnv, ""})
	}
	for _, name := range config.Names(s.c.Hooks) {
		all = append(all, credential{"the secret of the hook " + name, s.c.Hooks[name].SecretEnv, ""})
	}
	return all
}

// missingSecrets calls lacks for each secret of the webhook and of the hooks that is not there.
func missingSecrets(c config.Config, s config.Credentials, lacks func(who string, s config.Credential)) {
	for _, name := range config.Names(s.Routes) {
		if c.Adapters.Webhook.Enabled && s.Routes[name].Missing() {
			lacks("the route "+name+" of the webhook", s.Routes[name])
		}
	}
	for _, name := range config.Names(s.Hooks) {
		if s.Hooks[name].Missing() {
			lacks("the hook "+name, s.Hooks[name])
		}
	}
}
