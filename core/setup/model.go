package setup

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatewaytui/core/config"
	"gatewaytui/core/model"
)

// The addresses that are offered where the config has none.
const (
	openAIBase = "https://api.openai.com/v1"
	localBase  = "http://127.0.0.1:11434/v1" // Ollama
	claudeName = "claude-sonnet-4-5"
)

// mostNames is how many models of an endpoint are listed.
const mostNames = 12

// modelTable is the table of the model that the agent default asks first, and its name.
func (s *setup) modelTable() (table []string, m config.Model) {
	c := s.now.Config
	name := config.DefaultName
	if len(c.Agent.Models) > 0 {
		name = c.Agent.Models[0]
	}
	m = c.Model
	if one := c.ModelsByName()[name]; one.Provider != "" {
		m = one
	}
	if name != config.DefaultName || config.Lookup(s.text, "models", config.DefaultName) != nil {
		return []string{"models", name}, m
	}
	return []string{"model"}, m
}

// askModel asks for the model, and tries it.
func (s *setup) askModel(ctx context.Context) error {
	table, m := s.modelTable()
	providers := []string{config.Scripted, config.OpenAI, config.Anthropic}
	choice, err := s.choose(ctx, []string{
		"a script, to try things out: no key, no cost, no real answers",
		"an OpenAI-compatible endpoint: OpenAI, OpenRouter, Ollama, vLLM, LM Studio and others",
		"Anthropic",
	}, slices.Index(providers, m.Provider))
	if err != nil {
		return err
	}
	provider := providers[choice]
	if provider != m.Provider || s.base == nil {
		s.set(provider, append(table, "provider")...)
	}
	if s.result.Scripted = provider == config.Scripted; s.result.Scripted {
		return nil
	}
	if m.Provider != provider {
		m = config.Model{Provider: provider, Timeout: m.Timeout}
	}
	for {
		try, done, err := s.askEndpoint(ctx, table, m)
		if done || err != nil {
			return err
		}
		m = try
	}
}

// askEndpoint asks for what a model of an endpoint needs, once. Where the person wants to answer again it returns the answers.
func (s *setup) askEndpoint(ctx context.Context, table []string, m config.Model) (try config.Model, done bool, err error) {
	if m.Provider == config.OpenAI {
		if m.BaseURL, err = s.askBase(ctx, m.BaseURL); err != nil {
			return m, false, err
		}
	}
	key, current, err := s.askKey(ctx, table, m)
	if err != nil {
		return m, false, err
	}
	names, again, err := s.names(ctx, m, key)
	if again || err != nil {
		return m, false, err
	}
	if m.Name, err = s.askName(ctx, m, names); err != nil {
		return m, false, err
	}
	if key.value != "" || key.variable == "" {
		s.say("  asking %s …", shown(m.Name))
		answer, took, err := s.Checks.Ask(ctx, m, key.value)
		switch {
		case ctx.Err() != nil:
			return m, false, ctx.Err()
		case err != nil:
			s.say("  It did not answer: %s", shown(err.Error()))
			if again, err := s.again(ctx); again || err != nil {
				return m, false, err
			}
		default:
			s.say("  It answered in %s: %s", took.Round(10*time.Millisecond), shown(answer))
		}
	}
	s.set(m.Name, append(table, "name")...)
	if m.BaseURL != "" || config.Lookup(s.base, append(table, "base_url")...) != nil {
		s.set(m.BaseURL, append(table, "base_url")...)
	}
	s.keep(key, current, table, "api_key_env", "api_key_file")
	return m, true, nil
}

// askKey asks for the key of an endpoint. current is the one that the config names.
func (s *setup) askKey(ctx context.Context, table []string, m config.Model) (key, current secret, err error) {
	current = s.held(m.APIKeyEnv, m.APIKeyFile)
	had, usual := current, "ANTHROPIC_API_KEY"
	if m.Provider == config.OpenAI {
		usual = "OPENAI_API_KEY"
	}
	if had.value == "" && (m.Provider == config.Anthropic || isOpenAI(m.BaseURL)) { // no key of another service goes to it
		had = s.held(usual, "")
	}
	if had.variable == "OPENAI_API_KEY" && m.Provider == config.OpenAI && !isOpenAI(m.BaseURL) && config.Lookup(s.text, append(table, "api_key_env")...) == nil {
		had = secret{}
	}
	if s.typed.value != "" {
		had = s.typed
	}
	key, err = s.askSecret(ctx, "key", keyFile(table), had, m.Provider == config.OpenAI)
	s.typed = key
	return key, current, err
}

// keyFile is the name of the file for the key of the model that a table has.
func keyFile(table []string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, strings.Join(table, "-"))
	return name + ".key"
}

// askBase asks for the address of an endpoint.
func (s *setup) askBase(ctx context.Context, have string) (string, error) {
	standard := have
	if standard == "" {
		standard = localBase
		if s.Getenv("OPENAI_API_KEY") != "" {
			standard = openAIBase
		}
	}
	for {
		base, err := s.ask(ctx, "address, with /v1 where the endpoint has it", standard)
		if err != nil {
			return "", err
		}
		u, err := url.Parse(base)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			s.say("  An address begins with http:// or https://, for example %s.", localBase)
		case u.User != nil || u.RawQuery != "" || u.Fragment != "":
			s.say("  Leave out what is before @ and behind ? or #: the key is asked for next.")
		default:
			return strings.TrimRight(base, "/"), nil
		}
	}
}

// names are the models that an endpoint has; none where it does not say. again says that the person wants to answer again, because it
// cannot be reached or refuses the key.
func (s *setup) names(ctx context.Context, m config.Model, key secret) (names []string, again bool, err error) {
	if m.Provider != config.OpenAI || key.value == "" && key.variable != "" {
		return nil, false, nil
	}
	names, failed := s.Checks.Models(ctx, m.BaseURL, key.value)
	if failed == nil || ctx.Err() != nil {
		return names, false, ctx.Err()
	}
	s.say("  Its models are not known: %s", shown(failed.Error()))
	answered, is := errors.AsType[*model.ListError](failed)
	if is && !answered.Refused() { // an endpoint need not list its models
		return nil, false, nil
	}
	if is {
		s.say("  It wants another key.")
	}
	again, err = s.again(ctx)
	return nil, again, err
}

// askName asks which model of the endpoint it is.
func (s *setup) askName(ctx context.Context, m config.Model, names []string) (string, error) {
	for i, n := range names {
		if i == mostNames {
			s.say("      and %d more", len(names)-mostNames)
			break
		}
		s.say("  %2d  %s", i+1, shown(n))
	}
	standard := m.Name
	switch {
	case standard == "" && m.Provider == config.Anthropic:
		standard = claudeName
	case len(names) > 0 && !slices.Contains(names, standard):
		standard = names[0]
	}
	for {
		what := "model"
		if len(names) > 0 {
			what = "model, a number or a name"
		}
		name, err := s.ask(ctx, what, standard)
		if err != nil {
			return "", err
		}
		if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(names) {
			name = names[n-1]
		}
		if name != "" && shown(name) == name {
			return name, nil
		}
		s.say("  Name the model as its endpoint does.")
	}
}

// isOpenAI reports whether an address is that of OpenAI, for which OPENAI_API_KEY is meant.
func isOpenAI(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Hostname() == "api.openai.com")
}
