package config

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"gatewaytui/core/term"
)

// Credential is one credential of the config with the variable or file that should hold it, or why it cannot be read.
type Credential struct {
	Value, Source string
	Err           error
}

// Missing reports whether a credential that the config names is not there.
func (c Credential) Missing() bool { return c.Err != nil || c.Value == "" && c.Source != "" }

// Why says why the credential cannot be read, empty where it is only missing.
func (c Credential) Why() string {
	if c.Err == nil {
		return ""
	}
	return c.Err.Error()
}

// Credentials are the credentials of a config.
type Credentials struct {
	API, Telegram, Discord, Transcription, Search Credential
	// Models are those of the models, by name. A scripted one needs none, and what the config names is a secret all the same.
	Models map[string]Credential
	// Routes are those of the webhook's routes, and Hooks those of the hooks that have one, by name.
	Routes, Hooks map[string]Credential
	// Servers are the values of the headers of tool servers, and of those variables of their programs that are named like a secret, by
	// variable.
	Servers map[string]Credential
	// Local is the generated key of the home; its source is the file. It is not used where the config names a key.
	Local Credential
}

// Credentials reads the credentials that the config names.
func (c Config) Credentials(getenv func(string) string) Credentials {
	read := func(env, file string) Credential {
		value, err := Secret(env, file, getenv)
		return Credential{value, cmp.Or(env, file), err}
	}
	models := map[string]Credential{}
	for name, m := range c.ModelsByName() {
		models[name] = read(m.APIKeyEnv, m.APIKeyFile)
	}
	routes, hooks := map[string]Credential{}, map[string]Credential{}
	for name, r := range c.Adapters.Webhook.Routes {
		routes[name] = read(r.SecretEnv, "")
	}
	for name, h := range c.Hooks {
		if h.SecretEnv != "" {
			hooks[name] = read(h.SecretEnv, "")
		}
	}
	servers := map[string]Credential{}
	for _, s := range c.Servers {
		for _, variable := range s.HeadersEnv {
			servers[variable] = read(variable, "")
		}
		for _, variable := range s.Env {
			if term.SecretName(variable) {
				servers[variable] = read(variable, "")
			}
		}
	}
	return Credentials{
		Models: models, Routes: routes, Hooks: hooks, Servers: servers,
		API:      read(c.Adapters.API.KeyEnv, c.Adapters.API.KeyFile),
		Telegram: read(c.Adapters.Telegram.TokenEnv, c.Adapters.Telegram.TokenFile),
		Discord:  read(c.Adapters.Discord.TokenEnv, c.Adapters.Discord.TokenFile),

		Transcription: read(c.Transcription.APIKeyEnv, ""),
		Search:        read(c.Web.SearchKeyEnv, ""),
	}
}

// Values are the secrets themselves, for the redactor. Of a header with a scheme, such as Bearer, what follows it is one as well.
func (c Credentials) Values() []string {
	values := []string{c.API.Value, c.Telegram.Value, c.Discord.Value, c.Transcription.Value, c.Search.Value, c.Local.Value}
	for _, all := range []map[string]Credential{c.Models, c.Routes, c.Hooks, c.Servers} {
		for _, one := range all {
			values = append(values, one.Value)
		}
	}
	for _, one := range c.Servers {
		if _, after, is := strings.Cut(one.Value, " "); is {
			values = append(values, strings.TrimSpace(after))
		}
	}
	return values
}

// Short are the sources of the secrets that are too short to be masked in what tools print.
func (c Credentials) Short() (sources []string) {
	all := []Credential{c.API, c.Telegram, c.Discord, c.Transcription, c.Search}
	for _, of := range []map[string]Credential{c.Models, c.Routes, c.Hooks} {
		all = slices.AppendSeq(all, maps.Values(of))
	}
	for variable, one := range c.Servers {
		if term.SecretName(variable) { // other headers may be short words that hide nothing
			all = append(all, one)
		}
	}
	for _, one := range all {
		if one.Value != "" && len(one.Value) < term.MinMasked {
			sources = append(sources, one.Source)
		}
	}
	slices.Sort(sources)
	return slices.Compact(sources) // several models may have one key
}

// LocalURL reports whether a URL is one of this machine.
func LocalURL(base string) bool {
	u, err := url.Parse(base)
	return err == nil && Loopback(u.Hostname())
}
