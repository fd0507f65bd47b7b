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
	"gatewaytui/core/model"
	"gatewaytui/core/ops"
	"gatewaytui/fixtures"
)

// secret is one credential of the config with the variable or file that should hold it, or why it cannot be read.
type secret struct {
	value, source string
	err           error
}

// secrets are the credentials of a config.
type secrets struct{ model, api, telegram secret }

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
func (s secrets) values() []string { return []string{s.model.value, s.api.value, s.telegram.value} }

// parts are what a gateway is built from.
type parts struct {
	model     model.Provider
	platforms []adapter.Platform
	broken    map[string]error
	api       *api.Platform
}

// apiListen is where the api adapter listens, empty while it does not.
func (p parts) apiListen() string {
	if p.api == nil {
		return ""
	}
	return p.api.Addr()
}

// parts builds the model and the platforms. A platform without its credential is broken, and the rest runs; a model that
// cannot be built is an error.
func (l *life) parts() (parts, error) {
	p := parts{broken: map[string]error{}}
	var err error
	if p.model, err = l.model(); err != nil {
		return p, err
	}
	if l.flags.Demo || l.flags.DemoPlatforms != "" {
		specs, err := demo.Parse(cmp.Or(l.flags.DemoPlatforms, demo.Default))
		if err != nil {
			return p, &outcome{exitUsage, err}
		}
		for _, spec := range specs {
			p.platforms = append(p.platforms, demo.New(spec, demo.Options{Log: l.log}))
		}
	}
	if c := l.loaded.Config.Adapters.API; c.Enabled {
		if s := l.secrets.api; s.missing() {
			p.broken["api"] = s.why()
		} else {
			p.api = api.New(api.Options{Listen: c.Listen, Key: s.value, KeySource: s.source, Model: p.model.Name(), Log: l.log})
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
	names := map[string]bool{}
	for _, platform := range p.platforms {
		if names[platform.Name()] {
			return p, wrongUsage("call the made-up one otherwise", "two platforms are called %s", platform.Name())
		}
		names[platform.Name()] = true
	}
	return p, nil
}

// missing reports whether a credential that the config names is not there.
func (s secret) missing() bool { return s.err != nil || s.value == "" && s.source != "" }

func (s secret) why() error {
	why := "it is unset or empty"
	if s.err != nil {
		why = s.err.Error()
	}
	return &adapter.CredentialsError{Variable: s.source, Why: why}
}

// model is the provider that the config names.
func (l *life) model() (model.Provider, error) {
	c := l.loaded.Config.Model
	if c.Provider == "scripted" || l.flags.Demo { // a demo spends no tokens
		return scripted(c.Script, c.Name)
	}
	if err := l.secrets.model.err; err != nil {
		return nil, &outcome{exitConfig, err}
	}
	p, err := model.NewOpenAI(model.OpenAIOptions{
		BaseURL: c.BaseURL, Model: c.Name, APIKey: l.secrets.model.value, KeyHint: l.secrets.model.source, Timeout: c.Timeout.Duration, Log: l.log,
	})
	if err != nil {
		return nil, &outcome{exitConfig, err}
	}
	return p, nil
}

// scripted is the model that plays the script in file, or the embedded one.
func scripted(file, name string) (model.Provider, error) {
	wrong := func(err error) error {
		return &outcome{exitConfig, &ops.Error{
			Code: ops.CodeInvalid, Message: fmt.Sprintf("model.script: %v", err), Hint: "mend the script, or leave model.script empty for the embedded one",
		}}
	}
	var text []byte
	var err error
	if file == "" {
		text, err = fixtures.Script("default")
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
	if name == "" {
		name = "scripted"
	}
	return model.NewScripted(script, name), nil
}
