package config

import (
	"cmp"
	"net/url"

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
	Model, API, Telegram Credential
	// Local is the generated key of the home; its source is the file. It is not used where the config names a key.
	Local Credential
}

// Credentials reads the credentials that the config names.
func (c Config) Credentials(getenv func(string) string) Credentials {
	read := func(env, file string) Credential {
		value, err := Secret(env, file, getenv)
		return Credential{value, cmp.Or(env, file), err}
	}
	return Credentials{
		Model:    read(c.Model.APIKeyEnv, c.Model.APIKeyFile),
		API:      read(c.Adapters.API.KeyEnv, c.Adapters.API.KeyFile),
		Telegram: read(c.Adapters.Telegram.TokenEnv, c.Adapters.Telegram.TokenFile),
	}
}

// Values are the secrets themselves, for the redactor.
func (c Credentials) Values() []string {
	return []string{c.Model.Value, c.API.Value, c.Telegram.Value, c.Local.Value}
}

// Short are the sources of the secrets that are too short to be masked in what tools print.
func (c Credentials) Short() (sources []string) {
	for _, one := range []Credential{c.Model, c.API, c.Telegram} {
		if one.Value != "" && len(one.Value) < term.MinMasked {
			sources = append(sources, one.Source)
		}
	}
	return sources
}

// LocalURL reports whether a URL is one of this machine.
func LocalURL(base string) bool {
	u, err := url.Parse(base)
	return err == nil && Loopback(u.Hostname())
}
