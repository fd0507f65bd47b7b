package setup

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"gatewaytui/core/config"
)

// secret is a secret that a person gave, or the way to it.
type secret struct {
	value string
	// variable or file holds it; both are empty where none is needed.
	variable, file string
}

// where says where the secret is, for people.
func (k secret) where() string {
	switch {
	case k.variable != "":
		return "$" + k.variable
	case k.file != "":
		return k.file
	}
	return "none"
}

// askSecret asks for a secret: enter keeps what is there, $NAME names a variable, and another line is the secret itself, for the file
// called name next to the config. optional says that enter may mean none.
func (s *setup) askSecret(ctx context.Context, what, name string, have secret, optional bool) (secret, error) {
	standard := s.standardSecret(have, optional)
	for {
		prompt := fmt.Sprintf("  %s (not shown; or $NAME for a variable)", what)
		if standard != "" {
			prompt += " [" + shown(standard) + "]"
		}
		line, err := s.Talk.AskSecret(ctx, prompt+": ")
		if err != nil {
			return secret{}, err
		}
		line = strings.TrimSpace(line)
		variable, isVariable := strings.CutPrefix(line, "$")
		switch {
		case line == "" && have.value != "":
			return have, nil
		case line == "" && optional:
			return secret{}, nil
		case line == "":
			s.say("  It is needed.")
		case isVariable && !config.VariableName(variable):
			s.say("  That is not the name of a variable.")
		case isVariable:
			k := secret{variable: variable}
			if k.value, err = config.Secret(variable, "", s.Getenv); err != nil {
				s.say("  %s", shown(err.Error()))
				continue
			}
			if k.value == "" {
				s.say("  $%s is not set here: set it where the gateway is started. It cannot be tried now.", variable)
			}
			return k, nil
		case len(line) > maxAnswer || strings.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r > '~' }):
			s.say("  That is not a key: it has spaces or signs that no key has.")
		default:
			return secret{value: line, file: filepath.Join(filepath.Dir(s.Config), name)}, nil
		}
	}
}

// standardSecret is what enter means; empty: nothing.
func (s *setup) standardSecret(have secret, optional bool) string {
	switch {
	case have.value != "" && have.file != "" && s.held("", have.file) != have:
		return "the one that you typed"
	case have.value != "":
		return "the one in " + have.where()
	case optional:
		return "none"
	}
	return ""
}

// keep notes where a secret is, under the keys env and file of a table, and that its file is to be written if the person typed it.
func (s *setup) keep(k, had secret, table []string, env, file string) {
	if k.variable != "" {
		s.result.Variables = append(s.result.Variables, k.variable)
	}
	if k == had && k.value != "" {
		return // the config says so
	}
	s.set(k.variable, append(table[:len(table):len(table)], env)...)
	fileKey := append(table[:len(table):len(table)], file)
	if k.file != "" || config.Lookup(s.base, fileKey...) != nil {
		s.set(k.file, fileKey...)
	} else {
		s.unset(fileKey...) // a draft may name one
	}
	if k.file != "" {
		s.secrets[k.file] = k.value
	}
}

// held is the secret that two keys name, as the gateway would find it.
func (s *setup) held(env, file string) secret {
	if v, err := config.Secret(env, "", s.Getenv); err == nil && v != "" {
		return secret{value: v, variable: env}
	}
	if v, err := config.Secret("", file, s.Getenv); err == nil && v != "" {
		return secret{value: v, file: file}
	}
	return secret{}
}
