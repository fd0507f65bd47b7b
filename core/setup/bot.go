package setup

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gatewaytui/core/config"
)

// askOther asks for what a chat platform other than Telegram needs, until its config is valid, and tries it.
func (s *setup) askOther(ctx context.Context, b config.Bot) error {
	s.say("  The page core/platforms/%s.md of the project says what to create there, and which rights it needs.", b.Name)
	typed := map[string]secret{}
	for {
		done, err := s.askSettings(ctx, b, typed)
		if done || err != nil {
			return err
		}
	}
}

// askSettings asks for the settings of a platform once, and tries them. It is not done where the person has to answer again, or wants to.
// typed are the credentials of the try before, and get those of this one.
func (s *setup) askSettings(ctx context.Context, b config.Bot, typed map[string]secret) (done bool, err error) {
	table := []string{"adapters", b.Name}
	s.set(true, append(table, "enabled")...)
	for _, k := range b.Asked() {
		path := append(table[:2:2], k.Name)
		have, _ := s.said(path).(string)
		s.say("  %s: %s", k.Name, k.Doc)
		line, err := s.ask(ctx, k.Name, have)
		if err != nil {
			return false, err
		}
		if line != have {
			s.set(line, path...)
		}
	}
	secrets, known := map[string]config.Credential{}, true
	for _, place := range b.Secrets {
		had := s.held(place.Env, place.File)
		key, err := s.askSecret(ctx, strings.ReplaceAll(place.Key, "_", " "), b.Name+"."+place.Key, cmp.Or(typed[place.Key], had), place.Optional)
		if err != nil {
			return false, err
		}
		typed[place.Key] = key
		if key != (secret{}) || place.Env+place.File != "" {
			s.keep(key, had, table, place.Key+"_env", place.Key+"_file")
		}
		secrets[place.Key] = config.Credential{Value: key.value, Source: cmp.Or(key.variable, key.file)}
		known = known && (key.value != "" || key.variable == "")
	}
	if err := s.askOwnerOf(ctx, b); err != nil {
		return false, err
	}
	now, err := s.valid()
	if err != nil {
		s.say("  That is not valid: %s", shown(err.Error()))
		return false, ctx.Err()
	}
	if !known {
		return true, nil // the variable is not set here
	}
	return s.examine(ctx, b, now, secrets)
}

// examine asks a platform about its settings, as doctor does.
func (s *setup) examine(ctx context.Context, b config.Bot, now config.Config, secrets map[string]config.Credential) (done bool, err error) {
	s.say("  asking %s …", b.Title)
	findings, failed := s.Checks.Examine(ctx, now.Adapters, b.Name, secrets)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	for _, f := range findings {
		s.say("  %s", shown(f.Text))
		if f.Fix != "" {
			s.say("      %s", shown(f.Fix))
		}
	}
	if failed == nil {
		return true, nil
	}
	s.say("  It cannot be used: %s", shown(failed.Error()))
	again, err := s.again(ctx)
	return !again, err
}

// askOwnerOf asks who the owner is on a platform, if there is none yet.
func (s *setup) askOwnerOf(ctx context.Context, b config.Bot) error {
	path := []string{"access", "owners"}
	owners := s.now.Config.Access.Owners
	if slices.ContainsFunc(owners, func(o string) bool { return strings.HasPrefix(o, b.Name+":") }) {
		s.say("  Its owner is %s, as before.", shown(strings.Join(owners, ", ")))
		return nil
	}
	id, err := s.ask(ctx, "your id in "+b.Title+" (enter: later, with gatewaytui people add)", "")
	if err != nil {
		return err
	}
	all := slices.Clone(owners)
	if id != "" {
		all = append(all, b.Name+":"+id)
	}
	if s.unset(path...); len(all) > 0 {
		s.set(all, path...)
	}
	return nil
}

// said is what the answers so far, or else the config that they begin with, say about a key.
func (s *setup) said(path []string) any {
	if at := slices.IndexFunc(s.agreed, func(c config.Setting) bool { return slices.Equal(c.Path, path) }); at >= 0 {
		return s.agreed[at].Value
	}
	return config.Lookup(s.text, path...)
}

// valid is the config that the answers so far make.
func (s *setup) valid() (config.Config, error) {
	text, err := config.Edit(s.base, s.changes())
	if err != nil {
		return config.Config{}, err
	}
	dir, err := os.MkdirTemp("", "gatewaytui-setup-")
	if err != nil {
		return config.Config{}, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "config.toml")
	if err := config.WriteFile(path, text); err != nil {
		return config.Config{}, err
	}
	loaded, err := config.Load(config.Options{Path: path})
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), path+":", "line "))
	}
	return loaded.Config, err
}
