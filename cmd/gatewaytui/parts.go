package main

import (
	"cmp"
	"fmt"
	"os"

	"gatewaytui/core/adapter"
	"gatewaytui/core/adapter/api"
	"gatewaytui/core/adapter/demo"
	"gatewaytui/core/adapter/telegram"
	"gatewaytui/core/config"
	"gatewaytui/core/limit"
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/core/term"
	"gatewaytui/fixtures"
)

// secret is one credential of the config with the variable or file that should hold it, or why it cannot be read.
type secret struct {
	value, source string
	err           error
}

// secrets are the credentials of a config.
type secrets struct {
	model, api, telegram secret
	// local is the generated key of the home; its source is the file. It is not used where the config names a key.
	local secret
}

func readSecrets(c config.Config, getenv func(string) string) secrets {
	read := func(env, file string) secret {
		value, err := config.Secret(env, file, getenv)
		return secret{value, cmp.Or(env, file), err}
	}
	return secrets{
		model:    read(c.Model.APIKeyEnv, c.Model.APIKeyFile),
		api:      read(c.Adapters.API.KeyEnv, c.Adapters.API.KeyFile),
		telegram: read(c.Adapters.Telegram.TokenEnv, c.Adapters.Telegram.TokenFile),
	}
}

// values are the secrets themselves, for the redactor.
func (s secrets) values() []string {
	return []string{s.model.value, s.api.value, s.telegram.value, s.local.value}
}

// short are the sources of the secrets that are too short to be masked in what tools print.
func (s secrets) short() (sources []string) {
	for _, c := range []secret{s.model, s.api, s.telegram} {
		if c.value != "" && len(c.value) < term.MinMasked {
			sources = append(sources, c.source)
		}
	}
	return sources
}

// parts are what a gateway is built from.
type parts struct {
	model     model.Provider
	platforms []adapter.Platform
	broken    map[string]error
	api       *api.Platform
	// guard slows guessing at the key of the API, which the metrics' listener has as well.
	guard *api.Guard
	talk  *demo.Talk // of a demo; nil: the gateway is none
	// limits takes the bounds of [limits] that a part keeps: limits.Add(limit.Spec{…}), and Reached for each refusal.
	limits *limit.Set
}

// apiListen is where the api adapter listens, empty while it does not.
func (p parts) apiListen() string {
	if p.api == nil {
		return ""
	}
	return p.api.Addr()
}

// localKey reads the key of the home, or makes it on the first start, where the config names none. The home is locked.
func (l *life) localKey() {
	if !l.loaded.Config.Adapters.API.Enabled || l.secrets.api.source != "" {
		return
	}
	s := secret{source: l.home.APIKey()}
	s.value, s.err = api.LocalKey(s.source)
	l.secrets.local = s
}

// apiAccess is whom the api adapter serves; nil: there is none.
func (l *life) apiAccess() *ops.APIAccess {
	if !l.loaded.Config.Adapters.API.Enabled {
		return nil
	}
	a := &ops.APIAccess{By: ops.ByKernel, UID: os.Geteuid(), KeyFile: l.secrets.local.source}
	if source := l.secrets.api.source; source != "" {
		a.By, a.KeySource = ops.ByKey, source
	}
	if err := l.secrets.local.err; err != nil {
		a.Problem = err.Error()
	}
	return a
}

// parts builds the model and the platforms. A platform without its credential is broken, and the rest runs; a model that
// cannot be built is an error.
func (l *life) parts() (parts, error) {
	p := parts{broken: map[string]error{}, limits: &limit.Set{}, guard: &api.Guard{}}
	var err error
	if p.model, err = l.model(); err != nil {
		return p, err
	}
	if l.stage != nil {
		p.talk = &demo.Talk{}
	}
	for _, role := range l.prepared.demo {
		p.platforms = append(p.platforms, demo.New(role.Spec, demo.Options{Log: l.log, Lines: role.Lines, Talk: p.talk}))
	}
	if c := l.loaded.Config.Adapters.API; c.Enabled {
		if s := l.secrets.api; s.missing() {
			p.broken["api"] = s.why()
		} else {
			p.api = api.New(api.Options{
				Listen: c.Listen, Key: s.value, KeySource: s.source, Model: p.model.Name(), Requests: 2 * l.loaded.Config.Limits.ModelCalls, Log: l.log,
				BodyMax: int64(c.BodyMax), BodyBytes: int64(l.loaded.Config.Limits.BodyBytes), Limits: p.limits,
				LeaveGrace: c.LeaveTime(), AllowOrigins: c.AllowOrigins, AllowHosts: c.AllowHosts,
				LocalKey: l.secrets.local.value, LocalKeyFile: l.secrets.local.source, Guard: p.guard,
			})
			p.platforms = append(p.platforms, p.api)
		}
	}
	if c := l.loaded.Config.Adapters.Telegram; c.Enabled {
		if s := l.secrets.telegram; s.missing() {
			p.broken["telegram"] = s.why()
		} else {
			p.platforms = append(p.platforms, telegram.New(telegram.Options{
				Token: s.value, TokenSource: s.source, BaseURL: c.BaseURL, Allow: c.Allow, AllowAll: c.AllowAll, Log: l.log,
			}))
		}
	}
	return p, nil
}

// prepared is what the flags and the config name and what can be wrong with it. It is made before anything is written: a
// mistake on the command line leaves no home behind (TF47).
type prepared struct {
	demo   []demo.Role
	script *model.Script // nil where the model is not a scripted one
}

func prepare(o runOptions, c config.Config, s secrets) (prepared, error) {
	var p prepared
	var err error
	if p.demo, err = roles(o); err != nil {
		return p, err
	}
	taken := map[string]bool{"api": c.Adapters.API.Enabled, "telegram": c.Adapters.Telegram.Enabled}
	for _, spec := range p.demo {
		if taken[spec.Name] {
			return p, wrongUsage("give the demo platform another name", "two platforms have the name %s", spec.Name)
		}
		taken[spec.Name] = true
	}
	if c.Model.Provider != "scripted" {
		if s.model.err != nil {
			return p, &outcome{exitConfig, s.model.err}
		}
		return p, nil
	}
	p.script, err = readScript(c.Model.Script, o.Demo)
	return p, err
}

// missing reports whether a credential that the config names is not there.
func (s secret) missing() bool { return s.err != nil || s.value == "" && s.source != "" }

func (s secret) why() error {
	why := ""
	if s.err != nil {
		why = s.err.Error()
	}
	return &adapter.CredentialsError{Variable: s.source, Why: why}
}

// model is the provider that the config names.
func (l *life) model() (model.Provider, error) {
	c := l.loaded.Config.Model
	if l.prepared.script != nil {
		return model.NewScripted(l.prepared.script, cmp.Or(c.Name, "scripted")), nil
	}
	p, err := model.NewOpenAI(model.OpenAIOptions{
		BaseURL: c.BaseURL, Model: c.Name, APIKey: l.secrets.model.value, KeyHint: l.secrets.model.source, Timeout: c.Timeout.Duration, Log: l.log,
		Calls: l.loaded.Config.Limits.ModelCalls,
	})
	if err != nil {
		return nil, &outcome{exitConfig, err}
	}
	return p, nil
}

// readScript is the script in file, or the embedded one if file is empty, with the demo's small talk before it in a demo.
func readScript(file string, talk bool) (*model.Script, error) {
	wrong := func(err error) error {
		return &outcome{exitConfig, &ops.Error{
			Code: ops.CodeInvalid, Message: fmt.Sprintf("model.script: %v", err), Hint: "fix the script, or leave model.script empty to use the embedded one",
		}}
	}
	var text []byte
	var err error
	if file == "" {
		text, err = fixtures.Script("default")
		if talk && err == nil {
			var small []byte
			small, err = fixtures.Script("demo")
			text = append(small, text...)
		}
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, wrong(err)
	}
	script, err := model.ParseScript(text)
	if err != nil {
		return nil, wrong(err)
	}
	return script, nil
}
