package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"gatewaytui/core/term"
)

// maxSecret bounds a secret and its file, in bytes.
const maxSecret = 64 << 10

// Secret returns the secret that the variable env holds, or that the file holds where the variable is unset or empty;
// env and file are the values of a pair of …_env and …_file keys. It is empty, without an error, where neither is named
// or the variable named is unset. One newline at the end is not part of it. An error says what is wrong with the
// variable or the file, never what is in it.
func Secret(env, file string, getenv func(string) string) (string, error) {
	if env != "" {
		if s := getenv(env); s != "" {
			return plain(s, "environment variable "+env)
		}
	}
	if file == "" {
		return "", nil
	}
	shown := term.Clean(file, 200)
	data, err := readRegular(file, maxSecret)
	if err != nil {
		return "", fmt.Errorf("read secret file %s: %w", shown, err)
	}
	return plain(string(data), "secret file "+shown)
}

// plain is s without its last newline. A text with another control character in it is not a key and would break the header
// that it is sent in.
func plain(s, where string) (string, error) {
	s = strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
	if strings.ContainsFunc(s, unicode.IsControl) {
		return "", fmt.Errorf("%s holds more than one line or a control character", where)
	}
	return s, nil
}

// SecretVariables are the environment variables that hold secrets, sorted: no child process may see them.
func (c Config) SecretVariables() []string {
	var names []string
	sources := []string{c.Model.APIKeyEnv, c.Adapters.API.KeyEnv, c.Transcription.APIKeyEnv}
	for _, m := range c.Models {
		sources = append(sources, m.APIKeyEnv)
	}
	for _, s := range c.Adapters.secretPlaces() {
		sources = append(sources, s.Env)
	}
	sources = append(sources, c.heldVariables()...)
	for _, name := range sources {
		if name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SecretFiles are the files that hold secrets, as the config names them.
func (c Config) SecretFiles() []string {
	names := []string{c.Model.APIKeyFile, c.Adapters.API.KeyFile}
	for _, s := range c.Adapters.secretPlaces() {
		names = append(names, s.File)
	}
	for _, m := range c.Models {
		names = append(names, m.APIKeyFile)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}
