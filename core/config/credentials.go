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
	API, Transcription, Search Credential
	// Bots are those of the chat platforms: by the name of the platform, and then by SecretPlace.Key. Those of an external adapter are
	// by the variable or the setting.
	Bots map[string]map[string]Credential
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
	bots := map[string]map[string]Credential{}
	for _, b := range c.Adapters.Bots() {
		bots[b.Name] = map[string]Credential{}
		for _, s := range b.Secrets {
			bots[b.Name][s.Key] = read(s.Env, s.File)
		}
	}
	for name, e := range c.Adapters.External {
		bots[name] = e.secrets(name, func(env string) Credential { return read(env, "") })
	}
	return Credentials{
		Bots: bots, Models: models, Routes: routes, Hooks: hooks, Servers: servers,
		API:           read(c.Adapters.API.KeyEnv, c.Adapters.API.KeyFile),
		Transcription: read(c.Transcription.APIKeyEnv, ""),
		Search:        read(c.Web.SearchKeyEnv, ""),
	}
}

// Values are the secrets themselves, for the redactor. Of a header with a scheme, such as Bearer, what follows it is one as well.
func (c Credentials) Values() []string {
	values := []string{c.Local.Value}
	for _, one := range c.chosen() {
		values = append(values, one.Value)
	}
	for _, one := range c.Servers {
		if _, after, is := strings.Cut(one.Value, " "); is {
			values = append(values, strings.TrimSpace(after))
		}
	}
	return values
}

// chosen are those that the operator chose, in any order.
func (c Credentials) chosen() []Credential {
	all := []Credential{c.API, c.Transcription, c.Search}
	for _, of := range append(slices.Collect(maps.Values(c.Bots)), c.Models, c.Routes, c.Hooks, c.Servers) {
		all = slices.AppendSeq(all, maps.Values(of))
	}
	return all
}

// Short are the sources of the secrets that are too short to be masked in what tools print.
func (c Credentials) Short() (sources []string) {
	for _, one := range c.chosen() {
		if header := c.Servers[one.Source] == one && !term.SecretName(one.Source); header {
			continue // it may be a short word that hides nothing
		}
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
